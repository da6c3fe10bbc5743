"""Array types that come with the library, each built with its public means alone."""

from __future__ import annotations

from dispatchkit.declare.namespace import make_home
from dispatchkit.types.metadata import MetadataTensor
from dispatchkit.types.scalar import ScalarTensor

__all__ = ["MetadataTensor", "ScalarTensor"]

make_home(__name__)
