"""Operations on lists of tensors, `torch._foreach_add` and its like, by which optimisers of libraries compute.

PyTorch computes such a list at once on an accelerator. Here each tensor is computed for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dispatchkit.as_torch.spelling import FUNCTIONS, Tensor

__all__ = ["OF_FOREACH_UTILS", "functions_of_lists"]

OF_ONE = (
    *("abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac", "lgamma"),
    *("log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh"),
    *("sqrt", "tan", "tanh", "trunc"),
)
# By the function that computes them: bounds may be numbers.
OF_SEVERAL = {
    **{
        name: name
        for name in ("add", "addcdiv", "addcmul", "clamp_max", "clamp_min", "div", "lerp", "mul", "pow", "sub")
    },
    "maximum": "clamp_min",
    "minimum": "clamp_max",
}
# With a list of numbers, or a tensor of them, after two lists of tensors.
WEIGHTED = ("addcdiv", "addcmul")


def functions_of_lists() -> dict[str, Any]:
    """Return PyTorch's functions of lists of tensors by their names, those in place among them."""
    functions: dict[str, Any] = {}
    for name, function in {**dict(zip(OF_ONE, OF_ONE, strict=True)), **OF_SEVERAL}.items():
        functions[f"_foreach_{name}"] = _results(name, FUNCTIONS[function])
        functions[f"_foreach_{name}_"] = _changes(name, getattr(Tensor, f"{function}_"))
    for name in ("clone", "max"):
        functions[f"_foreach_{name}"] = _results(name, getattr(Tensor, name))
    functions["_foreach_norm"] = _results("norm", _norm)
    functions["_foreach_copy_"] = _changes("copy", Tensor.copy_)
    functions["_foreach_zero_"] = _changes("zero", Tensor.zero_)
    return functions


def _norm(x: Any, ord: Any = 2, dtype: Any = None) -> Any:  # PyTorch's name
    return FUNCTIONS["linalg.vector_norm"](x, ord, dtype=dtype)


def _results(name: str, function: Callable[..., Any]) -> Any:
    def foreach(self: Any, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        return tuple([function(*each, **named) for each, named in _calls(name, (self, *args), kwargs)])

    return _named(foreach, f"_foreach_{name}", "Return the results for each tensor of a list.")


def _changes(name: str, method: Callable[..., Any]) -> Any:
    def foreach(self: Any, *args: Any, **kwargs: Any) -> None:
        for each, named in _calls(name, (self, *args), kwargs):
            method(*each, **named)

    return _named(foreach, f"_foreach_{name}_", "Write the results for each tensor of a list into it.")


def _named(function: Any, name: str, text: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


def _calls(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Return the arguments of each call: of lists the members in turn, and what is no list again and again."""
    kwargs = dict(kwargs)
    for scalars in ("scalars", "scalar"):
        if scalars in kwargs:
            args = (*args, kwargs.pop(scalars))
    if name in WEIGHTED and len(args) > 3:
        kwargs["value"], args = args[3], args[:3]
    weights = kwargs.get("value")
    if isinstance(weights, Tensor) and weights.ndim:
        kwargs["value"] = weights.tolist()
    calls = []
    for place in range(_length_of((*args, *kwargs.values()))):
        named = {key: _member(value, place) for key, value in kwargs.items()}
        calls.append((tuple(_member(value, place) for value in args), named))
    return calls


def _length_of(arguments: Sequence[Any]) -> int:
    """Return how long all lists among the arguments are.

    Raises
    ------
    RuntimeError : where there are no tensors, or lists of different lengths, in PyTorch's words
    """
    lists = [value for value in arguments if isinstance(value, (tuple, list))]
    if not lists or not lists[0]:
        raise RuntimeError("Tensor list must have at least one tensor.")
    count = len(lists[0])
    for other in lists:
        if len(other) != count and other and isinstance(other[0], Tensor):
            text = f"Tensor lists must have the same number of tensors, got {count} and {len(other)}"
            raise RuntimeError(text)
        if len(other) != count:
            raise RuntimeError("Tensor list must have same number of elements as scalar list.")
    return count


def _member(value: Any, place: int) -> Any:
    if isinstance(value, (tuple, list)):
        return value[place]
    return value


def _members(values: Sequence[Any], places: list[int]) -> list[Any]:
    """Return the members of a list at some places; of an empty one none."""
    return [values[place] for place in places if values]


def _group_tensors_by_device_and_dtype(
    tensorlistlist: Sequence[Sequence[Any]], with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]:
    """Return lists of tensors parted by the device and dtype of the first list's, each with their places in it.

    Parameters
    ----------
    tensorlistlist : lists of one length, of which those without members stay so
    with_indices : whether the places are asked for, which are there at any rate
    """
    places: dict[tuple[Any, Any], list[int]] = {}
    for place, tensor in enumerate(tensorlistlist[0]):
        places.setdefault((tensor.device, tensor.dtype), []).append(place)
    parts = {}
    for key, chosen in places.items():
        parts[key] = [_members(tensors, chosen) for tensors in tensorlistlist], chosen
    return parts


OF_FOREACH_UTILS: dict[str, Any] = {
    "_group_tensors_by_device_and_dtype": _group_tensors_by_device_and_dtype,
    # There is no device on which a list is computed at once.
    "_get_foreach_kernels_supported_devices": list,
    "_get_fused_kernels_supported_devices": list,
    "_device_has_foreach_support": lambda device: False,
    "_has_foreach_support": lambda tensors, device: False,
}
