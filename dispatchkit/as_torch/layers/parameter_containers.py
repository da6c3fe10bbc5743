"""PyTorch's `ParameterDict` and `ParameterList`, which hold values of any kind: modules, numbers, others like them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any

from dispatchkit.graph.storage import Storage
from dispatchkit.marks import override
from dispatchkit.nn import ParameterDict, ParameterList
from dispatchkit.nn.parameter import Members, Parameter

__all__ = ["ParametersByName", "ParametersByNumber"]


class AnyValues:
    """What both have: tensors become parameters, all else is held as it is, in attributes of the names."""

    def __init__(self, values: Any = None) -> None:
        self.__dict__["_keys"] = {}
        super().__init__(values)  # type: ignore[call-arg]  # of the container

    @property
    def _names(self) -> dict[str, Any]:
        return self.__dict__["_keys"]  # type: ignore[no-any-return]  # as made above

    def _at(self, name: str) -> Any:
        return getattr(self, name)

    def _check_value(self, value: Any) -> Any:
        if isinstance(value, Storage) and not isinstance(value, Parameter):
            return Parameter(value)
        return value

    def _add(self, name: str, value: Any) -> None:
        if name not in self._names and not isinstance(value, (Parameter, Members)) and hasattr(self, name):
            raise KeyError(f"{type(self).__name__}: attribute '{name}' already exists")
        if name not in self._names and isinstance(value, Parameter):
            self.register_parameter(name, value)  # type: ignore[attr-defined]  # of the container
        else:
            setattr(self, name, value)
        self._names[name] = None

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        self._names.pop(name, None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"{type(self).__name__} should not be called.")


class ParametersByNumber(AnyValues, ParameterList):
    """A list of parameters and of values of other kinds.

    Parameters
    ----------
    values : iterable; tensors become parameters

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> values = torch.nn.ParameterList([torch.ones(2), "plain"])
    >>> values[1], len(list(values.parameters()))
    ('plain', 1)
    """


class ParametersByName(AnyValues, ParameterDict):
    """A dictionary of parameters and of values of other kinds.

    Parameters
    ----------
    parameters : mapping of names to values, or pairs of both; tensors become parameters. Those of a plain dictionary
        are taken in the order of their names, which optimisers count them by, those of an `OrderedDict` in its own

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> values = torch.nn.ParameterDict({"scale": torch.ones(2), "kind": "plain"})
    >>> values["kind"], [name for name, _ in values.named_parameters()]
    ('plain', ['scale'])
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__(parameters)

    @staticmethod
    def _name(key: Any) -> str:
        """Return a key that can be the name of an attribute.

        Raises
        ------
        TypeError : if it is no text
        """
        if not isinstance(key, str):
            raise TypeError(
                f"ParameterDict: a key must be a text, which names an attribute, found {key!r}, a {type(key).__name__}"
            )
        return key

    @override
    def __getitem__(self, key: str) -> Any:
        return self._at(self._name(key))

    @override
    def __setitem__(self, key: str, value: Any) -> None:
        self._add(self._name(key), self._check_value(value))

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._names)

    def __or__(self, other: Any) -> Any:
        return self.copy().__ior__(other)

    def __ror__(self, other: Any) -> Any:
        mixed = type(self)()
        mixed.update(other)
        mixed.update(self)
        return mixed

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self

    @override
    def keys(self) -> Any:
        """Return the names."""
        return self._names.keys()

    @override
    def items(self) -> Any:
        """Return names and values."""
        return {name: self._at(name) for name in self._names}.items()

    @override
    def values(self) -> Any:
        """Return the values."""
        return dict(self.items()).values()

    def copy(self) -> Any:
        """Return another dictionary of the same values."""
        return type(self)(OrderedDict(self.items()))

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a name, another where there is none.

        Parameters
        ----------
        key : the name
        default : the other
        """
        if key not in self._names:
            return default
        return self[key]

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value of a name, which becomes another where there is none.

        Parameters
        ----------
        key : the name
        default : the other
        """
        if key not in self:
            self[key] = default
        return self[key]

    def popitem(self) -> tuple[str, Any]:
        """Take out the last name with its value, and return both.

        Raises
        ------
        KeyError : if there is none
        """
        if not self._names:
            raise KeyError("ParameterDict: popitem of a dictionary that is empty")
        name = next(reversed(self._names))
        return name, self.pop(name)

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> Any:
        """Return a dictionary of one value for each of some names.

        Parameters
        ----------
        keys : the names
        default : the value
        """
        return type(self)(OrderedDict((key, default) for key in keys))

    @override
    def update(self, values: Any) -> None:
        """Add values, or replace those of the same names.

        Parameters
        ----------
        values : as of the constructor
        """
        if isinstance(values, Mapping) and not isinstance(values, OrderedDict):
            values = sorted(values.items(), key=itemgetter(0))
        super().update(values)
