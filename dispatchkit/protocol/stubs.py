"""What to write for a call that nobody answers: the stub of a rule, with the names that users write."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
from typing import Any

from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form, Key, flatten
from dispatchkit.protocol.types.array_types import ArrayTypes


def instead_of_rule(operation: Overridable, key: Key) -> str:
    """Return what helps where operation and types are of this library, to which callers add no rules; else ""."""
    types = operation.types
    package = __name__.partition(".")[0]
    if operation.qualified_name.partition(".")[0] != package:
        return ""
    shipped = [cls for cls in types.participating(key) if cls is not types.base]
    if not shipped or any(cls.__module__.partition(".")[0] != package for cls in shipped):
        return ""
    names = " and ".join(dict.fromkeys(cls.__name__ for cls in shipped))
    return f"what the reasons above say, or compute with plain arrays; the rules of {names} are {package}'s own"


def stub_for(operation: Overridable, key: Key, result: str = "") -> str:
    """Return a handler to paste for calls with arguments of these types; "" where none of them takes part.

    Parameters
    ----------
    operation, key : the function, and the types of a call
    result : what it is annotated to return; "" for no annotation
    """
    types = operation.types
    owner = next((cls for cls in types.participating(key) if not types.ranks_as_base(cls)), None)
    if owner is None:
        return ""
    named = operation.parameters.signature.parameters
    hints = {
        p.name: _hint(types, entry, p.form)
        for p, entry in zip(operation.parameters.arrays, key, strict=True)
        if (p.form is not Form.INDEX or owner in entry)
        and (p.form is not Form.LOOSE or owner in flatten((entry,)) or named[p.name].default is inspect.Parameter.empty)
    }
    parameters = [
        p.replace(annotation=hints.get(p.name) or p.empty, default=_pasteable(p.default)) for p in named.values()
    ]
    # Annotations given as text print in quotes, which a stub does without.
    signature = re.sub(r": '([^']*)'", r": \1", str(inspect.Signature(parameters)))
    returns = ""
    if result:
        returns = f" -> {result}"
    handler = f"{operation.name}_{owner.__name__.lower()}"
    decorator = "dk"
    if types.base is None:
        decorator = "protocol"
    return f"@{decorator}.implements({public_path(operation)})\ndef {handler}{signature}{returns}:\n    ..."


def _hint(types: ArrayTypes, entry: Any, form: Form) -> str:
    """Return the annotation that the types of an argument give its parameter; "" for none."""
    if not isinstance(entry, tuple):
        return _name_to_paste(types, entry)
    members = [cls for cls in entry if cls is not type(None)]
    if form is Form.INDEX:  # what the rule is for is one of the arrays in it
        members = list(types.participating(tuple(members)))
    names = list(dict.fromkeys([_name_to_paste(types, cls) or "object" for cls in members]))
    if set(names) <= {"object"}:
        return ""
    union = " | ".join(names)
    if form in (Form.STAR, Form.INDEX):
        return union
    return f"list[{union}]"


def _name_to_paste(types: ArrayTypes, cls: type) -> str:
    """Return a type as users write it: array types by name, built-in ones, and plain arrays; "" for any other."""
    if types.base is not None and (types.ranks_as_base(cls) or types.wrapped_always(cls)):
        return f"dk.{types.base.__name__}"
    if types.participates(cls):
        return cls.__name__
    known = cls is not type(None) and getattr(builtins, cls.__name__, None) is cls
    if known:
        return cls.__name__
    return ""


def public_path(operation: Overridable) -> str:
    """Return an operation as users write it: ``dk.linalg.inv``."""
    prefix, _, path = operation.qualified_name.partition(".")
    if prefix == "dispatchkit":
        return f"dk.{path}"
    return operation.name


class _Ellipsis:
    """Prints as ``...``, for a default that has no literal."""

    def __repr__(self) -> str:
        return "..."


def _pasteable(default: Any) -> Any:
    """Return a default that prints as valid Python."""
    if default is inspect.Parameter.empty:
        return default
    try:
        ast.literal_eval(repr(default))
    except (ValueError, SyntaxError):
        return _Ellipsis()
    return default
