"""Calls that name the types of their arrays: stand-ins take the place of the types."""

from __future__ import annotations

from typing import Any

from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form
from dispatchkit.protocol.prediction import make_stand_in


def with_stand_ins(
    operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any], bool]:
    """Return a call with a stand-in in the place of each type that is given for an array, and whether there are some.

    Types alone are those of the arrays, in order: the last stands for all further arrays that the call needs. Among
    other arguments a type is one where an array is expected, and a value, such as a dtype, elsewhere.

    Parameters
    ----------
    operation : that is called
    args, kwargs : of the call
    """
    parameters = operation.parameters
    if args and not kwargs and all(isinstance(arg, type) for arg in args):
        given = _given_by_types(operation, args)
        if given is not None:
            args, kwargs = parameters.shortest_call(given)
            return args, kwargs, True
    forms = {p.name: p.form for p in parameters.arrays}
    found: list[type] = []

    def change(name: str, value: Any) -> Any:
        if not isinstance(value, type) or forms[name] is Form.LOOSE:
            return value
        found.append(value)
        return make_stand_in(operation.protocol, (value,))

    args, kwargs = parameters.replace(args, kwargs, change)
    return args, kwargs, bool(found)


def _given_by_types(operation: Overridable, types: tuple[type, ...]) -> dict[str, Any] | None:
    """Return stand-ins by the array parameters that they are for; None where these are fewer than the types."""
    parameters = operation.parameters
    places = [p.name for p in parameters.arrays if p.form in (Form.ONE, Form.LOOSE)]
    several = {p.name: p.form for p in parameters.arrays if p.form in (Form.SEQUENCE, Form.STAR)}
    if not several and len(types) > len(places):
        return None
    stand_ins = [make_stand_in(operation.protocol, (cls,)) for cls in types]
    signature = parameters.signature.parameters
    given: dict[str, Any] = {p.name: 0 for p in parameters.arrays if p.form is Form.INDEX}
    for name in places:
        if signature[name].default is signature[name].empty:
            given[name] = make_stand_in(operation.protocol, (types[-1],))
    given |= dict(zip(places, stand_ins, strict=False))
    for name, form in several.items():
        if form is Form.STAR:
            given[name] = tuple(stand_ins)
        else:
            given[name] = list(stand_ins)
    return given
