"""Units of gradients: which unit the loss had whose backward pass a leaf has its gradient from."""

from __future__ import annotations

import weakref
from contextvars import ContextVar
from typing import Any

from dispatchkit.errors import UnitError
from dispatchkit.tensor import Tensor
from dispatchkit.types.units.unit import ONE, Unit

# The unit of the loss whose backward pass is under way, and what is noted of leaves, by their ids.
loss_unit: ContextVar[Unit | None] = ContextVar("dispatchkit.types.loss", default=None)
notes: dict[int, Note] = {}


def unit_of_gradient(unit: Unit, outputs: list[Unit | None]) -> Unit:
    """Return the unit of derivatives: that of what is differentiated by that of what it is differentiated by."""
    units = {ONE if output is None else output.delta for output in outputs}
    if len(units) > 1:
        raise UnitError(
            f"grad: outputs in {' and '.join(sorted(f'{unit!s:}' for unit in units))} have no common gradient"
        )
    return units.pop() / unit.delta


class Note:
    """Which unit the loss has whose gradient a leaf holds."""

    def __init__(self, leaf: Tensor) -> None:
        key = id(leaf)
        self.leaf = weakref.ref(leaf, lambda _: notes.pop(key, None) and None)
        self.unit: Unit | None = None
        leaf.register_hook(self.enter)

    def enter(self, gradient: Tensor) -> None:
        """Note the unit of the loss whose gradient arrives."""
        leaf, unit = self.leaf(), loss_unit.get()
        if leaf is not None and leaf.grad is not None and self.unit != unit:
            raise UnitError(
                f"backward: the gradient of a loss in '{unit or ''}' would be added to that of a loss in "
                f"'{self.unit or ''}'; set grad to None first"
            )
        self.unit = unit


def watch(data: Any) -> None:
    """Have the unit of the loss noted when a leaf gets a gradient; no tensor of a transformation accumulates one."""
    if not isinstance(data, Tensor) or data.is_tracer:
        return
    if data.requires_grad and data.is_leaf and id(data) not in notes:
        notes[id(data)] = Note(data)
