"""Signatures of operations: which arguments are arrays, their types, and what a call that does not fit meant."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any

from dispatchkit.errors import RegistrationError
from dispatchkit.signatures import read_signature
from dispatchkit.tree import with_members
from dispatchkit.wording import nearest


@dataclass(frozen=True, slots=True)
class Layout:
    """Shape and dtype of an array, None for what is not known."""

    shape: tuple[int, ...] | None = None
    dtype: Any = None


# The types of the array parameters of a call, in signature order: one type each, and for a parameter that takes
# several arrays the tuple of the distinct types among them.
Key = tuple[Any, ...]

# What a keyword of PyTorch's or NumPy's is called here: the first that an operation has.
ELSEWHERE = {
    "dim": ("axis", "axes"),
    "dims": ("axes", "axis", "shift"),
    "keepdim": ("keepdims",),
    "input": ("x", "x1"),
    "other": ("x2",),
    "unbiased": ("correction",),
    "ddof": ("correction",),
    "size": ("shape",),
    "in_axes": ("in_dims",),
    "out_axes": ("out_dims",),
}
# Parameters that take a tuple of ints.
TUPLES = frozenset({"shape", "axes", "repetitions"})
# Parameters that take a list of arrays.
LISTS = frozenset({"arrays", "tensors"})


def _never(cls: type) -> bool:
    return False


def _always(kwargs: Mapping[str, Any]) -> bool:
    return True


class Missing:
    """Stands for an argument that a call leaves out; functions pickled by value find it by its name."""

    def __repr__(self) -> str:
        return "<left out>"

    def __reduce__(self) -> str:
        return "MISSING"


MISSING = Missing()


class Form(Enum):
    """What an array parameter takes."""

    ONE = "an array"
    SEQUENCE = "a sequence of arrays"
    STAR = "any number of arrays"
    INDEX = "an index, which may hold arrays"
    LOOSE = "anything, also a list or tuple of arrays"


@dataclass(slots=True)
class ArrayParameter:
    """A parameter whose argument takes part in dispatch.

    Attributes
    ----------
    name : of the parameter
    position : among the positional ones; None where it is keyword-only
    form : what it takes
    whole : whether instances of a class of lists or tuples are arrays themselves
    default : what an absent argument counts as, if the parameter takes one array
    """

    name: str
    position: int | None
    form: Form
    whole: Callable[[type], bool]
    default: Any = None

    def holds_several(self, value: Any) -> bool:
        """Return whether an argument is a list or tuple whose members count."""
        cls = type(value)
        if cls is list or cls is tuple:
            return True
        return issubclass(cls, (list, tuple)) and not self.whole(cls)

    def find(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Return the argument of a call, the default if it is absent."""
        position = self.position
        if position is not None:
            if self.form is Form.STAR:
                return args[position:]
            if position < len(args):
                return args[position]
        return kwargs.get(self.name, self.default)

    def key(self, value: Any, type_of: Callable[[Any], type] = type) -> Any:
        """Return the type of an argument, or the distinct types of its members."""
        form = self.form
        if form is Form.ONE:
            return type_of(value)
        if form is Form.INDEX:
            members = value
            if type(value) is not tuple:
                members = (value,)
            return tuple(dict.fromkeys(map(type_of, members)))
        if self.holds_several(value):
            return tuple(dict.fromkeys(map(type_of, value)))
        return type_of(value)

    def members(self, value: Any) -> Iterator[Any]:
        """Yield the arrays of an argument."""
        if self.form is Form.ONE or not self.holds_several(value):
            yield value
        else:
            yield from value

    def replace(self, value: Any, change: Callable[[Any], Any]) -> Any:
        """Return the argument with `change` made to each of its arrays; a list stays a list."""
        if self.form is Form.ONE or not self.holds_several(value):
            return change(value)
        return with_members(value, [change(member) for member in value])


class Parameters:
    """The signature of an operation, read once.

    Parameters
    ----------
    signature : of the public function
    forms : what each array parameter takes, by name; None means every parameter, as `Form.LOOSE`
    several : whether the operation gives several arrays
    whole : whether instances of a class of lists or tuples are arrays themselves

    Attributes
    ----------
    listed : the names of all parameters
    fixed : how many of them are positional-only
    placed : how many of them an argument may be given for by its place
    spread : whether one takes any number of arguments
    """

    _read: Callable[..., Parameters]
    _arguments: tuple[Any, ...]

    def __init__(
        self,
        signature: inspect.Signature,
        forms: Mapping[str, Form] | None = None,
        *,
        several: bool = False,
        whole: Callable[[type], bool] = _never,
    ) -> None:
        self.signature = signature
        self.several = several
        self.strict = forms is not None
        self.arrays = tuple(_array_parameters(signature, forms, whole))
        self.names = [p.name for p in self.arrays]
        plain = [p.form is Form.ONE and p.position == i for i, p in enumerate(self.arrays)]
        every = list(signature.parameters.values())
        self.listed = tuple(signature.parameters)
        self.fixed = sum(p.kind is p.POSITIONAL_ONLY for p in every)
        alone = len(self.arrays) == len(every) and all(p.kind is p.POSITIONAL_ONLY for p in every)
        self.unary = alone and plain == [True]
        self.binary = alone and plain == [True, True]
        absolute = any(p.kind is p.POSITIONAL_ONLY for p in every[:1])
        self.leading = plain == [True] and absolute
        sequences = [p.form is Form.SEQUENCE and p.position == i for i, p in enumerate(self.arrays)]
        self.gathering = sequences == [True] and absolute
        self.nullary = not self.arrays
        if all(plain):
            self.positional = len(self.arrays)
        else:
            self.positional = 0
        open_ended = any(p.kind is p.VAR_KEYWORD for p in every)
        names = frozenset(p.name for p in every if p.kind is not p.POSITIONAL_ONLY)
        self.knows: Callable[[Mapping[str, Any]], bool]
        if open_ended:
            self.knows = _always
        else:
            self.knows = names.issuperset
        self.least = sum(p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in every)
        self.spread = any(p.kind is p.VAR_POSITIONAL for p in every)
        if self.spread:
            self.most = 1_000_000
        else:
            self.most = sum(p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD) for p in every)
        # By place the names by which arguments may come, too, "" for those that come by place alone; what must come.
        placed = [p for p in every if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        self.placed = len(placed)
        self.names_by_place = tuple(p.name if p.kind is p.POSITIONAL_OR_KEYWORD else "" for p in placed)
        self.demanded = tuple(
            (place, p.name)
            for place, p in enumerate([*placed, *(p for p in every if p.kind is p.KEYWORD_ONLY)])
            if p.default is p.empty and p.kind is not p.POSITIONAL_ONLY
        )
        self.either_way = any(self.names_by_place) or bool(self.demanded)

    @classmethod
    def later(cls, read: Callable[..., Parameters], arguments: tuple[Any, ...], **known: Any) -> Parameters:
        """Return parameters that are read when they are first looked at.

        Parameters
        ----------
        read, arguments : return them
        **known : what is known of them, by the names of attributes
        """
        parameters = cls.__new__(cls)
        parameters._read, parameters._arguments = read, arguments
        for name, value in known.items():
            setattr(parameters, name, value)
        return parameters

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(f"parameters have no {name!r}")
            vars(self).update(vars(self._read(*self._arguments)))
            return object.__getattribute__(self, name)

    def allows(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Return whether the signature allows the number of arguments and the names of keywords."""
        count = len(args)
        if count > self.most or count + len(kwargs) < self.least:
            return False
        if not kwargs:
            return True
        if not self.knows(kwargs):
            return False
        return not self.either_way or self._each_once(count, kwargs)

    def _each_once(self, count: int, kwargs: Mapping[str, Any]) -> bool:
        """Return whether none of the arguments that may come by place or name comes twice, and what must come does."""
        if not kwargs.keys().isdisjoint(self.names_by_place[:count]):
            return False
        return all(name in kwargs for place, name in self.demanded if place >= count)

    def others_from(self, place: int) -> list[inspect.Parameter]:
        """Return the parameters from a place on that are given by position and are no arrays."""
        positional = [p for p in self.signature.parameters.values() if p.kind <= p.VAR_POSITIONAL]
        return [p for p in positional[place:] if p.name not in self.names]

    def shortest_call(self, given: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the shortest call that gives some parameters a value.

        Parameters
        ----------
        given : values by parameter, a tuple for one that takes any number; required ones that are missing get their
            name
        """
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        left_out = False
        for p in self.signature.parameters.values():
            if p.kind is p.VAR_POSITIONAL:
                args += given.get(p.name, ())
            elif p.kind is p.VAR_KEYWORD:
                continue
            elif p.name not in given and p.default is not p.empty:
                left_out = True
            elif p.kind is p.KEYWORD_ONLY or (left_out and p.kind is not p.POSITIONAL_ONLY):
                kwargs[p.name] = given.get(p.name, p.name)
            else:
                args.append(given.get(p.name, p.name))
        return tuple(args), kwargs

    def key(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Key:
        """Return the types that decide who answers a call."""
        count = self.positional
        if count:
            if len(args) >= count:
                return tuple(map(type, args[:count]))
            return (*map(type, args), *[type(kwargs.get(p.name, p.default)) for p in self.arrays[len(args) :]])
        return tuple([p.key(p.find(args, kwargs)) for p in self.arrays])

    def values(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[tuple[ArrayParameter, Any]]:
        """Return each array of a call with its parameter, in signature order."""
        if 0 < self.positional <= len(args):
            return list(zip(self.arrays, args, strict=False))
        return [(p, member) for p in self.arrays for member in p.members(p.find(args, kwargs))]

    def replace(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], change: Callable[[str, Any], Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments with each array put through ``change(parameter name, array)``."""
        count = self.positional
        if 0 < count <= len(args):
            return (*map(change, self.names, args), *args[count:]), dict(kwargs)
        new_args, new_kwargs = list(args), dict(kwargs)
        for p in self.arrays:
            changed = partial(change, p.name)
            if p.form is Form.STAR and p.position is not None:
                new_args[p.position :] = [changed(value) for value in args[p.position :]]
            elif p.position is not None and p.position < len(args):
                new_args[p.position] = p.replace(args[p.position], changed)
            elif p.name in new_kwargs:
                new_kwargs[p.name] = p.replace(new_kwargs[p.name], changed)
        return tuple(new_args), new_kwargs

    def replace_arrays(
        self,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        change: Callable[[str, Any], Any],
        participates: Callable[[type], bool],
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments as `replace` does, with the numbers, slices and None of an index as they are."""
        indices = {p.name for p in self.arrays if p.form is Form.INDEX}

        def change_array(name: str, value: Any) -> Any:
            if name not in indices or participates(type(value)) or getattr(value, "ndim", 0) > 0:
                return change(name, value)
            return value

        return self.replace(args, kwargs, change_array)


def flatten(key: Key) -> list[type]:
    """Return the distinct types of a key, in order.

    >>> flatten((int, (str, int)))
    [<class 'int'>, <class 'str'>]
    """
    types: list[type] = []
    for entry in key:
        if type(entry) is tuple:
            types += entry
        else:
            types.append(entry)
    return list(dict.fromkeys(types))


def _array_parameters(
    signature: inspect.Signature, forms: Mapping[str, Form] | None, whole: Callable[[type], bool]
) -> Iterator[ArrayParameter]:
    for position, p in enumerate(signature.parameters.values()):
        if forms is not None and p.name not in forms:
            continue
        if forms is None:
            form = Form.LOOSE
        else:
            form = forms[p.name]
        default = None
        if form is Form.ONE and p.default is not p.empty:
            default = p.default
        if p.kind is p.VAR_POSITIONAL:
            yield ArrayParameter(p.name, position, Form.STAR, whole)
        elif p.kind is p.KEYWORD_ONLY:
            yield ArrayParameter(p.name, None, form, whole, default)
        elif p.kind is not p.VAR_KEYWORD:
            yield ArrayParameter(p.name, position, form, whole, default)


def call_meant(name: str, signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Return what to write for a call that does not fit a signature; "" if that cannot be guessed.

    Parameters
    ----------
    name : of the function
    signature : of the function
    args, kwargs : of the call
    """
    parameters = signature.parameters.values()
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        return ""
    named = [p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY]
    for keyword in kwargs:
        if keyword not in named and (near := _keyword_meant(keyword, [p for p in named if p not in kwargs])):
            return f"did you mean '{near}'?"
    if "out" in kwargs:
        return f"there is no out; assign the result, as in out[...] = {name}(...)"
    places = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    several = len(args) - len(places) + 1
    for start, place in enumerate(places):
        spread = args[start : start + several]
        if place in LISTS and several > 1 and not isinstance(spread[0], (list, tuple)):
            return f"give the {place} in a list: {name}([x1, x2])"
        if place in TUPLES and several > 1 and all(isinstance(other, int) for other in spread):
            shown = [*places[:start], str(tuple(spread)), *places[start + 1 :]]
            return f"give the {place} as a tuple: {name}({', '.join(shown)})"
    return ""


def _keyword_meant(keyword: str, named: Collection[str]) -> str:
    elsewhere = [name for name in ELSEWHERE.get(keyword, ()) if name in named]
    return next(iter(elsewhere or nearest(keyword, named)), "")


class LaterSignature(inspect.Signature):
    """A signature that is read when it is first looked at."""

    _read: Callable[[], inspect.Signature]

    @classmethod
    def by(cls, read: Callable[..., inspect.Signature], *of: Any) -> LaterSignature:
        """Return the signature that a function returns, of the function and its arguments."""
        signature = cls.__new__(cls)
        signature._read = partial(read, *of)
        return signature

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name not in inspect.Signature.__slots__:
                raise AttributeError(f"a signature has no {name!r}")
            read = self._read()
            self.__init__(list(read.parameters.values()), return_annotation=read.return_annotation)
            return object.__getattribute__(self, name)


def signature_of(function: Callable[..., Any], use: str) -> inspect.Signature:
    """Return the signature of a function that a decorator or `implements` got.

    Parameters
    ----------
    function : to read
    use : name of the decorator, for the message

    Raises
    ------
    RegistrationError : if it cannot be called, or has no signature that Python can read
    """
    try:
        return read_signature(function)
    except TypeError as error:
        raise RegistrationError(f"{use}: {function!r} is not callable") from error
    except ValueError as error:
        if isinstance(function, type):
            name = function.__qualname__
        else:
            name = repr(function)
        raise RegistrationError(
            f"{use}: {name} has no signature that could be read; give it one by a function around it, as in "
            f"def handler(x: MyType, /): return {name}(x)"
        ) from error
