"""Modules that consist of modules or parameters: one after the other, as a list, as a dictionary."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from dispatchkit.graph.storage import Storage
from dispatchkit.nn.container_bases import Dictionary, Holder, Listing
from dispatchkit.nn.module import Module
from dispatchkit.nn.parameter import Parameter, is_declared

if TYPE_CHECKING:
    from typing import Self

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


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
        own = self.__dict__
        for name in self._module_names:
            x = own[name](x)
        return x

    @override
    def _like(self, named: list[tuple[str, Module]]) -> Self:
        return type(self)(OrderedDict(named))

    def __add__(self, other: Sequential) -> Sequential:
        self._check_other("add", other)
        return Sequential(*self, *other)

    def __mul__(self, times: int) -> Sequential:
        return Sequential(*list(self) * self._times(times))

    __rmul__ = __mul__

    def __imul__(self, times: int) -> Self:
        return self.extend(list(self) * (self._times(times) - 1))

    def _check_other(self, name: str, other: Any) -> None:
        if not isinstance(other, Sequential):
            raise ValueError(  # noqa: TRY004  # PyTorch's
                f"{name}: only a Sequential can follow a Sequential, not a {type(other).__name__}"
            )

    def _times(self, times: Any) -> int:
        if operator.index(times) <= 0:
            raise ValueError(f"Sequential: can only be repeated a positive number of times, not {times}")
        return int(times)


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
            children.append(f"({first}-{more[-1]}): {len(more) + 1} x {text}" if more else f"({first}): {text}")
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

    holds = "_parameter_names"

    @override
    def _checked(self, value: Any) -> Any:
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

    @override
    def extra_repr(self) -> str:
        return "\n".join(f"  ({name}): {_described(value)}" for name, value in self._parameters.items())


def _described(value: Any) -> str:
    if not isinstance(value, Storage):
        return f"Object of type: {type(value).__name__}"
    return f"Parameter containing: [{value.array.dtype} of size {'x'.join(map(str, value.array.shape))}]"


class ParameterList(_OfParameters, Listing):
    """A list of parameters.

    Parameters
    ----------
    values : iterable of tensors or array types, which become parameters

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
