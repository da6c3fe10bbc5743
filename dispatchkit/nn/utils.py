"""What works on the parameters of any module: averages, clipped gradients, one vector, other tensors in their place."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dispatchkit.declare.namespace import make_home, tensor_namespace
from dispatchkit.declare.variables import items_of
from dispatchkit.declare.wrapping import holds
from dispatchkit.graph.recording import no_grad
from dispatchkit.graph.storage import Storage
from dispatchkit.nn.averaging import (
    AveragedModel,
    get_ema_avg_fn,
    get_ema_multi_avg_fn,
    get_swa_avg_fn,
    get_swa_multi_avg_fn,
    update_bn,
)
from dispatchkit.nn.module import Module
from dispatchkit.nn.parameter import is_declared, tensors_of
from dispatchkit.tensor import Tensor
from dispatchkit.tree import rebuilt_if_changed
from dispatchkit.wording import class_name

__all__ = [
    "AveragedModel",
    "clip_grad_norm_",
    "clip_grad_value_",
    "functional_call",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "parameters_to_vector",
    "update_bn",
    "vector_to_parameters",
]


def clip_grad_norm_(
    parameters: Iterable[Any] | Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """Scale the gradients of parameters, in place, so that the norm of all together has a bound.

    Parameters
    ----------
    parameters : iterable of tensors or array types that hold some, or one; those without gradient are left out
    max_norm : the bound
    norm_type : of the norm, ``float("inf")`` for the largest absolute value
    error_if_nonfinite : whether a norm that is infinite or no number raises

    Returns
    -------
    Tensor
        The norm before scaling, of shape ().

    Raises
    ------
    RuntimeError : if the norm is infinite or no number, and that is an error; nothing is scaled then
    ValueError : for a negative bound
    TypeError : if one of `parameters` is neither a tensor nor holds some

    Notes
    -----
    The factor is ``max_norm / (norm + 1e-6)`` where that is less than 1. Source: PyTorch,
    `torch.nn.utils.clip_grad_norm_`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> p = dk.nn.Parameter(dk.tensor([3.0, 4.0]))
    >>> (p * p / 2).sum().backward()
    >>> dk.nn.utils.clip_grad_norm_([p], max_norm=1.0)
    tensor(5.)
    >>> p.grad
    tensor([0.6000, 0.8000])
    """
    grads = grads_of("clip_grad_norm_", parameters)
    _check_bound("clip_grad_norm_", "max_norm", max_norm)
    total = norm_of_all("clip_grad_norm_", grads, norm_type, error_if_nonfinite)
    scale_to_norm(grads, max_norm, total)
    return total


def norm_of_all(name: str, tensors: Sequence[Any], norm_type: float, error_if_nonfinite: bool) -> Tensor:
    """Return the norm of all tensors together, 0 where there are none.

    Parameters
    ----------
    name : of the function that asks, for the message
    tensors, norm_type, error_if_nonfinite : as of `clip_grad_norm_`
    """
    xp = tensor_namespace
    with no_grad():
        norms = [xp.linalg.vector_norm(x, ord=norm_type) for x in tensors]
        total: Tensor = xp.zeros(())
        if norms:
            total = xp.linalg.vector_norm(xp.stack(norms), ord=norm_type)
    if error_if_nonfinite and not holds(xp.isfinite(total), traced=True):
        raise RuntimeError(
            f"{name}: the total norm of order {norm_type} for gradients from `parameters` is non-finite, "
            f"so it cannot be clipped. To disable this error and scale the gradients by the non-finite norm "
            f"anyway, set `error_if_nonfinite=False`"
        )
    return total


def scale_to_norm(grads: Sequence[Any], max_norm: float, total: Any) -> None:
    """Scale gradients whose norm is known, in place, so that it has a bound."""
    xp = tensor_namespace
    with no_grad():
        factor = max_norm / (total + 1e-6)
        if not holds(factor >= 1):
            for g in grads:
                g.mul_(xp.astype(xp.minimum(factor, 1.0), g.dtype))


def clip_grad_value_(parameters: Iterable[Any] | Any, clip_value: float) -> None:
    """Bring the elements of gradients, in place, to the nearest number between two bounds.

    Parameters
    ----------
    parameters : iterable of tensors or array types that hold some, or one; those without gradient are left out
    clip_value : the bounds are ``-clip_value`` and ``clip_value``

    Raises
    ------
    ValueError : for a negative bound
    TypeError : if one of `parameters` is neither a tensor nor holds some

    Notes
    -----
    Source: PyTorch, `torch.nn.utils.clip_grad_value_`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> p = dk.nn.Parameter(dk.tensor([3.0, -4.0]))
    >>> (p * p / 2).sum().backward()
    >>> dk.nn.utils.clip_grad_value_(p, 1.0)
    >>> p.grad
    tensor([ 1., -1.])
    """
    grads = grads_of("clip_grad_value_", parameters)
    _check_bound("clip_grad_value_", "clip_value", clip_value)
    with no_grad():
        for g in grads:
            g.clip_(-clip_value, clip_value)


def grads_of(name: str, parameters: Any) -> list[Any]:
    """Return the gradients of parameters, of those that have one."""
    return [p.grad for p in tensors_of(name, parameters) if p.grad is not None]


def _check_bound(name: str, argument: str, bound: float) -> None:
    if not bound >= 0:
        raise ValueError(f"{name}: {argument} is {bound}; it must be a number that is not negative")


def parameters_to_vector(parameters: Iterable[Any]) -> Tensor:
    """Return the elements of parameters one after the other in one vector; gradients flow through it.

    Parameters
    ----------
    parameters : iterable of tensors or array types that hold some

    Returns
    -------
    Tensor
        The vector, whose length is the number of elements of all parameters.

    Raises
    ------
    TypeError : if one of `parameters` is neither a tensor nor holds some
    ValueError : if there are none

    Notes
    -----
    Source: PyTorch, `torch.nn.utils.parameters_to_vector`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.utils.parameters_to_vector([dk.ones((2, 1)), dk.zeros(1)])
    tensor([1., 1., 0.])
    """
    tensors = tensors_of("parameters_to_vector", parameters)
    if not tensors:
        raise ValueError("parameters_to_vector: there are no parameters")
    return tensor_namespace.concat([x.reshape(-1) for x in tensors])  # type: ignore[no-any-return]  # a tensor


def vector_to_parameters(vec: Tensor, parameters: Iterable[Any]) -> None:
    """Give parameters the elements of a vector, whose memory they share from then on.

    Parameters
    ----------
    vec : tensor of shape (n,), as long as all parameters together
    parameters : iterable of tensors or array types that hold some

    Raises
    ------
    TypeError : if `vec` is no tensor, or one of `parameters` neither is one nor holds some
    ValueError : if the vector has another shape; nothing has been changed then

    Notes
    -----
    Source: PyTorch, `torch.nn.utils.vector_to_parameters`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> p = dk.nn.Parameter(dk.zeros((2, 1)))
    >>> dk.nn.utils.vector_to_parameters(dk.tensor([1.0, 2.0]), [p])
    >>> p.tolist()
    [[1.0], [2.0]]
    """
    tensors = tensors_of("vector_to_parameters", parameters)
    if not isinstance(vec, Tensor):
        raise TypeError(f"vector_to_parameters: expected a tensor, found a {class_name(type(vec))}")
    wanted = sum(x.size for x in tensors)
    if vec.shape != (wanted,):
        raise ValueError(f"vector_to_parameters: the vector has shape {vec.shape}, the parameters {wanted} elements")
    place = 0
    for x in tensors:
        x.data = vec.detach()[place : place + x.size].reshape(x.shape)
        place += x.size


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors in the places of its parameters and buffers.

    Parameters
    ----------
    module : to call; it is as before afterwards
    parameter_and_buffer_dicts : tensors by the names that `named_parameters` and `named_buffers` give, in one
        dictionary or several; what they leave out keeps its value. A parameter or buffer that is an array type can also
        be given as a whole, under the name of its attribute: ``weight`` in place of ``weight.value``
    args : of the call, a tuple or the only one
    kwargs : keywords of the call
    tie_weights : whether a tensor that stands in several places is replaced in all of them
    strict : whether the dictionaries must have the names of all parameters and buffers, and no others; with
        `tie_weights` one name is enough for a tensor that stands in several places

    Returns
    -------
    Any
        The output of the module.

    Raises
    ------
    RuntimeError : with `strict`, if a name is missing or unexpected
    ValueError : if a name is in two dictionaries, an array type is given both as a whole and by a tensor inside, or a
        tensor that stands in several places is given several values
    TypeError : if what is given is no dictionary

    Warns
    -----
    UserWarning : without `strict`, if a name is that of no parameter or buffer

    Notes
    -----
    The module must not be called in another thread meanwhile. Source: PyTorch, `torch.func.functional_call`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> class Line(dk.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.slope = dk.nn.Parameter(dk.tensor(2.0))
    ...
    ...     def forward(self, x):
    ...         return self.slope * x
    >>> line = Line()
    >>> def loss(parameters, x):
    ...     return dk.nn.utils.functional_call(line, parameters, (x,)).sum()
    >>> dk.func.grad(loss)({"slope": dk.tensor(3.0)}, dk.tensor([1.0, 2.0]))
    {'slope': tensor(3.)}
    """
    replacements = _join(parameter_and_buffer_dicts)
    known = dict(node for _, _, full, value in _members(module) for node in _nodes(full, value))
    _check_names(module, known, replacements, strict, tie_weights)
    replacements = {name: value for name, value in replacements.items() if name in known}
    if tie_weights:
        replacements = _with_tied(known, replacements)
    before = _replace(module, replacements)
    try:
        arguments: tuple[Any, ...] = ()
        if isinstance(args, tuple):
            arguments = args
        elif args is not None:
            arguments = (args,)
        return module(*arguments, **(kwargs or {}))
    finally:
        for attributes, name, value in before:
            attributes[name] = value


def _join(dictionaries: Any) -> dict[str, Any]:
    """Return the tensors of all dictionaries in one."""
    joined: dict[str, Any] = {}
    if not isinstance(dictionaries, (list, tuple)):
        dictionaries = [dictionaries]
    for dictionary in dictionaries:
        if not isinstance(dictionary, Mapping):
            raise TypeError(
                f"functional_call: expected dictionaries of tensors by name, found a {type(dictionary).__name__}"
            )
        twice = sorted(joined.keys() & dictionary.keys())
        if twice:
            raise ValueError(f"functional_call: {', '.join(map(repr, twice))} appeared in multiple dictionaries")
        joined.update(dictionary)
    return joined


def _members(module: Module) -> Iterator[tuple[dict[str, Any], str, str, Any]]:
    """Yield the parameters and buffers of all modules: attributes that hold it, its name there, its path, it itself."""
    for path, part in module.named_modules(remove_duplicate=False):
        for name, value in [*part._parameters.items(), *part._buffers.items()]:
            full_name = name
            if path:
                full_name = f"{path}.{name}"
            yield vars(part), name, full_name, value


def _nodes(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield an array type and the array types and tensors inside with their names, a tensor itself."""
    if isinstance(value, Storage) or is_declared(value):
        yield name, value
    if is_declared(value):
        for key, part in items_of(value) or ():
            yield from _nodes(f"{name}.{key}", part)


def _check_names(
    module: Module, known: Mapping[str, Any], replacements: Mapping[str, Any], strict: bool, tie_weights: bool
) -> None:
    unexpected = sorted(replacements.keys() - known.keys())
    if strict:
        needed = dict([*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)])
        tied: set[Any] = set()
        if tie_weights:
            named = replacements.keys() & known.keys()
            tied = {_identity(part) for name in named for _, part in _nodes(name, known[name])}
        missing = sorted(
            name for name, x in needed.items() if _given_as(name, replacements) is None and _identity(x) not in tied
        )
        if missing or unexpected:
            raise RuntimeError(
                f"functional_call: the names do not match those of {type(module).__name__}: "
                f"missing: {', '.join(missing) or 'none'}; unexpected: {', '.join(unexpected) or 'none'}"
            )
    if unexpected:
        warnings.warn(
            f"functional_call: {type(module).__name__} has no parameter or buffer named "
            f"{', '.join(map(repr, unexpected))}; what is given for it is not used",
            stacklevel=3,
        )
    for name in replacements:
        whole = _given_as(name.rpartition(".")[0], replacements)
        if whole is not None and whole in known:
            raise ValueError(f"functional_call: {name!r} is a part of {whole!r}; give one of the two")


def _given_as(name: str, replacements: Mapping[str, Any]) -> str | None:
    """Return the name under which a tensor is given, its own or that of what it is a part of."""
    while name and name not in replacements:
        name = name.rpartition(".")[0]
    return name or None


def _with_tied(known: Mapping[str, Any], replacements: Mapping[str, Any]) -> dict[str, Any]:
    """Return the replacements under the names of all places that hold the same tensors."""
    places: dict[Any, list[str]] = {}
    for name, x in known.items():
        places.setdefault(_identity(x), []).append(name)
    sources: dict[str, str] = {}
    for name in replacements:
        for place in places[_identity(known[name])]:
            _check_same(replacements, sources.setdefault(place, name), name)
    for place, name in sources.items():
        whole = _given_as(place.rpartition(".")[0], sources)
        if whole is not None:
            _check_same(replacements, sources[whole], name)
    return {place: replacements[name] for place, name in sources.items()}


def _check_same(replacements: Mapping[str, Any], first: str, second: str) -> None:
    if replacements[first] is not replacements[second]:
        raise ValueError(
            f"functional_call: got multiple values for {first!r} and {second!r}, which are tied. Consider using "
            f"tie_weights=False"
        )


def _identity(x: Any) -> Any:
    """Return what two places that hold the same tensors have in common."""
    if isinstance(x, Storage):
        return id(x)
    return (type(x), *(id(part) for _, part in _nodes("", x) if part is not x))


def _replace(module: Module, replacements: Mapping[str, Any]) -> list[tuple[dict[str, Any], str, Any]]:
    """Put replacements in the places of their names, and return what puts back those that were there."""
    before: list[tuple[dict[str, Any], str, Any]] = []
    for attributes, name, full, value in _members(module):
        result = _replacement(replacements, full, value)
        if result is not value:
            before.append((attributes, name, value))
            attributes[name] = result
    # A module in several places was changed several times: what was first is put back last.
    return before[::-1]


def _replacement(replacements: Mapping[str, Any], name: str, value: Any) -> Any:
    """Return what takes the place of a parameter or buffer, itself where nothing in it is replaced."""
    if name in replacements:
        return replacements[name]
    items = None
    if is_declared(value):
        items = items_of(value)
    parts = [(key, _replacement(replacements, f"{name}.{key}", part)) for key, part in items or ()]
    if items:
        return rebuilt_if_changed(value, items, parts)
    return value


make_home(__name__)
