"""Weights that are computed before each call, `torch.nn.utils.weight_norm` and `spectral_norm`."""

from __future__ import annotations

from typing import Any

from dispatchkit import nn
from dispatchkit.as_torch.layers.lazy import is_lazy
from dispatchkit.as_torch.spelling import Tensor, adopt
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.graph.recording import no_grad


class _Before:
    """What is called before a module: it computes a weight.

    Parameters
    ----------
    name : of the weight
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, module: Any, inputs: Any) -> None:
        """Set the weight."""
        setattr(module, self.name, self.compute(module))

    def compute(self, module: Any) -> Any:
        """Return the weight."""
        raise NotImplementedError

    def leave(self, module: Any, *parts: str) -> None:
        """Make the weight a parameter, and take away what it is computed of."""
        value = self.compute(module).detach()
        delattr(module, self.name)
        for part in parts:
            delattr(module, part)
        module.register_parameter(self.name, adopt(nn.Parameter(value)))


class _Directed(_Before):
    """A weight of a length and a direction.

    Parameters
    ----------
    name : of the weight
    dim : the axis along which there is one length each, None for one of all
    """

    def __init__(self, name: str, dim: int | None) -> None:
        super().__init__(name)
        self.dim = dim

    def length(self, v: Any) -> Any:
        """Return the lengths of directions."""
        axes = None
        if self.dim is not None:
            axes = tuple(axis for axis in range(v.ndim) if axis != self.dim % v.ndim)
        return xp.sqrt(xp.sum(v * v, axis=axes, keepdims=self.dim is not None))

    def compute(self, module: Any) -> Any:
        """Return the weight."""
        v = getattr(module, f"{self.name}_v")
        return v * (getattr(module, f"{self.name}_g") / self.length(v))


class _OfSpectrum(_Before):
    """A weight over its largest singular value, by power iteration.

    Parameters
    ----------
    name : of the weight
    iterations, eps, dim : as of `spectral_norm`
    """

    def __init__(self, name: str, iterations: int, eps: float, dim: int) -> None:
        super().__init__(name)
        self.iterations, self.eps, self.dim = iterations, eps, dim

    def matrix(self, weight: Any) -> Any:
        """Return the weight as a matrix."""
        rows = xp.moveaxis(weight, self.dim, 0)
        return xp.reshape(rows, (rows.shape[0], -1))

    def unit(self, x: Any) -> Any:
        """Return a vector of length 1."""
        return x / xp.maximum(xp.linalg.vector_norm(x), self.eps)

    def compute(self, module: Any) -> Any:
        """Return the weight."""
        weight = getattr(module, f"{self.name}_orig")
        matrix, u, v = self.matrix(weight), getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        if module.training:
            with no_grad():
                held = matrix.detach()
                for _ in range(self.iterations):
                    v.copy_(self.unit(held.mT @ u))
                    u.copy_(self.unit(held @ v))
        return weight / (xp.clone(u) @ (matrix @ xp.clone(v)))


def _hooks(module: Any, kind: type, name: str) -> list[Any]:
    """Return the keys and hooks of a kind, for a weight of a name, that a module has."""
    return [handle for handle in module.__dict__.get("_reparametrized", []) if handle[0] is kind and handle[1] == name]


def _enter(module: Any, hook: Any) -> None:
    """Have a module call a hook first."""
    if _hooks(module, type(hook), hook.name):
        raise RuntimeError(f"Cannot register two {type(hook).__name__[1:]} hooks on the same parameter {hook.name}")
    handle = module.register_forward_pre_hook(hook)
    module.__dict__.setdefault("_reparametrized", []).append((type(hook), hook.name, hook, handle))


def _take(module: Any, kind: type, name: str, what: str) -> Any:
    """Return the hook of a kind, which is called no longer."""
    found = _hooks(module, kind, name)
    if not found:
        raise ValueError(f"{what} of '{name}' not found in {module}")
    module.__dict__["_reparametrized"].remove(found[0])
    found[0][3].remove()
    return found[0][2]


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Let a weight of a module be a direction times a length, both of which are learned.

    Parameters
    ----------
    module : the module, which is returned
    name : of the weight, in whose place come ``{name}_g`` and ``{name}_v``
    dim : the axis along which there is one length each, None for one of all

    Raises
    ------
    ValueError : if the weight has no elements yet

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> layer = torch.nn.utils.weight_norm(torch.nn.Linear(2, 3))
    >>> [(name, p.shape) for name, p in layer.named_parameters()]
    [('bias', torch.Size([3])), ('weight_g', torch.Size([3, 1])), ('weight_v', torch.Size([3, 2]))]
    """
    hook, weight = _Directed(name, dim), getattr(module, name)
    if is_lazy(weight):
        raise ValueError(
            "The module passed to `weight_norm` can't have uninitialized parameters. Make sure to run the dummy "
            "forward before applying weight normalization"
        )
    length = hook.length(weight.detach())
    delattr(module, name)
    module.register_parameter(f"{name}_g", adopt(nn.Parameter(Tensor(length))))
    module.register_parameter(f"{name}_v", adopt(nn.Parameter(Tensor(weight.detach()))))
    hook(module, ())
    _enter(module, hook)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Let a weight be a parameter again.

    Parameters
    ----------
    module : the module, which is returned
    name : of the weight
    """
    _take(module, _Directed, name, "weight_norm").leave(module, f"{name}_g", f"{name}_v")
    return module


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Let a weight of a module be divided by its largest singular value.

    Parameters
    ----------
    module : the module, which is returned
    name : of the weight, in whose place comes ``{name}_orig``
    n_power_iterations : steps towards the singular value at each call in training
    eps : least length of a vector
    dim : the axis of the outputs; 1 for transposed convolutions, 0 for others

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> layer = torch.nn.utils.spectral_norm(torch.nn.Linear(2, 2), n_power_iterations=50)
    >>> _ = layer(torch.ones(1, 2))
    >>> print(round(torch.linalg.matrix_norm(layer.weight.detach(), 2).item(), 6))
    1.0
    """
    if n_power_iterations <= 0:
        raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
    if dim is None:
        dim = int(isinstance(module, (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)))
    hook, weight = _OfSpectrum(name, n_power_iterations, eps, dim), getattr(module, name)
    matrix = hook.matrix(weight.detach())
    delattr(module, name)
    module.register_parameter(f"{name}_orig", adopt(nn.Parameter(Tensor(weight.detach()))))
    setattr(module, name, weight.detach())
    for ending, length in (("u", matrix.shape[0]), ("v", matrix.shape[1])):
        module.register_buffer(f"{name}_{ending}", hook.unit(Tensor(xp.empty(length, dtype=weight.dtype)).normal_()))
    _enter(module, hook)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Let a weight be a parameter again.

    Parameters
    ----------
    module : the module, which is returned
    name : of the weight
    """
    was_training = module.training
    module.training = False
    _take(module, _OfSpectrum, name, "spectral_norm").leave(module, f"{name}_orig", f"{name}_u", f"{name}_v")
    module.training = was_training
    return module
