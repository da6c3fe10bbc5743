"""Calling a module with other tensors in the places of its parameters and buffers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dispatchkit.nn.module import Module
from dispatchkit.nn.parameter import named_tensors, renamed_tensors

__all__ = ["functional_call"]


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors in the places of its parameters and buffers.

    Parameters
    ----------
    module : to call; it is as before afterwards
    parameter_and_buffer_dicts : tensors by the names that `named_parameters` and `named_buffers` give, in one
        dictionary or several; what they leave out keeps its value
    args : of the call, a tuple or the only one
    kwargs : keywords of the call
    tie_weights : whether a tensor that stands in several places is replaced in all of them
    strict : whether the dictionaries must have the names of all parameters and buffers, and no others

    Returns
    -------
    what the module gives

    Raises
    ------
    RuntimeError : with `strict`, if a name is missing or unexpected
    ValueError : if a name is in two dictionaries, or a tensor that stands in several places is given several values
    TypeError : if what is given is no dictionary

    Notes
    -----
    The module must not be called in another thread meanwhile. Source: PyTorch, `torch.func.functional_call`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> class Line(dk.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.slope = dk.nn.Parameter(dk.tensor(2.0))
    ...
    ...     def forward(self, x):
    ...         return self.slope * x
    >>> line = Line()
    >>> def loss(parameters, x):
    ...     return dk.nn.utils.functional_call(line, parameters, (x,)).sum()
    >>> dk.func.grad(loss)({"slope": dk.tensor(3.0)}, dk.tensor([1.0, 2.0]))
    {'slope': tensor(3.)}
    """
    given = _joined(parameter_and_buffer_dicts)
    names = dict([*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)])
    if strict:
        _check_names(module, set(names), set(given))
    change = _tied(names, given) if tie_weights else given.get
    before = _replace(module, change, once=tie_weights)
    try:
        return module(*_as_tuple(args), **(kwargs or {}))
    finally:
        for own, name, value in before:
            own[name] = value


def _joined(given: Any) -> dict[str, Any]:
    """Return the tensors of all dictionaries in one."""
    joined: dict[str, Any] = {}
    for one in given if isinstance(given, (list, tuple)) else [given]:
        if not isinstance(one, Mapping):
            raise TypeError(f"functional_call: expected dictionaries of tensors by name, found a {type(one).__name__}")
        twice = sorted(joined.keys() & one.keys())
        if twice:
            raise ValueError(f"functional_call: {', '.join(map(repr, twice))} appeared in multiple dictionaries")
        joined.update(one)
    return joined


def _check_names(module: Module, names: set[str], given: set[str]) -> None:
    missing, unexpected = sorted(names - given), sorted(given - names)
    if missing or unexpected:
        raise RuntimeError(
            f"functional_call: the names do not match those of {type(module).__name__}: "
            f"missing: {', '.join(missing) or 'none'}; unexpected: {', '.join(unexpected) or 'none'}"
        )


def _tied(names: Mapping[str, Any], given: Mapping[str, Any]) -> Callable[[str, Any], Any]:
    """Return what replaces a tensor wherever it stands."""
    places: dict[int, tuple[str, Any]] = {}
    for name, value in given.items():
        if name in names:
            first, known = places.setdefault(id(names[name]), (name, value))
            if known is not value:
                raise ValueError(
                    f"functional_call: got multiple values for {first!r} and {name!r}, which are tied. Consider using "
                    f"tie_weights=False"
                )
    return lambda _, x: places[id(x)][1] if id(x) in places else x


def _replace(module: Module, change: Callable[[str, Any], Any], *, once: bool) -> list[tuple[dict[str, Any], str, Any]]:
    """Change the tensors in all places, and return what puts back those that were there.

    Parameters
    ----------
    module, change : where, and what takes the place of a tensor with a name
    once : whether a module that stands in several places is looked at under its first name only
    """
    before: list[tuple[dict[str, Any], str, Any]] = []
    for path, part in module.named_modules(remove_duplicate=once):
        own = vars(part)
        for name, value in [*part._parameters.items(), *part._buffers.items()]:
            full = f"{path}.{name}" if path else name
            if any(change(key, x) is not x for key, x in named_tensors(full, value)):
                before.append((own, name, value))
                own[name] = renamed_tensors(change, full, value)
    # A module in several places was changed several times: what was first is put back last.
    return before[::-1]


def _as_tuple(args: Any) -> tuple[Any, ...]:
    return () if args is None else args if isinstance(args, tuple) else (args,)
