"""Jacobian and Hessian matrices by backward passes, `torch.autograd.functional`, and blocks in which less is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchkit.autograd import enable_grad, grad
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.errors import AutogradError
from dispatchkit.graph.recording import grad_block
from dispatchkit.tensor import Tensor
from dispatchkit.wording import class_name

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Call = Callable[..., Any]


def _tuple_of(name, what, values):
    if not isinstance(values, tuple):
        values = (values,)
    for index, x in enumerate(values):
        if not isinstance(x, Tensor):
            raise TypeError(f"{name}: {what} must be tensors, found a {class_name(type(x))} at index {index}")
    return values


def _recorded(name, func, inputs, create_graph):
    """Return arguments of a function, what it gives of them in a graph of its own, and that as a tuple."""
    xs = _tuple_of(name, "inputs", inputs)
    with enable_grad():
        xs = tuple([xp.positive(x) if create_graph and x.requires_grad else x.detach().requires_grad_() for x in xs])
        output = func(*xs)
    return xs, output, _tuple_of(name, "outputs of the function", output)


def _vectors(name, v, like):
    """Return the vectors of a product, one for each array; a single element needs none."""
    if v is None and len(like) == 1 and like[0].numel() == 1:
        return (xp.ones_like(like[0]),)
    shapes = []
    if v is not None:
        shapes = [x.shape for x in _tuple_of(name, "v", v)]
    if shapes != [x.shape for x in like]:
        raise AutogradError(f"{name}: v must have the shapes {[x.shape for x in like]}, found {shapes or None}")
    if isinstance(v, tuple):
        return v
    return (v,)


def _pulled(name, ys, xs, vectors, strict, create_graph, shape=(), **options):
    """Return the gradients of outputs for inputs, or rows of them in a shape.

    There are zeros for inputs that the outputs do not depend on, which `strict` refuses.
    """
    pairs = [(y, v) for y, v in zip(ys, vectors, strict=True) if y.requires_grad]
    gradients: Any = (None,) * len(xs)
    if pairs:
        outputs, vectors = zip(*pairs, strict=True)
        gradients = grad(outputs, xs, vectors, True, create_graph, True, **options)
    if strict and any(g is None or (create_graph and not g.requires_grad) for g in gradients):
        raise AutogradError(f"{name}: the outputs do not depend on each input, which strict=True asks for")
    filled = []
    with grad_block(create_graph):
        for g, x in zip(gradients, xs, strict=True):
            form = (*shape, *x.shape)
            if g is None:
                filled.append(xp.zeros(form, dtype=x.dtype))
            else:
                filled.append(xp.reshape(g, form))
    return tuple(filled)


def _given(values, like, create_graph):
    """Return results as they are asked for: single or in a tuple, as something else, and in the graph or not."""
    values = tuple([value if create_graph else value.detach() for value in values])
    if isinstance(like, tuple):
        return values
    return values[0]


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """Return what a function gives, and the product of a vector with its Jacobian matrix.

    Parameters
    ----------
    func : takes tensors, and gives one or a tuple
    inputs : its arguments, a tensor or a tuple
    v : the vector, of the form of the output; may be left out where that is one element
    create_graph : whether the results are in the graph of the inputs
    strict : raise if the output does not depend on an input, for which there are zeros otherwise
    """
    xs, output, ys = _recorded("vjp", func, inputs, create_graph)
    gradients = _pulled("vjp", ys, xs, _vectors("vjp", v, ys), strict, create_graph)
    return _given(ys, output, create_graph), _given(gradients, inputs, create_graph)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """Return what a function gives, and the product of its Jacobian matrix with a vector.

    Parameters
    ----------
    func, inputs, create_graph, strict : as for `vjp`
    v : the vector, of the form of the inputs; may be left out where they are one element
    """
    xs, output, ys = _recorded("jvp", func, inputs, create_graph)
    vectors = _vectors("jvp", v, xs)
    # The pull is linear, so the pull of the pull is the push.
    zeros = tuple([xp.zeros_like(y).requires_grad_() for y in ys])
    gradients = _pulled("jvp", ys, xs, zeros, strict, True)
    pushed = _pulled("jvp", gradients, zeros, vectors, strict, create_graph)
    return _given(ys, output, create_graph), _given(pushed, output, create_graph)


def _gradient_of(name, func, values, strict):
    """Return the function that computes the gradient of another, whose value it keeps in a list."""

    def gradient(*xs):
        values[:] = _tuple_of(name, "outputs of the function", func(*xs))
        if [y.numel() for y in values] != [1]:
            shapes = ", ".join(str(y.shape) for y in values)
            raise AutogradError(f"{name}: the function must give a single element, found the shape {shapes}")
        return _pulled(name, values, xs, [xp.ones_like(values[0])], strict, True)

    return gradient


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """Return what a function gives, and the product of a vector with its Hessian matrix.

    Parameters
    ----------
    func : gives a tensor of one element
    inputs, create_graph, strict : as for `vjp`
    v : the vector, of the form of the inputs
    """
    values: Any = []
    _, product = vjp(_gradient_of("vhp", func, values, strict), inputs, v, create_graph, strict)
    return _given(values, None, create_graph), product


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """Return what a function gives, and the product of its Hessian matrix with a vector, which is that of `vhp`.

    Parameters
    ----------
    func, inputs, v, create_graph, strict : as for `vhp`
    """
    values: Any = []
    _, product = jvp(_gradient_of("hvp", func, values, strict), inputs, v, create_graph, strict)
    return _given(values, None, create_graph), product if isinstance(inputs, tuple) else product[0]


def _refuse_both(name, strict, vectorize):
    """Raise for the two options together, which PyTorch refuses, though both are possible here."""
    if strict and vectorize:
        raise AutogradError(
            f"torch.autograd.functional.{name}: `strict=True` and `vectorize=True` are not supported together. Please "
            "either set `strict=False` or `vectorize=False`."
        )


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """Return the Jacobian matrix of a function, for each output and input one of shape ``(*output, *input)``.

    Parameters
    ----------
    func, inputs, create_graph, strict : as for `vjp`
    vectorize, strategy : say nothing here: all rows are computed at once; `vectorize` does not go with `strict`
    """
    _refuse_both("jacobian", strict, vectorize)
    xs, output, ys = _recorded("jacobian", func, inputs, create_graph)
    rows = []
    for y in ys:
        units = xp.reshape(xp.eye(y.numel(), dtype=y.dtype), (y.numel(), *y.shape))
        parts = _pulled("jacobian", [y], xs, [units], strict, create_graph, y.shape, is_grads_batched=True)
        rows.append(_given(parts, inputs, create_graph))
    if isinstance(output, tuple):
        return tuple(rows)
    return rows[0]


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """Return the Hessian matrix of a function, for each pair of inputs one of shape ``(*input, *input)``.

    Parameters
    ----------
    func : gives a tensor of one element
    inputs, create_graph, strict : as for `vjp`
    vectorize, outer_jacobian_strategy : as for `jacobian`
    """
    _refuse_both("hessian", strict, vectorize)
    matrix = jacobian(_gradient_of("hessian", func, [], strict), inputs, create_graph, strict)
    if isinstance(inputs, tuple):
        return matrix
    return matrix[0]
