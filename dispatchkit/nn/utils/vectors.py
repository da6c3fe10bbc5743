"""All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.nn.parameter import tensors_of
from dispatchkit.tensor import Tensor
from dispatchkit.wording import class_name

__all__ = ["parameters_to_vector", "vector_to_parameters"]


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
    vector: Tensor = tensor_namespace.concat([x.reshape(-1) for x in tensors])
    return vector


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
