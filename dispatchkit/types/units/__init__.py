"""Numbers with a unit: `Unit`, the laws that operations follow, `QuantityTensor`."""

from dispatchkit.types.units import indices as indices  # which has rules alone
from dispatchkit.types.units.quantity import QuantityTensor
from dispatchkit.types.units.unit import Unit

__all__ = ["QuantityTensor", "Unit"]
