"""Layers that learn the length of their inputs from the first one: `LazyLinear`, `LazyConv2d`, ..."""

from __future__ import annotations

import inspect
from typing import Any

from dispatchkit.as_torch.spelling import HOME, PARAMETER, Module, Tensor
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.graph.recording import no_grad
from dispatchkit.marks import override

# What may be done with a parameter that has no elements yet, by the names of operations.
ALLOWED = frozenset({"astype", "to_device", "clone", "copy"})


class _Uninitialized:
    """What has no elements yet."""

    __slots__ = ()
    cls_to_become: Any = None

    def materialize(self: Any, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Give it elements, whose values are not set.

        Parameters
        ----------
        shape : lengths of the axes, or of the only one
        device, dtype : its own if None
        """
        held = self.as_subclass(Tensor).detach()
        lengths = (shape,) if isinstance(shape, int) else tuple(shape)
        array = xp.empty(lengths, dtype=dtype or held.dtype, device=device or held.device)
        self.__class__ = self.cls_to_become
        self.data = array

    @property
    def shape(self) -> Any:
        """Lengths of the axes, which are not known yet."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call `forward` "
            "to initialize the parameters before accessing their attributes."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    @classmethod
    def __tensor_function__(cls, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        name = getattr(func, "__name__", str(func))
        if name in ALLOWED:
            return super().__tensor_function__(func, types, args, kwargs)  # type: ignore[misc]  # of the tensor
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {name}. This error happens when you are using a "
            f"`LazyModule` or explicitly manipulating `torch.nn.parameter.{cls.__name__}` objects. When using "
            "LazyModules Call `forward` with a dummy batch to initialize the parameters before calling torch functions"
        )


class UninitializedParameter(_Uninitialized, PARAMETER):  # type: ignore[misc, valid-type]  # a class
    """A parameter of a shape that is not known yet.

    Parameters
    ----------
    requires_grad : whether it gets a gradient
    device, dtype : of the elements
    """

    __module__ = f"{HOME}.nn.parameter"
    __dispatch_plain__ = False
    cls_to_become = PARAMETER

    def __init__(self, requires_grad: bool | None = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(xp.empty(0, dtype=dtype or xp.get_default_dtype(), device=device))
        # The class of parameters passes None where nothing is given.
        self.requires_grad_(requires_grad is not False)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return type(self)(self.requires_grad, dtype=self.dtype)


class UninitializedBuffer(_Uninitialized, Tensor):  # type: ignore[misc]  # which asks first
    """A buffer of a shape that is not known yet.

    Parameters
    ----------
    requires_grad : whether it gets a gradient
    device, dtype : of the elements
    persistent : whether it is part of the state that is saved
    """

    __module__ = f"{HOME}.nn.parameter"
    __dispatch_plain__ = False
    cls_to_become = Tensor

    def __init__(
        self, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> None:
        data = xp.empty(0, dtype=dtype or xp.get_default_dtype(), device=device)
        super().__init__(data, dtype=data.dtype, requires_grad=requires_grad)
        self.persistent = persistent  # type: ignore[assignment]  # of an `nn.Buffer`, a bool

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return type(self)(self.requires_grad, dtype=self.dtype)


def is_lazy(param: Any) -> bool:
    """Return whether a parameter or a buffer has no elements yet."""
    return isinstance(param, _Uninitialized)


class LazyModuleMixin(Module):
    """What lazy modules share: the first input gives their parameters shapes, and then they are ordinary ones.

    A class writes `initialize_parameters`, which is called with the first input.

    Attributes
    ----------
    cls_to_become : the class that a module is of from then on, its own if None
    """

    cls_to_become: Any = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        cls: Any = type(self)
        self._lazy_hooks = [
            self.register_forward_pre_hook(cls.before, with_kwargs=True),
            self.register_load_state_dict_pre_hook(_take_shapes),
        ]

    def has_uninitialized_params(self: Any) -> bool:
        """Return whether a parameter or a buffer has no elements yet."""
        held = [*self.__dict__["_parameter_names"], *self.__dict__["_buffer_names"]]
        return any(is_lazy(getattr(self, name)) for name in held)

    @override
    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for name, tensor in self._own_state():
            if is_lazy(tensor):
                destination[prefix + name] = tensor

    @override
    def _stays_when_loaded(self, tensor: Any, value: Any) -> bool:
        return is_lazy(tensor) and is_lazy(value)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters the shapes that an input asks for.

        Parameters
        ----------
        *args, **kwargs : the input
        """
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def before(self: Any, args: Any, kwargs: Any) -> None:
        """Become an ordinary module, at the first input."""
        self.initialize_parameters(*args, **kwargs)
        self.become_ordinary()

    def become_ordinary(self: Any) -> None:
        """Become an ordinary module."""
        if self.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        for handle in self._lazy_hooks:
            handle.remove()
        del self._lazy_hooks
        if type(self).cls_to_become is not None:
            self.__class__ = type(self).cls_to_become


class _LazyLayer(LazyModuleMixin):
    """A lazy form of a layer of the library, which is made with some length."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        signature = inspect.signature(self.cls_to_become)
        # Any length that the other arguments go with: convolutions want one that their groups divide.
        length = signature.bind(1, *args, **kwargs).arguments.get("groups", 1)
        super().__init__(length, *args, **kwargs)
        self._of_length = next(iter(signature.parameters))
        self.forget()

    def forget(self: Any) -> None:
        """Put in the place of parameters, and of the buffers of their lengths, what has no elements."""
        setattr(self, self._of_length, 0)
        for name, p in list(self.named_parameters(recurse=False)):
            setattr(self, name, UninitializedParameter(dtype=p.dtype))
        for name, buffer in list(self.named_buffers(recurse=False)):
            if buffer.ndim:
                setattr(self, name, UninitializedBuffer(dtype=buffer.dtype))

    def reset_parameters(self) -> None:
        """Draw the parameters anew, if they have elements."""
        if not self.has_uninitialized_params():
            super().reset_parameters()  # type: ignore[misc]  # of the layer

    @override
    def initialize_parameters(self: Any, x: Any) -> None:
        if not getattr(self, self._of_length):
            setattr(self, self._of_length, self.length_of(x))
        if self.has_uninitialized_params():
            for name, shape in self.shapes_by_length().items():
                held = getattr(self, name)
                if is_lazy(held):
                    held.materialize(shape)
            with no_grad():
                self.reset_parameters()

    @override
    def before(self: Any, args: Any, kwargs: Any) -> None:
        self.initialize_parameters(next(iter((*args, *kwargs.values()))))
        self.become_ordinary()

    @override
    def become_ordinary(self: Any) -> None:
        super().become_ordinary()
        del self._of_length

    def length_of(self: Any, x: Any) -> int:
        """Return the number of features or channels of an input."""
        return int(x.shape[1])

    def shapes_by_length(self: Any) -> dict[str, tuple[int, ...]]:
        """Return the shapes of parameters and buffers."""
        names = ("weight", "bias", "running_mean", "running_var")
        return {name: (self.num_features,) for name in names if getattr(self, name, None) is not None}


class _LazyLinear(_LazyLayer):
    @override
    def length_of(self: Any, x: Any) -> int:
        return int(x.shape[-1])

    @override
    def shapes_by_length(self: Any) -> dict[str, tuple[int, ...]]:
        return {"weight": (self.out_features, self.in_features), "bias": (self.out_features,)}


class _LazyConvolution(_LazyLayer):
    @override
    def length_of(self: Any, x: Any) -> int:
        if x.ndim not in (self.axes + 1, self.axes + 2):
            raise RuntimeError(
                f"Expected {self.axes + 1}D (unbatched) or {self.axes + 2}D (batched) input to {type(self).__name__}, "
                f"but got input of size: {x.shape}"
            )
        length = int(x.shape[-self.axes - 1])
        if length % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        return length

    @override
    def shapes_by_length(self: Any) -> dict[str, tuple[int, ...]]:
        return {"weight": (*self._channels(), *self.kernel_size), "bias": (self.out_channels,)}


class _LazyInstance(_LazyLayer):
    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(eps, momentum, affine, track_running_stats, device, dtype)


def _take_shapes(module: Any, state_dict: Any, prefix: str, *rest: Any) -> None:
    """Give parameters without elements the shapes of those that are loaded."""
    for name in (*module.__dict__["_parameter_names"], *module.__dict__["_buffer_names"]):
        held, loaded = getattr(module, name), state_dict.get(prefix + name)
        if is_lazy(held) and loaded is not None and not is_lazy(loaded):
            held.materialize(tuple(loaded.shape))


def lazy_layers(layers: dict[str, Any]) -> dict[str, Any]:
    """Return the lazy forms of layers by their names.

    Parameters
    ----------
    layers : by their names
    """
    kinds: dict[str, Any] = {"Linear": _LazyLinear}
    for axes in (1, 2, 3):
        kinds |= {f"Conv{axes}d": _LazyConvolution, f"ConvTranspose{axes}d": _LazyConvolution}
        kinds |= {f"BatchNorm{axes}d": _LazyLayer, f"InstanceNorm{axes}d": _LazyInstance}
    lazy = {}
    for name, kind in kinds.items():
        text = f"A layer that is a `{name}` after its first input, which says the length that is not given."
        members = {"__module__": f"{HOME}.nn", "__doc__": text, "cls_to_become": layers[name]}
        lazy[f"Lazy{name}"] = type(f"Lazy{name}", (kind, layers[name]), members)
    return lazy
