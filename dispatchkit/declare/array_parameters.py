"""Which parameters of a body take arrays, and whether it gives several: what its annotations mean."""

from __future__ import annotations

import typing
from collections.abc import Callable, Collection
from inspect import Parameter, Signature
from typing import Any

from dispatchkit.errors import RegistrationError
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.parameters import Form
from dispatchkit.protocol.registration.annotations import alternatives, is_sequence, resolved_hints

__all__ = ["array_forms", "gives_several"]

INSTEAD = "name the array parameters instead: operation(arrays=('x', ...))"
# The first that a union allows: it takes what the others take, too.
WIDEST = (Form.INDEX, Form.LOOSE, Form.SEQUENCE, Form.ONE)


def array_forms(body: Callable[..., Any], signature: Signature, arrays: Collection[str] | None) -> dict[str, Form]:
    """Return the array parameters of a body and what they take.

    Parameters
    ----------
    body : of the operation
    signature : of its public function
    arrays : names of the array parameters; by default those that are annotated with arrays, and those without an
        annotation that are positional-only

    Raises
    ------
    RegistrationError : if an annotation cannot be resolved, or there is no parameter of a name
    """
    own = signature.parameters
    unknown = [name for name in arrays or () if name not in own]
    if unknown:
        raise RegistrationError(
            f"operation: {body.__name__} has no parameter '{unknown[0]}'; it has {', '.join(own) or 'none'}"
        )
    if arrays is None:
        hints = resolved_hints(body, [name for name in body.__annotations__ if name not in own], INSTEAD)
        forms = {name: _form_of_parameter(p, hints.get(name, Any)) for name, p in own.items()}
        return {name: form for name, form in forms.items() if form is not None}
    return {name: _form_of_parameter(p, _hint(body, name)) or Form.ONE for name, p in own.items() if name in arrays}


def _hint(body: Callable[..., Any], name: str) -> Any:
    """Return one annotation as an object, Any where it is left out, ``...`` where it cannot be resolved."""
    if name not in body.__annotations__:
        return Any
    try:
        return resolved_hints(body, [other for other in body.__annotations__ if other != name])[name]
    except RegistrationError:
        return ...


def _form_of_parameter(p: Parameter, hint: Any) -> Form | None:
    if hint is Any:
        found = Form.ONE if p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL) else None
    else:
        found = _form_of(hint)
    return Form.STAR if found is not None and p.kind is p.VAR_POSITIONAL else found


def _form_of(hint: Any) -> Form | None:
    """Return what a parameter of this annotation takes of arrays, None where it takes none."""
    found = [_form_of_one(one) for one in alternatives(hint)]
    return found[0] if len(found) == 1 else next((form for form in WIDEST if form in found), None)


def _form_of_one(hint: Any) -> Form | None:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return next((note for note in inner[1:] if isinstance(note, Form)), None) or _form_of(inner[0])
    if origin is not None and is_sequence(origin):
        return Form.SEQUENCE if any(_form_of(part) is not None for part in inner) else None
    cls = hint if origin is None else origin
    if not isinstance(cls, type):
        return None
    if cls.__module__.startswith("numpy._typing"):
        return Form.LOOSE  # a member of `numpy.typing.ArrayLike`
    takes_part = tensor_protocol.types.participates(cls) or tensor_protocol.types.wrapped_always(cls)
    return Form.ONE if takes_part else None


def gives_several(body: Callable[..., Any]) -> bool:
    """Return whether a body may give several arrays: whether its annotation says other than one."""
    hint = _hint(body, "return")
    return not all(one in (Any, None, type(None)) or _form_of_one(one) is Form.ONE for one in alternatives(hint))
