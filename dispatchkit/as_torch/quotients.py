"""Quotients of PyTorch, which may be rounded."""

from __future__ import annotations

import numpy as np

from dispatchkit.as_torch.calling.checks import is_zero_somewhere
from dispatchkit.as_torch.calling.promotion import common_dtype
from dispatchkit.as_torch.shared import rounded_quotient, written_functions
from dispatchkit.as_torch.table import ALONE, TRANSLATIONS, is_array
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.graph.storage import Storage


def div(input, other, *, rounding_mode=None):
    if rounding_mode is None:
        y = xp.divide(input, other)
        if xp.isdtype(xp.result_type(input, other), ("integral", "bool")):
            return xp.astype(y, xp.get_default_dtype(), copy=False)
        return y
    is_whole = xp.isdtype(xp.result_type(input, other), ("integral", "bool"))
    if is_whole and is_zero_somewhere(other) and not (is_array(input) and not input.size):
        raise RuntimeError("ZeroDivisionError")
    if rounding_mode not in ("floor", "trunc"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found {rounding_mode!r}"
        )
    first, second = (x.detach() if isinstance(x, Storage) else x for x in (input, other))
    if rounding_mode == "floor":
        y = floor_divide(first, second)
    else:
        y = _cut_quotient(first, second)
    if any(isinstance(x, Storage) and x.requires_grad for x in (input, other)):
        return rounded_quotient(y, input, other)
    return y


divide = true_divide = div


def floor_divide(input, other):
    input, other = _as_operand(input, other), _as_operand(other, input)
    if not (is_array(input) and is_array(other) and xp.isdtype(xp.result_type(input, other), "real floating")):
        return xp.floor_divide(input, other)
    x, y = input.detach(), other.detach()
    with np.errstate(all="ignore"):
        return _whole_quotient(x, y)


def _as_operand(value, other):
    """Return a plain number beside a tensor as a tensor, in the dtype that both have in common."""
    if isinstance(other, Storage) and type(value) in (int, float):
        return xp.asarray(value, dtype=common_dtype((value, other)))
    return value


def _whole_quotient(x, y):
    """Return PyTorch's quotient rounded down."""
    rest = np.fmod(x, y)
    quotient = (x - rest) / y
    quotient = xp.where((rest != 0) & ((y < 0) != (rest < 0)), quotient - 1, quotient)
    whole = xp.floor(quotient)
    whole = xp.where(quotient - whole > 0.5, whole + 1, whole)
    whole = xp.where(quotient == 0, xp.copysign(xp.zeros_like(whole), x / y), whole)
    return xp.where(y == 0, x / y, whole)


def _cut_quotient(x, y):
    """Return a quotient rounded to 0."""
    quotient, dtype = xp.trunc(xp.divide(x, y)), xp.result_type(x, y)
    if xp.isdtype(dtype, "integral"):
        return xp.astype(quotient, dtype)
    return quotient


TRANSLATIONS.update(written_functions(globals()))
ALONE["floor_divide"] = TRANSLATIONS.pop("floor_divide")
