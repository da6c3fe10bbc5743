"""Mixed precision and compilation as PyTorch spells them: what they can be where arrays are NumPy's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dispatchkit.as_torch.attributes.dtypes import spelled_dtype
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.graph.recording import no_grad

Call = Callable[..., Any]


class autocast:  # noqa: N801  # PyTorch's name
    """A block, or decorated function, in which PyTorch computes with fewer digits; here it computes as elsewhere.

    Parameters
    ----------
    device_type : a name such as ``"cpu"`` or ``"cuda"``
    dtype, cache_enabled : which say nothing here
    enabled : likewise

    Notes
    -----
    NumPy multiplies no matrices of float16 or bfloat16 faster than of float32, so that results keep the dtype of their
    arguments, and are at least as exact as PyTorch's.

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> with torch.autocast("cuda", dtype=torch.float32):
    ...     y = torch.ones(2, 2) @ torch.ones(2, 2)
    >>> y.dtype
    torch.float64
    """

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(  # noqa: TRY004  # PyTorch's
                f"autocast: device_type must be a name such as 'cpu', found {device_type!r}"
            )
        self.device, self.fast_dtype = device_type, dtype

    def __enter__(self) -> autocast:
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the block."""

    def __call__(self, function: Call) -> Call:
        """Return a function whose calls are such blocks, which is the function."""
        return function


class autocast_of(autocast):  # noqa: N801  # beside `autocast`
    """An `autocast` of one kind of device, as ``torch.cuda.amp`` has it.

    Parameters
    ----------
    enabled, dtype, cache_enabled : as of `autocast`
    """

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)


def custom_fwd(fwd: Any = None, *, device_type: str = "cuda", cast_inputs: Any = None) -> Any:
    """Return a `forward` of an autograd function as it is."""
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    return fwd


def custom_bwd(bwd: Any = None, *, device_type: str = "cuda") -> Any:
    """Return a `backward` of an autograd function as it is."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)
    return bwd


class GradScaler:
    """A factor of losses, so that gradients of few digits do not vanish; of one for CUDA, which is not here, 1.

    Parameters
    ----------
    device : kind of device: ``"cpu"`` scales, all others leave losses and gradients as they are
    init_scale : the factor to begin with
    growth_factor, backoff_factor : by what it is multiplied after `growth_interval` steps with finite gradients, and
        after one without
    growth_interval : number of steps
    enabled : whether it scales

    Notes
    -----
    Source: PyTorch, `torch.amp.GradScaler`.

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    >>> scaler.scale(torch.tensor(0.5))
    tensor(2.)
    >>> torch.amp.GradScaler("cuda").is_enabled()
    False
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if growth_factor <= 1:
            raise ValueError(f"GradScaler: growth_factor must be greater than 1, found {growth_factor}")
        if backoff_factor >= 1:
            raise ValueError(f"GradScaler: backoff_factor must be less than 1, found {backoff_factor}")
        self._enabled = bool(enabled) and str(device).partition(":")[0] == "cpu"
        self._scale, self._steps = float(init_scale), 0
        self._growth, self._backoff, self._interval = growth_factor, backoff_factor, growth_interval
        self._finite: dict[int, bool] = {}  # of the optimisers whose gradients are divided already

    def is_enabled(self) -> bool:
        """Return whether it scales."""
        return self._enabled

    def scale(self, outputs: Any) -> Any:
        """Return a loss, or each of several, times the factor."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(map(self.scale, outputs))
        return outputs * self._scale

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimiser's parameters by the factor.

        Parameters
        ----------
        optimizer : the optimiser

        Raises
        ------
        RuntimeError : if that was done already since `update`
        """
        if not self._enabled:
            return
        if id(optimizer) in self._finite:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        finite = True
        with no_grad():
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        parameter.grad = parameter.grad * (1.0 / self._scale)
                        finite = finite and bool(xp.all(xp.isfinite(parameter.grad)))
        self._finite[id(optimizer)] = finite

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Let an optimiser take a step, with gradients divided by the factor, unless one of these is not finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        if id(optimizer) not in self._finite:
            self.unscale_(optimizer)
        if self._finite[id(optimizer)]:
            return optimizer.step(*args, **kwargs)
        return None

    def update(self, new_scale: Any = None) -> None:
        """Choose the factor of the next steps.

        Parameters
        ----------
        new_scale : the factor; by default it grows after many finite steps, and becomes less after others

        Raises
        ------
        RuntimeError : if no gradients were divided since the last time
        """
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not self._finite:
            raise RuntimeError("No inf checks were recorded prior to update.")
        elif not all(self._finite.values()):
            self._scale, self._steps = self._scale * self._backoff, 0
        else:
            self._steps += 1
            if self._steps == self._interval:
                self._scale, self._steps = self._scale * self._growth, 0
        self._finite = {}

    def get_scale(self) -> float:
        """Return the factor."""
        if self._enabled:
            return self._scale
        return 1.0

    def get_growth_factor(self) -> float:
        """Return by what the factor grows."""
        return self._growth

    def get_backoff_factor(self) -> float:
        """Return by what the factor is multiplied after a step that is not finite."""
        return self._backoff

    def get_growth_interval(self) -> int:
        """Return after how many steps the factor grows."""
        return self._interval

    def state_dict(self) -> dict[str, Any]:
        """Return the factor and how it changes, nothing of one that does not scale."""
        if not self._enabled:
            return {}
        names = ("scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker")
        return dict(zip(names, (self._scale, self._growth, self._backoff, self._interval, self._steps), strict=True))

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave.

        Parameters
        ----------
        state_dict : the dictionary

        Raises
        ------
        RuntimeError : if it is empty, as of one that does not scale
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._scale, self._steps = float(state_dict["scale"]), int(state_dict["_growth_tracker"])
        self._growth, self._backoff = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._interval = state_dict["growth_interval"]


class scaler_of(GradScaler):  # noqa: N801  # beside `GradScaler`
    """A `GradScaler` as ``torch.cuda.amp`` has it, which leaves losses as they are.

    Parameters
    ----------
    init_scale, growth_factor, backoff_factor, growth_interval, enabled : as of `GradScaler`
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def compile_nothing(model: Any = None, **options: Any) -> Any:
    """Return a function or module as it is; without one, the decorator that does.

    Parameters
    ----------
    model : function or module
    **options : of `torch.compile`, which say nothing here

    Notes
    -----
    What PyTorch compiles computes what it did before, and so does this. `dispatchkit.compile` compiles whole steps of
    training, by JAX or PyTorch, where one of them is installed.
    """
    known = {"fullgraph", "dynamic", "backend", "mode", "options", "disable", "recompile_limit", "isolate_recompiles"}
    unknown = options.keys() - known
    if unknown:
        raise TypeError(f"compile: found the argument {min(unknown)!r}, takes {', '.join(sorted(known))}")
    if model is None:
        return functools.partial(compile_nothing, **options)
    if not callable(model):
        raise TypeError(f"compile: model must be a function or module, found {type(model).__name__}")
    return model


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Return False: nothing is computed with fewer digits than its arguments have."""
    return False


def is_autocast_available(device_type: str) -> bool:
    """Return whether blocks of `autocast` may be written for a kind of device, which they may for all."""
    return isinstance(device_type, str)


def get_autocast_dtype(device_type: str) -> Any:
    """Return the dtype in which blocks of `autocast` compute, the default one."""
    return spelled_dtype(xp.get_default_dtype())


# What is asked about `autocast` at the top of PyTorch.
OF_PRECISION: dict[str, Any] = {
    **{each.__name__: each for each in (is_autocast_enabled, get_autocast_dtype)},
    "is_autocast_cpu_enabled": is_autocast_enabled,
    "get_autocast_gpu_dtype": lambda: get_autocast_dtype("cuda"),
}
