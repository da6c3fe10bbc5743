"""Weights of which elements or channels are left out, `torch.nn.utils.prune`."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

from dispatchkit import nn
from dispatchkit.as_torch.spelling import FUNCTIONS, Tensor
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.marks import override
from dispatchkit.nn.hooks import BEFORE

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


class BasePruningMethod:
    """What chooses the elements of a weight that are left out; a subclass writes `compute_mask`.

    Of a weight ``w`` that is pruned, the module has the parameter ``w_orig``, the buffer ``w_mask``, and as ``w`` the
    product of both, which is computed anew before each call.

    Attributes
    ----------
    PRUNING_TYPE : ``"unstructured"`` for elements, ``"structured"`` for channels along the axis `dim`, ``"global"``
        where a mask is of the whole weight

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> prune = torch.nn.utils.prune
    >>> class OddOnes(prune.BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...
    ...     def compute_mask(self, t, default_mask):
    ...         mask = default_mask.clone()
    ...         mask.view(-1)[1::2] = 0
    ...         return mask
    >>> layer = torch.nn.Linear(2, 2)
    >>> _ = OddOnes.apply(layer, "weight")
    >>> layer.weight_mask
    tensor([[1., 0.],
            [1., 0.]])
    """

    PRUNING_TYPE = "unstructured"
    _tensor_name: Any = None

    def __call__(self, module: Any, inputs: Any) -> None:
        """Set the weight of a module."""
        setattr(module, self._tensor_name, self.apply_mask(module))

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return the mask of a tensor, 1 where elements are kept.

        Parameters
        ----------
        t : whose elements say how important those of the weight are
        default_mask : of what has been left out before

        Raises
        ------
        NotImplementedError : where a subclass has not written it
        """
        raise NotImplementedError(f"{type(self).__name__} must define compute_mask(t, default_mask)")

    def apply_mask(self, module: Any) -> Any:
        """Return the weight of a module with zeros for what is left out."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        original = getattr(module, f"{self._tensor_name}_orig")
        return getattr(module, f"{self._tensor_name}_mask").to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any) -> Any:
        """Leave out elements of a weight of a module, besides those that are left out already.

        Parameters
        ----------
        module, name : the module, and the name of the weight
        *args, **kwargs : of the class
        importance_scores : tensor of the shape of the weight that is looked at in its place

        Returns
        -------
        BasePruningMethod
            What is called before the module: of a weight that was pruned before, a `PruningContainer`.
        """
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        original = getattr(module, name)
        scores = _scores(importance_scores, original, f"parameter {name} of {module}")
        before = _method_of(module, name)
        if before is None:
            mask = method.compute_mask(scores, default_mask=_ones_like(original))
            module.register_parameter(f"{name}_orig", original)
            del module._parameters[name]
        else:
            if not isinstance(before, PruningContainer):
                before = PruningContainer(before)
            before.add_pruning_method(method)
            method = before
            default = getattr(module, f"{name}_mask").detach().clone()
            _take(module, name)
            mask = method.compute_mask(scores, default_mask=default)
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Any:
        """Return a tensor with zeros for the elements that this leaves out.

        Parameters
        ----------
        t : the tensor
        default_mask : of what has been left out before
        importance_scores : tensor of its shape that is looked at in its place
        """
        scores = _scores(importance_scores, t, "tensor t")
        if default_mask is None:
            default_mask = _ones_like(t)
        return t * self.compute_mask(scores, default_mask=default_mask)

    def remove(self, module: Any) -> None:
        """Make the weight of a module a parameter again, which has zeros for what was left out."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        weight, original = self.apply_mask(module), module._parameters[f"{name}_orig"]
        if hasattr(module, name):
            delattr(module, name)
        original.data = weight.detach()
        del module._parameters[f"{name}_orig"]
        del module._buffers[f"{name}_mask"]
        setattr(module, name, original)


def _ones_like(t: Any) -> Any:
    return FUNCTIONS["ones_like"](t.detach())


def _scores(scores: Any, t: Any, name: str) -> Any:
    """Return what is looked at to choose elements of a tensor, which is of its shape."""
    if scores is None:
        return t
    if scores.shape != t.shape:
        raise AssertionError(f"importance_scores should have the same shape as {name}, got {scores.shape} vs {t.shape}")
    return scores


def _hooks_of(module: Any) -> dict[int, BasePruningMethod]:
    """Return what prunes weights of a module, by the keys of its hooks."""
    hooks = {key: hook.function for key, hook in module._hooks.get(BEFORE, {}).items()}
    return {key: hook for key, hook in hooks.items() if isinstance(hook, BasePruningMethod)}


def _method_of(module: Any, name: str) -> Any:
    """Return what prunes a weight of a module, None if it is not pruned."""
    return next((hook for hook in _hooks_of(module).values() if hook._tensor_name == name), None)


def _take(module: Any, name: str) -> None:
    """Let what prunes a weight of a module be called no longer."""
    for key, hook in _hooks_of(module).items():
        if hook._tensor_name == name:
            del module._hooks[BEFORE][key]


class PruningContainer(BasePruningMethod):
    """Several of them for one weight, one after the other, each of which leaves out more.

    Parameters
    ----------
    *args : the methods
    """

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add another one for the same weight.

        Raises
        ------
        TypeError : for anything else
        ValueError : for one of another weight
        """
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to PruningContainer "
                f"{self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    @override
    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return the mask with what the last method leaves out of the elements that are there."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype).clone()
        if method.PRUNING_TYPE == "unstructured":
            key: Any = default_mask == 1
        elif method.PRUNING_TYPE == "structured":
            key = _channels_left(method, default_mask)
        elif method.PRUNING_TYPE == "global":
            key = (slice(None),) * t.ndim
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        part = method.compute_mask(t[key], default_mask=default_mask[key])
        mask[key] = part.to(dtype=mask.dtype)
        return mask


def _channels_left(method: Any, mask: Any) -> tuple[Any, ...]:
    """Return the key of the channels of which a mask keeps an element."""
    if not hasattr(method, "dim"):
        raise AttributeError('Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.')
    axis = method.dim + mask.ndim * (method.dim < 0)
    if axis < 0:
        raise IndexError(f"Index is out of bounds for tensor with dimensions {mask.ndim}")
    kept = xp.sum(mask, axis=tuple(other for other in range(mask.ndim) if other != axis)) != 0
    return (*(slice(None),) * axis, kept, *(slice(None),) * (mask.ndim - axis - 1))


class _Keeping(BasePruningMethod):
    """Leaves out nothing, so that a mask is there to be set."""

    @override
    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return the mask that is there."""
        return default_mask


# A layer has this name, too.
Identity: Any = type("Identity", (_Keeping,), {"__doc__": _Keeping.__doc__})


class _OfAmount(BasePruningMethod):
    """Leaves out a number of elements or channels.

    Parameters
    ----------
    amount : how many, or as a fraction which part

    Raises
    ------
    TypeError, ValueError : for what is no number, a negative one, or a fraction above 1
    """

    def __init__(self, amount: Any) -> None:
        if not isinstance(amount, Real):
            raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
        number: Any = amount
        if number < 0 or (not isinstance(amount, Integral) and number > 1):
            raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")
        self.amount = number

    def count(self, length: int) -> int:
        """Return how many of so many are left out."""
        amount = self.amount
        if not isinstance(amount, Integral):
            return round(float(amount) * length)
        count = int(amount)
        if count > length:
            raise ValueError(f"amount={count} should be smaller than the number of parameters to prune={length}")
        return count


class _Unstructured(_OfAmount):
    """Leaves out the elements that have the smallest scores."""

    def scores(self, t: Any) -> Any:
        """Return the score of each element."""
        raise NotImplementedError

    @override
    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return the mask without the elements of the smallest scores."""
        count, mask = self.count(t.numel()), default_mask.clone()
        if count:
            places = FUNCTIONS["topk"](self.scores(t.detach()).reshape(-1), count, largest=False).indices
            mask.view(-1)[places] = 0
        return mask


class RandomUnstructured(_Unstructured):
    """Leaves out elements at random.

    Parameters
    ----------
    amount : how many elements, or as a fraction which part
    """

    @override
    def scores(self, t: Any) -> Any:
        """Return random numbers."""
        return FUNCTIONS["rand_like"](t)


class L1Unstructured(_Unstructured):
    """Leaves out the elements of the least absolute values.

    Parameters
    ----------
    amount : how many elements, or as a fraction which part
    """

    @override
    def scores(self, t: Any) -> Any:
        """Return absolute values."""
        return t.abs()


class _Structured(_OfAmount):
    """Leaves out the channels that have the smallest scores."""

    PRUNING_TYPE = "structured"
    dim: int = -1

    def scores(self, t: Any) -> Any:
        """Return the score of each channel."""
        raise NotImplementedError

    @override
    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return the mask without the channels of the smallest scores."""
        if t.ndim <= 1:
            raise ValueError(
                f"Structured pruning can only be applied to multidimensional tensors. Found tensor of shape {t.shape} "
                f"with {t.ndim} dims"
            )
        if self.dim >= t.ndim:
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        length = t.shape[self.dim]
        count = self.count(length)
        if not count:
            return default_mask
        places = FUNCTIONS["topk"](self.scores(t.detach()), length - count).indices
        mask = FUNCTIONS["zeros_like"](t.detach())
        mask[(*(slice(None),) * (self.dim % t.ndim), places)] = 1
        return mask * default_mask.to(dtype=mask.dtype)


class RandomStructured(_Structured):
    """Leaves out channels at random.

    Parameters
    ----------
    amount : how many channels, or as a fraction which part
    dim : their axis
    """

    def __init__(self, amount: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    @override
    def scores(self, t: Any) -> Any:
        """Return random numbers."""
        return FUNCTIONS["rand"](t.shape[self.dim])


class LnStructured(_Structured):
    """Leaves out the channels of the least norms.

    Parameters
    ----------
    amount : how many channels, or as a fraction which part
    n : of the norm, as of `torch.norm`
    dim : their axis
    """

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.n, self.dim = n, dim

    @override
    def scores(self, t: Any) -> Any:
        """Return norms."""
        axes = [axis for axis in range(t.ndim) if axis != self.dim % t.ndim]
        return FUNCTIONS["norm"](t, p=self.n, dim=axes)


class CustomFromMask(BasePruningMethod):
    """Leaves out what a mask says.

    Parameters
    ----------
    mask : tensor of the shape of the weight
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    @override
    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return what both masks keep."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module: Any, name: str) -> Any:
    """Give a weight of a module a mask that leaves out nothing.

    Parameters
    ----------
    module, name : the module, which is returned, and the name of the weight
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: Any) -> Any:
    """Leave out elements of a weight at random.

    Parameters
    ----------
    module, name : the module, which is returned, and the name of the weight
    amount : how many, or as a fraction which part
    """
    RandomUnstructured.apply(module, name, amount=amount)
    return module


def l1_unstructured(module: Any, name: str, amount: Any, importance_scores: Any = None) -> Any:
    """Leave out the elements of a weight that have the least absolute values.

    Parameters
    ----------
    module, name : the module, which is returned, and the name of the weight
    amount : how many, or as a fraction which part
    importance_scores : tensor of the shape of the weight that is looked at in its place

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> layer = torch.nn.Linear(2, 2)
    >>> layer.weight.data = torch.tensor([[1.0, -4.0], [3.0, 2.0]])
    >>> layer = torch.nn.utils.prune.l1_unstructured(layer, "weight", amount=0.5)
    >>> layer.weight.tolist()
    [[0.0, -4.0], [3.0, 0.0]]
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: Any, dim: int) -> Any:
    """Leave out channels of a weight at random.

    Parameters
    ----------
    module, name : the module, which is returned, and the name of the weight
    amount : how many, or as a fraction which part
    dim : the axis of the channels
    """
    RandomStructured.apply(module, name, amount=amount, dim=dim)
    return module


def ln_structured(module: Any, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None) -> Any:
    """Leave out the channels of a weight that have the least norms.

    Parameters
    ----------
    module, name : the module, which is returned, and the name of the weight
    amount : how many, or as a fraction which part
    n : of the norm, as of `torch.norm`
    dim : the axis of the channels
    importance_scores : tensor of the shape of the weight that is looked at in its place
    """
    LnStructured.apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)
    return module


def global_unstructured(parameters: Any, pruning_method: Any, importance_scores: Any = None, **kwargs: Any) -> None:
    """Leave out elements of several weights, chosen among those of all of them.

    Parameters
    ----------
    parameters : pairs of a module and the name of a weight
    pruning_method : a class such as `L1Unstructured`
    importance_scores : tensors that are looked at in the place of weights, by such pairs
    **kwargs : of the class

    Raises
    ------
    TypeError : for a class that leaves out whole channels

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> prune, (one, two) = torch.nn.utils.prune, (torch.nn.Linear(2, 1), torch.nn.Linear(2, 1))
    >>> one.weight.data, two.weight.data = torch.tensor([[4.0, 3.0]]), torch.tensor([[2.0, 1.0]])
    >>> prune.global_unstructured([(one, "weight"), (two, "weight")], prune.L1Unstructured, amount=2)
    >>> one.weight.tolist(), two.weight.tolist()
    ([[4.0, 3.0]], [[0.0, 0.0]])
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    importance_scores = {} if importance_scores is None else importance_scores
    if not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of '
            f"type {method.PRUNING_TYPE}"
        )
    pairs = list(parameters)
    weights = [getattr(module, name) for module, name in pairs]
    scores = [importance_scores.get(pair, weight) for pair, weight in zip(pairs, weights, strict=True)]
    masks = [
        getattr(module, f"{name}_mask", _ones_like(weight))
        for (module, name), weight in zip(pairs, weights, strict=True)
    ]
    container, together = PruningContainer(), nn.utils.parameters_to_vector
    container.add_pruning_method(method)
    mask = container.compute_mask(*(together(values).detach().as_subclass(Tensor) for values in (scores, masks)))
    start = 0
    for (module, name), weight in zip(pairs, weights, strict=True):
        custom_from_mask(module, name, mask=mask[start : start + weight.numel()].reshape(weight.shape))
        start += weight.numel()


def custom_from_mask(module: Any, name: str, mask: Any) -> Any:
    """Leave out the elements of a weight that a mask says.

    Parameters
    ----------
    module, name : the module, which is returned, and the name of the weight
    mask : tensor of the shape of the weight, 0 where elements are left out
    """
    CustomFromMask.apply(module, name, mask=mask)
    return module


def remove(module: Any, name: str) -> Any:
    """Make a weight that is pruned a parameter again, which has zeros for what was left out.

    Parameters
    ----------
    module, name : the module, which is returned, and the name of the weight

    Raises
    ------
    ValueError : if the weight is not pruned
    """
    method = _method_of(module, name)
    if method is None:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    method.remove(module)
    _take(module, name)
    return module


def is_pruned(module: Any) -> bool:
    """Return whether a weight of a module, or of one below it, is pruned."""
    return any(_hooks_of(part) for part in module.modules())
