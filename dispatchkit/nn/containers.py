"""Modules that consist of modules or parameters: one after the other, as a list, as a dictionary."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from itertools import groupby
from typing import Any, ClassVar, Self, overload

from dispatchkit.graph.storage import Storage
from dispatchkit.marks import override
from dispatchkit.nn.module import Module
from dispatchkit.nn.parameter import Members, Parameter, is_declared
from dispatchkit.nn.registered import MODULES, PARAMETERS, Registered

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class Holder(Module):
    """A module that consists of its children, or of its parameters.

    Attributes
    ----------
    holds : the table of names of what it consists of
    """

    holds: ClassVar[str] = MODULES

    @property
    def _names(self) -> dict[str, Any]:
        """The names of the members, in order."""
        return self.__dict__[self.holds]  # type: ignore[no-any-return]  # as registered

    def _at(self, name: str) -> Any:
        """Return the member of a name."""
        return self.__dict__[self._names[name] or name]

    def __len__(self) -> int:
        return len(self._names)

    def _check_value(self, value: Any) -> Any:
        """Return a value as it is held; raise if it cannot be."""
        if value is not None and not isinstance(value, Members):
            raise TypeError(f"{type(self).__name__}: {type(value).__name__} is not a Module subclass")
        return value

    def _add(self, name: str, value: Any) -> None:
        """Register a checked value under a new name."""
        self.add_module(name, value)


class Listing(Holder):
    """Members named by their numbers from 0 on."""

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._like([(name, self._at(name)) for name in list(self._names)[index]])
        return self._at(self._name(index))

    def _like(self, named: list[tuple[str, Any]]) -> Self:
        """Return a listing of some of the members."""
        return type(self)([value for _, value in named])  # type: ignore[call-arg]  # as the classes below do

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, self._name(index), self._check_value(value))

    def __delitem__(self, index: int | slice) -> None:
        names = list(self._names)
        if isinstance(index, slice):
            gone = names[index]
        else:
            gone = [self._name(index)]
        self._renumber([(name, self._at(name)) for name in names if name not in gone])

    def __iter__(self) -> Iterator[Any]:
        return iter([self._at(name) for name in self._names])

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def append(self, value: Any) -> Self:
        """Add one at the end."""
        self._add(str(len(self)), self._check_value(value))
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add several at the end.

        Raises
        ------
        TypeError : if `values` is no iterable, or has a member that cannot be held; none is added then
        """
        if not isinstance(values, Iterable):
            raise TypeError(
                f"{type(self).__name__}.extend should be called with an iterable, but got {type(values).__name__}"
            )
        for value in [self._check_value(value) for value in values]:
            self.append(value)
        return self

    def insert(self, index: int, value: Any) -> Self:
        """Insert a member before an index, which counts from the end where it is negative.

        Raises
        ------
        IndexError : if there is no such index
        """
        if not -len(self) <= index <= len(self):
            raise IndexError(f"{type(self).__name__}: index {index} is out of range for {len(self)} members")
        named = [(name, self._at(name)) for name in self._names]
        named.insert(index, ("0", self._check_value(value)))
        self._renumber(named)
        return self

    def pop(self, index: int | slice) -> Any:
        """Take out the one at an index, and return it."""
        value = self[index]
        del self[index]
        return value

    def _name(self, index: Any) -> str:
        """Return the name of the member at an index.

        Raises
        ------
        IndexError : if there is none
        """
        names = list(self._names)
        place = operator.index(index)
        if not -len(names) <= place < len(names):
            raise IndexError(f"{type(self).__name__}: index {place} is out of range for {len(names)} members")
        return names[place]

    def _renumber(self, named: list[tuple[str, Any]]) -> None:
        """Replace the members; those of a list are numbered anew."""
        for name in list(self._names):
            delattr(self, name)
        for number, (name, value) in enumerate(named):
            if name.isdigit():
                name = str(number)
            self._add(name, value)


class Dictionary(Holder):
    """Members with names."""

    def __getitem__(self, key: str) -> Any:
        return Registered(self, self.holds)[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._add(key, self._check_value(value))

    def __delitem__(self, key: str) -> None:
        self.pop(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, key: object) -> bool:
        return key in self._names

    def keys(self) -> KeysView[str]:
        """Return the names."""
        return Registered(self, self.holds).keys()

    def values(self) -> ValuesView[Any]:
        """Return the members."""
        return Registered(self, self.holds).values()

    def items(self) -> ItemsView[str, Any]:
        """Return names and members."""
        return Registered(self, self.holds).items()

    def clear(self) -> None:
        """Take out all."""
        for name in list(self._names):
            del self[name]

    def pop(self, key: str) -> Any:
        """Take out one, and return it."""
        value = self[key]
        delattr(self, key)
        return value

    def update(self, values: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
        """Add members, or replace those of the same names.

        Parameters
        ----------
        values : mapping of names to members, or pairs of both

        Raises
        ------
        TypeError : if it is neither
        """
        name = type(self).__name__
        if not isinstance(values, Iterable):
            raise TypeError(
                f"{name}.update should be called with an iterable of key/value pairs, but got {type(values).__name__}"
            )
        pairs: Any = values
        if isinstance(values, (Mapping, Dictionary)):
            pairs = values.items()
        for number, pair in enumerate(pairs):
            if not isinstance(pair, (tuple, list)):
                raise TypeError(f"{name} update sequence element #{number} should be a pair; is {type(pair).__name__}")
            if len(pair) != 2:
                raise ValueError(f"{name} update sequence element #{number} has length {len(pair)}; 2 is required")
            self[pair[0]] = pair[1]


class Sequential(Listing):
    """Modules called one after the other, each with the output of the one before.

    Parameters
    ----------
    *modules : in order; or one mapping of names to modules, or an iterable of modules

    Notes
    -----
    Source: PyTorch, `torch.nn.Sequential`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> class Double(dk.nn.Module):
    ...     def forward(self, x):
    ...         return 2 * x
    >>> model = dk.nn.Sequential(Double(), Double())
    >>> model(dk.ones(2))
    tensor([4., 4.])
    >>> model
    Sequential(
      (0): Double()
      (1): Double()
    )
    """

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            for name, module in modules[0].items():
                self.add_module(name, module)
        else:
            self.extend(modules)

    def forward(self, x: Any) -> Any:
        """Call the modules.

        Parameters
        ----------
        x : input of the first

        Returns
        -------
        Array
            What the last module gives.
        """
        attributes = self.__dict__
        for name, key in attributes[MODULES].items():
            x = attributes[key or name](x)
        return x

    @override
    def _like(self, named: list[tuple[str, Module]]) -> Self:
        return type(self)(OrderedDict(named))

    def __add__(self, other: Sequential) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(  # noqa: TRY004  # PyTorch's
                f"add: only a Sequential can follow a Sequential, not a {type(other).__name__}"
            )
        return Sequential(*self, *other)

    def __mul__(self, times: int) -> Sequential:
        return Sequential(*list(self) * _count_of("mul", times))

    __rmul__ = __mul__

    def __imul__(self, times: int) -> Self:
        return self.extend(list(self) * (_count_of("imul", times) - 1))


def _count_of(name: str, times: Any) -> int:
    """Return how often a Sequential is repeated.

    Raises
    ------
    TypeError : for what is no integer
    ValueError : for one that is not positive
    """
    try:
        number = operator.index(times)
    except TypeError:
        raise TypeError(f"{name}: a Sequential is repeated a whole number of times, not {times!r}") from None
    if number <= 0:
        raise ValueError(f"{name}: a Sequential can only be repeated a positive number of times, not {times}")
    return number


class ModuleList(Listing):
    """A list of modules, whose parameters are registered; it has no `forward`.

    Parameters
    ----------
    modules : iterable of modules

    Notes
    -----
    Source: PyTorch, `torch.nn.ModuleList`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.ModuleList([dk.nn.Sequential(), dk.nn.Sequential()])
    ModuleList(
      (0-1): 2 x Sequential()
    )
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    @override
    def __repr__(self) -> str:
        """Draw the children; equal ones that follow one another once."""
        children = []
        for text, run in groupby(enumerate(map(repr, self)), key=operator.itemgetter(1)):
            first, *more = [number for number, _ in run]
            if more:
                line = f"({first}-{more[-1]}): {len(more) + 1} x {text}"
            else:
                line = f"({first}): {text}"
            children.append(line)
        return self._drawn(children)


class ModuleDict(Dictionary):
    """A dictionary of modules, whose parameters are registered; it has no `forward`.

    Parameters
    ----------
    modules : mapping of names to modules, or pairs of both

    Notes
    -----
    Source: PyTorch, `torch.nn.ModuleDict`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> modules = dk.nn.ModuleDict({"first": dk.nn.Sequential()})
    >>> "first" in modules, list(modules)
    (True, ['first'])
    """

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)


class _OfParameters(Holder):
    """What holds parameters; tensors and array types become some."""

    holds = PARAMETERS

    @override
    def _check_value(self, value: Any) -> Any:
        if value is None or isinstance(value, Parameter):
            return value
        if not (isinstance(value, Storage) or is_declared(value)):
            raise TypeError(
                f"{type(self).__name__}: a {type(value).__name__} is neither a tensor nor an array type, so it cannot "
                f"be a parameter"
            )
        return Parameter(value)

    @override
    def _add(self, name: str, value: Any) -> None:
        self.register_parameter(name, value)

    def _described(self) -> list[tuple[str, Any]]:
        return [(name, self._at(name)) for name in self._names]

    @override
    def extra_repr(self) -> str:
        return "\n".join(f"  ({name}): {_describe(value)}" for name, value in self._described())


def _describe(value: Any) -> str:
    if not isinstance(value, Storage):
        return f"Object of type: {type(value).__name__}"
    tensor: Any = value
    return f"Parameter containing: [{tensor.dtype} of size {'x'.join(map(str, value.array.shape))}]"


class ParameterList(_OfParameters, Listing):
    """A list of parameters.

    Parameters
    ----------
    values : iterable of tensors or array types, which become parameters, and of modules, such as further lists

    Notes
    -----
    Source: PyTorch, `torch.nn.ParameterList`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> weights = dk.nn.ParameterList([dk.ones(2), dk.ones(3)])
    >>> len(weights), [name for name, _ in weights.named_parameters()]
    (2, ['0', '1'])
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        if values is not None:
            self.extend(values)

    @property
    @override
    def _names(self) -> dict[str, Any]:
        parameters, modules = (self.__dict__[table] for table in (PARAMETERS, MODULES))
        if not modules:
            return parameters  # type: ignore[no-any-return]  # as registered
        return dict(sorted((parameters | modules).items(), key=lambda member: int(member[0])))

    @override
    def _check_value(self, value: Any) -> Any:
        if isinstance(value, Members):
            return value
        return super()._check_value(value)

    @override
    def _add(self, name: str, value: Any) -> None:
        is_module = isinstance(value, Members)
        if is_module:
            self.add_module(name, value)
        else:
            super()._add(name, value)


class ParameterDict(_OfParameters, Dictionary):
    """A dictionary of parameters.

    Parameters
    ----------
    parameters : mapping of names to tensors or array types, which become parameters, or pairs of both

    Notes
    -----
    Source: PyTorch, `torch.nn.ParameterDict`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> weights = dk.nn.ParameterDict({"left": dk.ones(2)})
    >>> weights["left"]
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    def __init__(self, parameters: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = None) -> None:
        super().__init__()
        if parameters is not None:
            self.update(parameters)
