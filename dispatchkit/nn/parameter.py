"""`Parameter`: a tensor that a module trains, or an array type whose tensors it trains."""

from __future__ import annotations

import copyreg
import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from typing_extensions import override

from dispatchkit.declare.variables import beside_fields, is_floating, items_of, variables_in, variables_of
from dispatchkit.errors import RegistrationError, TransformError
from dispatchkit.func.containers import with_constants, with_floats, with_variables
from dispatchkit.graph.storage import Storage, vertex_of
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import Tensor
from dispatchkit.tree import leaves_with_paths

if TYPE_CHECKING:
    from dispatchkit.tensor.surface import ParameterMethods

    class _Plain(ParameterMethods, Tensor):
        """A tensor whose results are of its base class, to type checkers."""
else:
    _Plain = Tensor

# Most attributes of modules are of these types, which an `isinstance` recognizes at once.
NO_ARRAYS = (Storage, np.ndarray, np.generic, int, float, str, type(None))


class ParameterType(type):
    """The metaclass of `Parameter`: parameters may also be array types and instances of subclasses of `Tensor`."""

    @property
    def __signature__(cls) -> inspect.Signature:
        """The signature of the constructor, in place of that of `__call__`."""
        signature = inspect.signature(cls.__init__)  # type: ignore[misc]  # of this very class
        return signature.replace(parameters=list(signature.parameters.values())[1:])

    def __call__(cls, data: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Make a parameter of what `data` is."""
        if cls is Parameter:
            if is_declared(data):
                return _declared(data, *args, **kwargs)
            if isinstance(data, Tensor) and type(data) not in (Tensor, Parameter):
                return _subclass(data, *args, **kwargs)
        return super().__call__(data, *args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        """Return whether a value is a parameter: a tensor of this class, or an array type that holds such alone."""
        if super().__instancecheck__(instance):
            return True
        return cls is Parameter and is_declared(instance) and _holds_parameters(instance)


class Parameter(_Plain, metaclass=ParameterType):
    """A tensor that a module registers when it is assigned to an attribute, and that an optimiser trains.

    Parameters
    ----------
    data : tensor, whose memory is shared, or what `Tensor` takes; an empty one by default. An instance of a `Tensor`
        subclass gives a parameter of that subclass, too. An instance of a declared array type gives a copy of it whose
        floating-point arrays and numbers are parameters, but for fields declared with ``field(grad=False)``.
    requires_grad : whether gradients are to be collected in it. Inside an array type, parameters that require none
        stay so

    Raises
    ------
    AutogradError : if integers are to require a gradient
    TypeError : if an array type holds no floating-point numbers

    Notes
    -----
    What is computed with a parameter is a plain tensor. Source: PyTorch, `torch.nn.Parameter`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.Parameter(dk.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    >>> weight = dk.nn.Parameter(dk.types.ScalarTensor(3, 2.0))
    >>> type(weight).__name__, isinstance(weight, dk.nn.Parameter)
    ('ScalarTensor', True)
    >>> weight.value
    Parameter containing:
    tensor(2., requires_grad=True)
    """

    __dispatch_results__: ClassVar[type[Tensor] | None] = Tensor

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None:
        super().__init__([] if data is None else data, requires_grad=requires_grad)

    @override
    def __repr__(self) -> str:
        plain = self.detach()
        plain._node = vertex_of(self)
        return f"Parameter containing:\n{plain!r}"

    @override
    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        result = super().__deepcopy__(memo)
        result.grad = None
        return result


def is_declared(value: Any) -> bool:
    """Return whether a value is an instance of an array type that is no tensor."""
    if isinstance(value, NO_ARRAYS):
        return False
    return tensor_protocol.types.participates(type(value))


def named_tensors(name: str, value: Any, *, trained: bool = False) -> Iterator[tuple[str, Any]]:
    """Yield the tensors of a parameter or buffer with their names: ``weight``, or ``weight.value`` inside a type.

    With `trained`, those that are constants inside an array type are left out.
    """
    for path, leaf in leaves_with_paths(variables_of if trained else items_of, value, (name,)):
        if isinstance(leaf, Storage) and not (trained and not is_floating(leaf)):
            yield ".".join(map(str, path)), leaf


def summary(value: Any) -> str:
    """Return an instance of an array type in a line: what its `extra_repr` says, else its fields, arrays by shapes."""
    extra_repr = getattr(value, "extra_repr", None)
    if extra_repr is not None:
        return f"{type(value).__name__}({extra_repr()})"

    def shown(part: Any) -> str:
        if is_declared(part):
            return summary(part)
        return f"{tuple(part.shape)}" if hasattr(part, "shape") else repr(part)

    return f"{type(value).__name__}({', '.join(f'{name}={shown(part)}' for name, part in items_of(value) or ())})"


def tensors_of(name: str, parameters: Any) -> list[Any]:
    """Return the tensors of parameters: an iterable of tensors and array types, or one of them.

    Raises
    ------
    TypeError : if one is neither, naming the function that takes them
    """
    single = isinstance(parameters, Storage) or is_declared(parameters)
    tensors: list[Any] = []
    for value in [parameters] if single else parameters:
        inside = [value] if isinstance(value, Storage) else [x for x in variables_in(value) if isinstance(x, Storage)]
        if not inside:
            raise TypeError(f"{name}: a {type(value).__name__} is neither a tensor nor an array type that holds some")
        tensors += inside
    return tensors


def _holds_parameters(value: Any) -> bool:
    try:
        floating = list(variables_in(value))
    except RegistrationError:
        # Its fields are unknown.
        return False
    return bool(floating) and all(issubclass(type(x), Parameter) for x in floating)


def _declared(data: Any, requires_grad: bool = True) -> Any:
    """Return a copy of an instance of an array type with parameters for its floating-point arrays and numbers."""

    def as_parameter(x: Any) -> Any:
        # Of a plain tensor that requires no gradient nobody has said that it is not to be trained.
        frozen = isinstance(x, Parameter) and not x.requires_grad
        return Parameter(x, requires_grad and not frozen)

    def as_constant(x: Any) -> Any:
        return x.detach() if isinstance(x, Tensor) and x.requires_grad else x

    result = with_constants(as_constant, with_variables(as_parameter, with_floats(data)))
    if not _holds_parameters(result):
        fields = ", ".join(tensor_protocol.types.fields_of(data)) or "none"
        raise TypeError(
            f"Parameter: {type(data).__name__} holds no floating-point numbers in its fields ({fields}) to train"
            f"{beside_fields(data)}"
        )
    return result


def _subclass(data: Any, requires_grad: bool = True) -> Any:
    """Return a parameter that is an instance of the tensor's own class, too."""
    if data.is_tracer:
        raise TransformError(
            f"Parameter: a tensor inside {data.transformation} cannot be one; make parameters outside, and use "
            f"functional_call to put such tensors in their places"
        )
    parameter = data.detach().as_subclass(_parameter_class(type(data)))
    return parameter.requires_grad_(requires_grad)


def _parameter_class(cls: Any) -> Any:
    """Return the class of parameters that are instances of a `Tensor` subclass, too; one for each class."""
    if issubclass(cls, Parameter):
        return cls
    parameter_class = cls.__dict__.get("__parameter_class__")
    if parameter_class is None:
        body = {"__module__": cls.__module__, "__doc__": cls.__doc__, "__dispatch_results__": cls}
        parameter_class = cls.__parameter_class__ = ParameterType(f"{cls.__name__}Parameter", (Parameter, cls), body)
    return parameter_class


def made_for(cls: Any) -> Any:
    """Return the `Tensor` subclass for which a class of parameters was made; None for any other class."""
    held = cls.__dispatch_results__
    return held if held is not None and held.__dict__.get("__parameter_class__") is cls else None


def _reduced(cls: Any) -> Any:
    """Return what pickle makes a class of parameters from: its name, or the class they are made for."""
    held = made_for(cls)
    return cls.__qualname__ if held is None else (_parameter_class, (held,))


copyreg.pickle(ParameterType, _reduced)
