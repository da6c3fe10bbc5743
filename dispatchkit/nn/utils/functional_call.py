"""Calling a module with other tensors in the places of its parameters and buffers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from dispatchkit.func.containers import items_of
from dispatchkit.graph.storage import Storage
from dispatchkit.nn.module import Module
from dispatchkit.nn.parameter import is_declared
from dispatchkit.tree import rebuilt

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
        dictionary or several; what they leave out keeps its value. A parameter or buffer that is an array type can also
        be given as a whole, under the name of its attribute: ``weight`` in place of ``weight.value``
    args : of the call, a tuple or the only one
    kwargs : keywords of the call
    tie_weights : whether a tensor that stands in several places is replaced in all of them
    strict : whether the dictionaries must have the names of all parameters and buffers, and no others

    Returns
    -------
    Any
        The output of the module.

    Raises
    ------
    RuntimeError : with `strict`, if a name is missing or unexpected
    ValueError : if a name is in two dictionaries, an array type is given both as a whole and by a tensor inside, or a
        tensor that stands in several places is given several values
    TypeError : if what is given is no dictionary

    Warns
    -----
    UserWarning : without `strict`, if a name is that of no parameter or buffer

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
    known = dict(_known(module))
    _check_names(module, known, given, strict)
    change = _tied(known, given) if tie_weights else given.get
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


def _known(module: Module) -> Iterator[tuple[str, Any]]:
    """Yield what can be replaced, with its name: parameters, buffers, and the parts of those that are array types."""
    for path, part in module.named_modules(remove_duplicate=False):
        for name, value in [*part._parameters.items(), *part._buffers.items()]:
            full = f"{path}.{name}" if path else name
            if isinstance(value, Storage):
                yield full, value
            else:
                yield from _nodes(full, value)


def _nodes(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield an array type and the array types and tensors inside with their names, a tensor itself."""
    if isinstance(value, Storage):
        yield name, value
    elif is_declared(value):
        yield name, value
        for key, part in items_of(value) or ():
            yield from _nodes(f"{name}.{key}", part)


def _check_names(module: Module, known: Mapping[str, Any], given: Mapping[str, Any], strict: bool) -> None:
    unexpected = sorted(given.keys() - known.keys())
    if strict:
        needed = dict([*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)])
        missing = sorted(name for name in needed if _given_as(name, given) is None)
        if missing or unexpected:
            raise RuntimeError(
                f"functional_call: the names do not match those of {type(module).__name__}: "
                f"missing: {', '.join(missing) or 'none'}; unexpected: {', '.join(unexpected) or 'none'}"
            )
    if unexpected:
        warnings.warn(
            f"functional_call: {type(module).__name__} has no parameter or buffer named "
            f"{', '.join(map(repr, unexpected))}; what is given for it is not used",
            stacklevel=3,
        )
    for name in given:
        whole = _given_as(name.rpartition(".")[0], given)
        if whole is not None and whole in known:
            raise ValueError(f"functional_call: {name!r} is a part of {whole!r}; give one of the two")


def _given_as(name: str, given: Mapping[str, Any]) -> str | None:
    """Return the name under which a tensor is given, its own or that of what it is a part of."""
    while name and name not in given:
        name = name.rpartition(".")[0]
    return name or None


def _tied(known: Mapping[str, Any], given: Mapping[str, Any]) -> Callable[[str, Any], Any]:
    """Return what replaces a tensor, or an array type of the same tensors, wherever it stands."""
    places: dict[Any, tuple[str, Any]] = {}
    inside: dict[int, str] = {}
    for name in filter(known.__contains__, given):
        first, value = places.setdefault(_identity(known[name]), (name, given[name]))
        if value is not given[name]:
            raise _twice(first, name)
        if is_declared(known[name]):
            inside.update((id(part), name) for _, part in _nodes("", known[name]))
    for key, (name, _) in places.items():
        if key in inside:
            raise _twice(inside[key], name)

    def change(name: str, x: Any) -> Any:
        found = places.get(_identity(x))
        return x if found is None else found[1]

    return change


def _twice(first: str, second: str) -> ValueError:
    return ValueError(
        f"functional_call: got multiple values for {first!r} and {second!r}, which are tied. Consider using "
        f"tie_weights=False"
    )


def _identity(x: Any) -> Any:
    """Return what two places that hold the same tensors have in common."""
    return id(x) if isinstance(x, Storage) else (type(x), *(id(part) for _, part in _nodes("", x) if part is not x))


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
            made = _changed(change, full, value)
            if made is not value:
                before.append((own, name, value))
                own[name] = made
    # A module in several places was changed several times: what was first is put back last.
    return before[::-1]


def _changed(change: Callable[[str, Any], Any], name: str, value: Any) -> Any:
    """Return a parameter or buffer with other tensors inside, itself if nothing is to be changed."""
    if isinstance(value, Storage):
        return change(name, value)
    if not is_declared(value):
        return value
    made = change(name, value)
    if made is not value:
        return made
    items = items_of(value) or []
    changed = [(key, _changed(change, f"{name}.{key}", part)) for key, part in items]
    same = all(new is part for (_, new), (_, part) in zip(changed, items, strict=True))
    return value if same else rebuilt(value, changed)


def _as_tuple(args: Any) -> tuple[Any, ...]:
    return () if args is None else args if isinstance(args, tuple) else (args,)
