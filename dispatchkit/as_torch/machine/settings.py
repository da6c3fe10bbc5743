"""What programs ask of the machine and say to it, and types of tensors by their names."""

from __future__ import annotations

from typing import Any

from dispatchkit import random
from dispatchkit.as_torch import table
from dispatchkit.as_torch.attributes.devices import device
from dispatchkit.as_torch.attributes.dtypes import spelled_dtype
from dispatchkit.as_torch.attributes.shapes import lengths_in
from dispatchkit.as_torch.calling import promotion
from dispatchkit.as_torch.spelling import HOME, Tensor
from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.marks import override


class TypeOfTensors(type):
    """The class of PyTorch's classes of tensors of one dtype, whose instances are all tensors of it."""

    of_dtype: Any

    @override
    def __call__(cls, *data: Any, **options: Any) -> Any:
        """Return a tensor of the dtype, of elements or of the lengths of its axes."""
        if (lengths := lengths_in(data)) is not None:
            data = (xp.empty(lengths, dtype=cls.of_dtype),)
        return Tensor(*data, **{"dtype": cls.of_dtype} | options)

    @override
    def __instancecheck__(cls, instance: Any) -> bool:
        """Return whether a value is a tensor of the dtype."""
        return table.is_array(instance) and instance.dtype == cls.of_dtype


def _type_of_tensors(name: str, dtype: Any) -> TypeOfTensors:
    members = {"of_dtype": dtype, "dtype": spelled_dtype(dtype)}
    return TypeOfTensors(name, (), {**members, "__module__": HOME, "__doc__": f"Tensors of {dtype}."})


TYPES = {name: _type_of_tensors(name, getattr(xp, dtype)) for dtype, name in table.CLASSES.items()}


def nothing(*args: Any, **kwargs: Any) -> None:
    """Do nothing: what it is about in PyTorch is not here."""


def as_it_is(value: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Return a function or module as it is, or a decorator that does."""
    if value is None:
        return as_it_is
    return value


def one() -> int:
    """Return 1."""
    return 1


def zero(*args: Any) -> int:
    """Return 0."""
    return 0


def highest() -> str:
    """Return how exactly matrices of float32 are multiplied: with all digits."""
    return "highest"


def no(*args: Any) -> bool:
    """Return False."""
    return False


def get_default_device() -> device:
    """Return where tensors are made."""
    return device("cpu")


def set_default_device(device: Any) -> None:
    """Say where tensors are made.

    Parameters
    ----------
    device : ``"cpu"``

    Raises
    ------
    RuntimeError : for another
    """
    if device is not None and str(device).partition(":")[0] != "cpu":
        raise RuntimeError(f"set_default_device: device must be 'cpu', found {str(device)!r}")


def set_default_tensor_type(t: Any) -> None:
    """Say of which dtype floating-point tensors are made.

    Parameters
    ----------
    t : a class such as ``torch.FloatTensor``, or its name
    """
    if isinstance(t, str):
        t = TYPES[t.removeprefix("torch.")]
    xp.set_default_dtype(t.of_dtype)


def get_default_dtype() -> Any:
    """Return the dtype of tensors that are made of Python's floats."""
    return spelled_dtype(xp.get_default_dtype())


def promote_types(type1: Any, type2: Any) -> Any:
    """Return the dtype of results of two dtypes.

    Parameters
    ----------
    type1, type2 : the dtypes
    """
    return spelled_dtype(promotion.promote_types(numpy_dtype(type1), numpy_dtype(type2)))


def result_type(tensor1: Any, tensor2: Any) -> Any:
    """Return the dtype that an operation of two operands gives.

    Parameters
    ----------
    tensor1, tensor2 : tensors or numbers
    """
    return spelled_dtype(promotion.common_dtype((tensor1, tensor2)))


def can_cast(from_: Any, to: Any) -> bool:
    """Return whether results of a dtype can be written into a tensor of another.

    Parameters
    ----------
    from_, to : the dtypes
    """
    kinds = promotion.CATEGORIES
    return kinds[numpy_dtype(from_).kind] <= kinds[numpy_dtype(to).kind]


class _OfAllGenerators(type):
    """The metaclass of a class that the library's own generators count as instances of."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, random.Generator)


class GeneratorOnDevice(random.Generator, metaclass=_OfAllGenerators):
    """A source of random numbers on a device.

    Parameters
    ----------
    device : ``"cpu"``; an int is a seed, as for `dispatchkit.random.Generator`

    Attributes
    ----------
    device : the processor

    Raises
    ------
    RuntimeError : for another device
    """

    device = device("cpu")

    def __init__(self, device: Any = None) -> None:
        seed = None
        if isinstance(device, int):
            seed = device
        elif device is not None and str(device).partition(":")[0] != "cpu":
            raise RuntimeError(f"Generator: device must be 'cpu', found {str(device)!r}")
        super().__init__(seed)

    def initial_seed(self) -> int:
        """Return the seed."""
        return int(self.seed)


def initial_seed() -> int:
    """Return the seed of the default generator."""
    return int(random.default_generator.seed)


def seed() -> int:
    """Seed the default generator anew, and return the seed."""
    return int(random.default_generator.manual_seed(None).seed)


def get_rng_state() -> Any:
    """Return where the default generator stands."""
    return random.default_generator.get_state()


def set_rng_state(new_state: Any) -> None:
    """Go on from where the default generator stood.

    Parameters
    ----------
    new_state : as `get_rng_state` gave it
    """
    random.default_generator.set_state(new_state)


class fork_rng:  # noqa: N801  # PyTorch's name
    """A block after which the default generator stands where it stood before.

    Parameters
    ----------
    devices, device_type : which say nothing here
    enabled : whether it does that
    """

    def __init__(self, devices: Any = None, enabled: bool = True, **options: Any) -> None:
        self.enabled = enabled

    def __enter__(self) -> fork_rng:
        self.state = random.default_generator.get_state()
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the block."""
        if self.enabled:
            random.default_generator.set_state(self.state)


def complex_draws(draw: Any, of_normal: bool) -> Any:
    """Return a function of random numbers that draws complex ones, too.

    Parameters
    ----------
    draw : the function
    of_normal : whether it draws normal numbers, of which real and imaginary parts have the variance 1/2 then
    """

    def drawn(*args: Any, dtype: Any = None, **options: Any) -> Any:
        kind = dtype
        if kind is None and args and table.is_array(args[0]):
            kind = args[0].dtype
        if kind is None or numpy_dtype(kind).kind != "c":
            return draw(*args, dtype=dtype, **options)
        part = "float64"
        if numpy_dtype(kind).itemsize == 8:
            part = "float32"
        requires_grad = options.pop("requires_grad", False)
        if args and table.is_array(args[0]):
            args = (xp.real(args[0].detach()), *args[1:])
        y = draw(*args, dtype=getattr(xp, part), **options) + 1j * draw(*args, dtype=getattr(xp, part), **options)
        if of_normal:
            y = y / 2**0.5
        y = Tensor(xp.astype(y, numpy_dtype(kind)))
        if requires_grad:
            y.requires_grad_()
        return y

    return drawn
