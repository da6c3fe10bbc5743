"""Weights that are functions of parameters: `torch.nn.utils.parametrize` and `torch.nn.utils.parametrizations`."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from dispatchkit import nn
from dispatchkit.as_torch.spelling import FUNCTIONS, HOME, Module, Tensor, adopt
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.graph.recording import no_grad
from dispatchkit.marks import override

ORTHOGONAL_MAPS = ("matrix_exp", "cayley", "householder")
# Of a module and the name of a weight what was computed, inside `cached`; None outside.
CACHE: dict[str, Any] = {"values": None, "depth": 0}


@contextmanager
def cached() -> Iterator[None]:
    """Compute each weight once inside a `with` block."""
    if not CACHE["depth"]:
        CACHE["values"] = {}
    CACHE["depth"] += 1
    try:
        yield
    finally:
        CACHE["depth"] -= 1
        if not CACHE["depth"]:
            CACHE["values"] = None


def _of_nn(name: str) -> Any:
    return getattr(sys.modules[f"{HOME}.nn"], name)


def _enter(module: Any, name: str, value: Any) -> None:
    """Give a module a parameter or a buffer."""
    if isinstance(value, nn.Parameter):
        module.register_parameter(name, value)
    else:
        module.register_buffer(name, value)


def _as(value: Any, original: Any) -> Any:
    """Return a value as a parameter if another one is."""
    if isinstance(original, nn.Parameter):
        return adopt(nn.Parameter(Tensor(value.detach()), requires_grad=original.requires_grad))
    return value.detach()


class ParametrizationList(Module):
    """The modules that a weight is computed by, one after the other, and what it is computed of.

    Parameters
    ----------
    modules : the functions, of which the first may take several tensors
    original : the weight before
    unsafe : whether dtype and shape of the weight may become others
    """

    __module__ = f"{HOME}.nn.utils.parametrize"

    def __init__(self, modules: Sequence[Any], original: Any, unsafe: bool = False) -> None:
        super().__init__()
        self.unsafe, parts = unsafe, original
        with no_grad():
            for module in reversed(modules):
                if hasattr(module, "right_inverse"):
                    try:
                        parts = module.right_inverse(parts)
                    except NotImplementedError:
                        continue
        self.is_tensor = not isinstance(parts, (tuple, list))
        self.ntensors = 1
        if self.is_tensor:
            if not isinstance(parts, Tensor):
                raise ValueError(
                    "The `right_inverse` must return a Tensor or a Sequence of tensors (list, tuple...), found "
                    f"{type(parts).__name__}"
                )
            if parts.dtype != original.dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {parts.dtype}"
                )
            if parts is not original:
                original.data = parts.detach()
            _enter(self, "original", original)
        else:
            self.ntensors = len(parts)
            for place, part in enumerate(parts):
                _enter(self, f"original{place}", _as(xp.clone(part), original))
        self.count = 0
        for module in modules:
            self.append(module)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, place: int) -> Any:
        return getattr(self, str(range(self.count)[place]))

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(self.count))

    def append(self, module: Any) -> None:
        """Add a function."""
        self.add_module(str(self.count), module)
        self.count += 1

    def originals(self) -> list[Any]:
        """Return what the weight is computed of."""
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{place}") for place in range(self.ntensors)]

    @override
    def forward(self) -> Any:
        """Compute the weight."""
        value = self[0](*self.originals())
        for module in list(self)[1:]:
            value = module(value)
        return value

    def right_inverse(self, value: Any) -> None:
        """Set what the weight is computed of, so that it is a value.

        Parameters
        ----------
        value : of the weight
        """
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            parts = [value]
            if not self.is_tensor:
                parts = list(value)
            if len(parts) != self.ntensors:
                raise ValueError(
                    f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. "
                    f"Got a sequence of length {len(parts)}."
                )
            held = self.originals()
            for part, original in zip(parts, held, strict=True):
                if part.dtype != original.dtype:
                    raise ValueError(
                        f"The tensor returned by `right_inverse` has dtype {part.dtype} while `original` has dtype "
                        f"{original.dtype}"
                    )
            for part, original in zip(parts, held, strict=True):
                original.data = xp.clone(part.detach())


def _weight_of(name: str) -> property:
    """Return the property that computes a weight."""

    def computed(self: Any) -> Any:
        values = CACHE["values"]
        if values is None:
            return self.parametrizations[name]()
        if (id(self), name) not in values:
            values[id(self), name] = self.parametrizations[name]()
        return values[id(self), name]

    def assigned(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(computed, assigned)


def _not_pickled(self: Any) -> Any:
    raise RuntimeError("Serialization of parametrized modules is only supported through state_dict().")


def _copied(self: Any, memo: dict[int, Any]) -> Any:
    """Return a copy, which has a class of its own."""
    replica = memo[id(self)] = object.__new__(type(self))
    replica.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return replica


def _assign(self: Any, name: str, value: Any) -> None:
    """Set an attribute; a weight that is computed by its property."""
    if isinstance(vars(type(self)).get(name), property):
        object.__setattr__(self, name, value)
    else:
        super(type(self), self).__setattr__(name, value)


def _check_same(name: str, before: Any, after: Any, text: str) -> None:
    """Raise where a weight became of another dtype or shape."""
    if not isinstance(after, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")  # noqa: TRY004  # as PyTorch
    for part in ("dtype", "shape"):
        if getattr(before, part) != getattr(after, part):
            raise ValueError(
                f"Registering a parametrization may not change the {part} of the tensor, unless `unsafe` flag is "
                f"enabled.\n{text}{part}: {getattr(before, part)}\nparametrized {part}: {getattr(after, part)}"
            )


def register_parametrization(module: Any, tensor_name: str, parametrization: Any, *, unsafe: bool = False) -> Any:
    """Let a weight of a module be computed by another module whenever it is read.

    Parameters
    ----------
    module : the module, which is returned
    tensor_name : of the weight, a parameter or a buffer
    parametrization : computes the weight; its `right_inverse`, if it has one, gives what a weight is computed of
    unsafe : whether dtype and shape of the weight may become others

    Raises
    ------
    ValueError : if there is no such weight, or it would become another one

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = torch.nn.Linear(3, 3)
    >>> _ = torch.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    >>> torch.equal(layer.weight, layer.weight.T), sorted(layer.state_dict())
    (True, ['bias', 'parametrizations.weight.original'])
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        before = getattr(module, tensor_name)
        if not unsafe:
            _check_same(tensor_name, before, parametrization(before), "unparametrized ")
        held = module.parametrizations[tensor_name]
        held.append(parametrization)
        held.unsafe |= unsafe
        return module
    if tensor_name not in {**module._parameter_names, **module._buffer_names}:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    original = getattr(module, tensor_name)
    before = original.detach()
    held = ParametrizationList([parametrization], original, unsafe=unsafe)
    if not unsafe:
        _check_same(tensor_name, before, held(), "unparametrized ")
    delattr(module, tensor_name)
    if not is_parametrized(module):
        members: dict[str, Any] = {"__getstate__": _not_pickled, "__deepcopy__": _copied, "__setattr__": _assign}
        members["__module__"] = type(module).__module__
        module.__class__ = type(f"Parametrized{type(module).__name__}", (type(module),), members)
        module.parametrizations = _of_nn("ModuleDict")()
    setattr(type(module), tensor_name, _weight_of(tensor_name))
    module.parametrizations[tensor_name] = held
    return module


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Return whether a weight of a module is computed, or any.

    Parameters
    ----------
    module : the module
    tensor_name : of the weight
    """
    held = module.__dict__.get("parametrizations")
    if not isinstance(held, nn.ModuleDict):
        return False
    if tensor_name is None:
        return len(held) > 0
    return tensor_name in held


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """Let a weight be a parameter again.

    Parameters
    ----------
    module : the module, which is returned
    tensor_name : of the weight
    leave_parametrized : whether it keeps its value, rather than become what it was computed of
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    held = module.parametrizations[tensor_name]
    if not held.is_tensor and not leave_parametrized:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    original = held.originals()[0]
    if leave_parametrized:
        with no_grad():
            value = xp.clone(getattr(module, tensor_name).detach())
        if held.is_tensor:
            original.data = value
        else:
            original = _as(value, original)
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if not len(module.parametrizations):
        module.__class__ = type(module).__bases__[0]
        del module.parametrizations
    _enter(module, tensor_name, original)
    return module


def type_before_parametrizations(module: Any) -> type:
    """Return the class that a module had before its weights were computed.

    Parameters
    ----------
    module : the module
    """
    if is_parametrized(module):
        return type(module).__bases__[0]
    return type(module)


class _WeightNorm(Module):
    def __init__(self, dim: int | None) -> None:
        super().__init__()
        self.dim = dim

    def length(self, v: Any) -> Any:
        if self.dim is None or self.dim == -1:
            return xp.sqrt(xp.sum(v * v))
        axes = tuple(axis for axis in range(v.ndim) if axis != self.dim % v.ndim)
        return xp.sqrt(xp.sum(v * v, axis=axes, keepdims=True))

    @override
    def forward(self, weight_g: Any, weight_v: Any) -> Any:
        return weight_v * (weight_g / self.length(weight_v))

    def right_inverse(self, weight: Any) -> Any:
        return self.length(weight), weight


class _SpectralNorm(Module):
    def __init__(self, weight: Any, n_power_iterations: int, dim: int, eps: float) -> None:
        super().__init__()
        if not -weight.ndim <= dim < weight.ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-weight.ndim}, {weight.ndim - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim, self.eps, self.n_power_iterations = dim % weight.ndim, eps, n_power_iterations
        if weight.ndim > 1:
            matrix = self.matrix(weight.detach())
            for name, length in zip(("_u", "_v"), matrix.shape, strict=True):
                self.register_buffer(name, self.unit(Tensor(xp.empty(length, dtype=weight.dtype)).normal_()))
            self.iterate(matrix, 15)

    def matrix(self, weight: Any) -> Any:
        rows = xp.moveaxis(weight, self.dim, 0)
        return xp.reshape(rows, (rows.shape[0], -1))

    def unit(self, x: Any) -> Any:
        return x / xp.maximum(xp.linalg.vector_norm(x), self.eps)

    def iterate(self, matrix: Any, times: int) -> None:
        with no_grad():
            held = matrix.detach()
            for _ in range(times):
                self._u.copy_(self.unit(held @ self._v))
                self._v.copy_(self.unit(xp.conj(held.mT) @ self._u))

    @override
    def forward(self, weight: Any) -> Any:
        if weight.ndim == 1:
            return self.unit(weight)
        matrix = self.matrix(weight)
        if self.training:
            self.iterate(matrix, self.n_power_iterations)
        return weight / (xp.conj(xp.clone(self._u)) @ (matrix @ xp.clone(self._v)))

    def right_inverse(self, value: Any) -> Any:
        return value


class _Orthogonal(Module):
    def __init__(self, weight: Any, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        if np.dtype(weight.dtype).kind == "c" and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map, self.is_based = tuple(weight.shape), orthogonal_map, use_trivialization
        if use_trivialization:
            self.register_buffer("base", None)

    @override
    def forward(self, x: Any) -> Any:
        is_wide = x.shape[-2] < x.shape[-1]
        if is_wide:
            x = xp.matrix_transpose(x)
        if self.orthogonal_map == "householder":
            below = xp.tril(x, k=-1)
            tau = 2.0 / (1.0 + xp.sum(below * below, axis=-2))
            y = FUNCTIONS["linalg.householder_product"](below, tau)
            y = y * xp.trunc(xp.linalg.diagonal(x).detach())[..., None, :]
        else:
            y = self.of_skew(x)
        if self.is_based:
            y = self.base @ y
        if is_wide:
            y = xp.matrix_transpose(y)
        return adopt(y)

    def of_skew(self, x: Any) -> Any:
        rows, columns = x.shape[-2:]
        below = xp.tril(x)
        if rows != columns:
            below = xp.concat([below, xp.zeros((*x.shape[:-1], rows - columns), dtype=x.dtype)], axis=-1)
        skew = below - xp.conj(xp.matrix_transpose(below))
        if self.orthogonal_map == "matrix_exp":
            y = FUNCTIONS["matrix_exp"](skew)
        else:
            unit = xp.eye(rows, dtype=x.dtype)
            y = xp.linalg.solve(unit - 0.5 * skew, unit + 0.5 * skew)
        return y[..., :columns]

    def right_inverse(self, value: Any) -> Any:
        if tuple(value.shape) != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {value.shape}."
            )
        q: Any = np.array(value.detach().array)
        is_wide = q.shape[-2] < q.shape[-1]
        if is_wide:
            q = np.swapaxes(q, -1, -2)
        rows, columns = q.shape[-2:]
        if not self.is_based:
            return self._reflections(q, is_wide)
        if rows != columns:
            more = Tensor(xp.empty((*q.shape[:-1], rows - columns), dtype=value.dtype)).normal_()
            q = _orthogonal(np.concatenate([q, np.asarray(more.array)], axis=-1))
        elif not np.allclose(np.conj(np.swapaxes(q, -1, -2)) @ q, np.eye(rows), atol=10 * rows * np.finfo(q.dtype).eps):
            q = _orthogonal(q)
        self.base = Tensor(xp.asarray(q))
        start = np.zeros(self.shape, dtype=q.dtype)
        for place in range(columns):
            start[..., place, place] = -1.0
        return Tensor(xp.asarray(start))

    def _reflections(self, q: Any, is_wide: bool) -> Any:
        """Return vectors of reflections below the diagonal, and signs on it."""
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                "use_trivialization=False."
            )
        raw, tau = np.linalg.qr(q, mode="raw")
        a = np.array(np.swapaxes(raw, -1, -2))
        for place in range(a.shape[-1]):
            sign = np.sign(a[..., place, place])
            a[..., place, place] = np.where(tau[..., place] == 0.0, -sign, sign)
        if is_wide:
            a = np.swapaxes(a, -1, -2)
        return Tensor(xp.asarray(np.ascontiguousarray(a)))


def _orthogonal(x: Any) -> Any:
    """Return orthogonal matrices near to others, whose factor R has a positive diagonal."""
    q, r = np.linalg.qr(x)
    diagonal = np.diagonal(r, axis1=-2, axis2=-1)
    return q * (diagonal / np.abs(diagonal))[..., None, :]


def _checked_weight(module: Any, name: str) -> Any:
    """Return a weight.

    Raises
    ------
    ValueError : if there is none of the name
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")  # noqa: TRY004  # as PyTorch
    return weight


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Let a weight of a module be a direction times a length, both of which are learned.

    Parameters
    ----------
    module : the module, which is returned
    name : of the weight
    dim : the axis along which there is one length each, None for one of all

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 3))
    >>> [(name, tuple(p.shape)) for name, p in layer.named_parameters()][1]
    ('parametrizations.weight.original0', (3, 1))
    """
    _checked_weight(module, name)
    module = register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def take_older(state: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Take what the older `torch.nn.utils.weight_norm` saved."""
        older = [f"{prefix}{name}_{ending}" for ending in ("g", "v")]
        if all(key in state for key in older):
            for place, key in enumerate(older):
                state[f"{prefix}parametrizations.{name}.original{place}"] = state.pop(key)

    module._register_load_state_dict_pre_hook(take_older)
    return module


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Let a weight of a module be divided by its largest singular value.

    Parameters
    ----------
    module : the module, which is returned
    name : of the weight
    n_power_iterations : steps towards the singular value at each call in training
    eps : least length of a vector
    dim : the axis of the outputs; 1 for transposed convolutions, 0 for others
    """
    weight = _checked_weight(module, name)
    if dim is None:
        dim = int(isinstance(module, (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)))
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


def orthogonal(
    module: Any, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Any:
    """Let a weight of a module be a matrix with orthonormal columns or rows.

    Parameters
    ----------
    module : the module, which is returned
    name : of the weight
    orthogonal_map : ``"matrix_exp"``, ``"cayley"`` or ``"householder"``
    use_trivialization : whether the weight at the start is a factor of all later ones
    """
    weight = _checked_weight(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        orthogonal_map = "householder"
        if weight.shape[-2] == weight.shape[-1] or np.dtype(weight.dtype).kind == "c":
            orthogonal_map = "matrix_exp"
    if orthogonal_map not in ORTHOGONAL_MAPS:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    return register_parametrization(module, name, _Orthogonal(weight, orthogonal_map, use_trivialization), unsafe=True)
