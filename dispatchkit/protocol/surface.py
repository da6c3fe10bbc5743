"""The operators, methods and properties that array types get, each of which calls an operation."""

from __future__ import annotations

import inspect
import re
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from dispatchkit.protocol.callers import make_reflected
from dispatchkit.protocol.frames import hide_frames
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import LaterSignature

KEYWORD, FREE = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
SELF = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
REFLECTED = {
    f"__{name}__": f"__r{name}__"
    for name in (
        *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"),
        *("and", "or", "xor", "lshift", "rshift"),
    )
}
# The first parameter of a docstring in numpydoc's form, which may share its entry with others, and what is said of it.
FIRST = re.compile(r"\n\nParameters\n-{10}(\n(\w+)(?:, ([\w, ]+))?( : .*)((?:\n {4}.*)+))")


class Property:
    """An attribute that calls an operation; an instance attribute of the same name is found first."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__doc__ = method_docstring(function)
        self.__overridable__ = getattr(function, "__overridable__", None)

    def __reduce__(self) -> Any:
        return Property, (self.function,)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        return self.function(instance)


class Member(NamedTuple):
    """An entry of the table.

    Attributes
    ----------
    name : of the attribute on the class
    operation : that it calls; None for an attribute that calls several
    value : what the class gets
    varargs : the parameter that a method also takes as several arguments, if any
    """

    name: str
    operation: Overridable | None
    value: Any
    varargs: str | None = None


class Surface:
    """The operators, methods and properties of a protocol's array types.

    Attributes
    ----------
    home : module and name of a class that has all of them but those of operations that users declare; pickles of
        classes find them there
    """

    home: tuple[str, str] | None = None

    def __init__(self) -> None:
        self.members: dict[str, Member] = {}
        self._classes: weakref.WeakKeyDictionary[type, tuple[str, ...]] = weakref.WeakKeyDictionary()
        # Called with each class that gets the surface, those that have it already first.
        self._followers: list[Callable[[type], None]] = []

    def __iter__(self) -> Iterator[Member]:
        return iter(self.members.values())

    def add_operator(self, name: str, operation: Overridable) -> None:
        """Add an operator, and the reflected one if Python has one."""
        if operation.parameters.binary:
            self._enter(
                name, operation, self._name_method(operation.make_operator(REFLECTED.get(name, name)), name, operation)
            )
            if name in REFLECTED:
                reflected = self._name_method(make_reflected(operation, name), REFLECTED[name], operation)
                self._enter(REFLECTED[name], operation, reflected)
        else:
            self._enter(name, operation, operation.function)

    def add_method(self, name: str, operation: Overridable, varargs: str | None = None) -> None:
        """Add a method: the operation with the instance as its first array.

        Parameters
        ----------
        name : of the method
        operation : that it calls
        varargs : a parameter that the method also takes as several arguments, as in ``x.view(2, 2)``
        """
        parameters = operation.parameters
        if parameters.spread or parameters.fixed == len(parameters.listed) <= 2:
            self._enter(name, operation, operation.function)
        else:
            method = self._name_method(_method(operation, varargs), name, operation)
            method.__doc__ = method_docstring(operation.function)
            method.__signature__ = LaterSignature.by(method_signature, operation)  # type: ignore[attr-defined]
            self._enter(name, operation, method, varargs)

    def add_property(self, name: str, operation: Overridable) -> None:
        """Add a property: the operation on the instance alone."""
        self._enter(name, operation, Property(operation.function))

    def names_kept_by(self, cls: type) -> tuple[str, ...] | None:
        """Return the names that a class keeps its own of; None for one that has not got the surface."""
        return self._classes.get(cls)

    def forget(self, cls: type) -> None:
        """Stop giving a class the members that are added later."""
        self._classes.pop(cls, None)

    def add_attribute(self, name: str, value: Any) -> None:
        """Add an attribute that calls no single operation."""
        self._enter(name, None, value)

    def _name_method(self, method: Callable[..., Any], name: str, operation: Overridable) -> Callable[..., Any]:
        method.__doc__, method.__module__ = operation.function.__doc__, operation.function.__module__
        method.__name__ = method.__qualname__ = name
        if self.home is not None and operation.namespace.partition(".")[0] == self.home[0]:
            method.__module__, method.__qualname__ = self.home[0], f"{self.home[1]}.{name}"
        method.__overridable__ = operation  # type: ignore[attr-defined]
        return method

    def _enter(self, name: str, operation: Overridable | None, value: Any, varargs: str | None = None) -> None:
        member = self.members[name] = Member(name, operation, value, varargs)
        for cls, keep in list(self._classes.items()):
            _give(cls, member, keep)

    def install(self, cls: type, keep: tuple[str, ...] = ()) -> None:
        """Give a class every member that neither it nor a superclass defines, including those added later.

        Parameters
        ----------
        cls : the class
        keep : names that are not replaced, such as those of instance attributes
        """
        for member in self:
            _give(cls, member, keep)
        self._classes[cls] = keep
        for follower in self._followers:
            follower(cls)

    def follow(self, follower: Callable[[type], None]) -> None:
        """Call a function with every class that has the surface, now and when it gets it."""
        self._followers.append(follower)
        for cls in list(self._classes):
            follower(cls)


def _give(cls: type, member: Member, keep: tuple[str, ...]) -> None:
    """Set a member on a class if neither it nor a superclass has the name."""
    defined = any(member.name in ancestor.__dict__ for ancestor in cls.__mro__ if ancestor is not object)
    if not defined and member.name not in keep:
        setattr(cls, member.name, member.value)


def method_signature(operation: Overridable) -> inspect.Signature:
    """Return the signature of a method: it takes the operation's keywords by position, too, as in ``x.sum(0)``."""
    parameters = [SELF]
    kind: inspect._ParameterKind = FREE
    optional = False
    for p in list(operation.parameters.signature.parameters.values())[1:]:
        if p.kind is KEYWORD:
            if optional and p.default is p.empty:
                # A parameter without a default can follow one with a default by keyword alone.
                kind = KEYWORD
            parameters.append(p.replace(kind=kind))
        else:
            parameters.append(p)
            if p.kind is p.VAR_POSITIONAL:
                kind = KEYWORD
        optional = optional or p.default is not p.empty
    return inspect.Signature(parameters, return_annotation=operation.parameters.signature.return_annotation)


def method_docstring(function: Callable[..., Any]) -> str | None:
    """Return the docstring of a function as that of a method, whose array is the function's first parameter."""
    first = FIRST.search(function.__doc__ or "")
    if first is None:
        return function.__doc__
    entry, name, others, type_, text = first.groups()
    said = " ".join(text.split())
    if said.startswith("Array "):
        said = f", {said[6:]}"
    else:
        said = f": {said[0].lower()}{said[1:]}"
    if others:
        said = "."
    rest = ""
    if others:
        rest = f"\n{others}{type_}{text}"
    before, after = first.string[: first.start()], first.string[first.end() :]
    heading = ""
    if rest or (after[:1] == "\n" and after[1:2].strip()):
        heading = first[0].removesuffix(entry)
    return f"{before}\n\n`{name}` is this array{said}{heading}{rest}{after}"


def _method(operation: Overridable, varargs: str | None) -> Callable[..., Any]:
    function, listed = operation.function, operation.parameters.listed
    named, fixed = listed[operation.parameters.fixed :], operation.parameters.fixed - 1
    names = frozenset(listed)
    # Most calls give one argument, which is this one: `x.sum(0)`, `x.reshape(4)`.
    first = None
    if named and not fixed:
        first = named[0]
    spreads = varargs is not None and varargs == first
    # By its place where it has one, since calls that name arguments take longer.
    by_place = first is not None and operation.parameters.fixed < operation.parameters.placed

    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        try:
            if not args:
                if kwargs and not names.issuperset(kwargs):
                    # NumPy's functions call the methods with every keyword that they know, None where it was not given.
                    kwargs = {name: value for name, value in kwargs.items() if value is not None or name in names}
                if kwargs:
                    return function(self, **kwargs)
                return function(self)
            if len(args) == 1 and first is not None:
                value = args if spreads and not isinstance(args[0], (tuple, list)) else args[0]
                if not by_place:
                    return function(self, **{first: value}, **kwargs)
                if kwargs:
                    return function(self, value, **kwargs)
                return function(self, value)
            rest = args[fixed:]
            if varargs is not None and rest and not isinstance(rest[0], (tuple, list)):
                return function(self, *args[:fixed], **{varargs: rest}, **kwargs)
            if len(rest) > len(named):
                raise TypeError(
                    f"{operation.name}() takes at most {fixed + len(named)} arguments, {len(args)} were given"
                )
            return function(self, *args[:fixed], **dict(zip(named, rest, strict=False)), **kwargs)
        except Exception as error:
            hide_frames(error, operation)
            raise

    return method
