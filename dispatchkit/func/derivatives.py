"""Derivatives of functions: `grad`, `value_and_grad`, `vjp`, `jvp`, `linearize`, `jacrev`, `jacfwd`, `hessian`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, overload

from dispatchkit.backends.arrays import is_complex
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.typing import Gradient, ValueAndGradient
from dispatchkit.declare.variables import is_array
from dispatchkit.errors import TransformError
from dispatchkit.func.batches import Randomness, vmap
from dispatchkit.func.blocks import (
    array_in,
    blocks_of,
    derivative_of,
    fitted_tangents,
    has_law_of_gradients,
    items_between_blocks,
    layers_of,
    tangent_of,
    variable_blocks_of,
    with_array,
    with_blocks,
    with_variable_blocks,
)
from dispatchkit.func.containers import (
    Argnums,
    arrays_of,
    as_array,
    describe,
    fit,
    map_container,
    of_chosen,
    pick,
    result_and_aux,
    with_floats,
    with_gradient_fields,
    zip_containers,
)
from dispatchkit.func.reverse import Recording
from dispatchkit.protocol.frames import hides_frames
from dispatchkit.transforms import Dual
from dispatchkit.transforms.dual import tangent_at, value_at
from dispatchkit.transforms.tracer import new_level


@overload
def grad(func: Callable[..., Any], argnums: Literal[0] = 0, has_aux: Literal[False] = False) -> Gradient: ...
@overload
def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]: ...
def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the gradient of another.

    Parameters
    ----------
    func : gives a real number, a tensor of shape ()
    argnums : which positional argument to differentiate by, or a tuple of several; each may be a tensor, a nested
        list, tuple or dictionary of them, or an instance of a declared array type
    has_aux : whether `func` gives a pair of the number and anything else, which is passed on

    Returns
    -------
    function
        It takes the arguments of `func` and returns the gradient, a container like the argument (a tuple for several
        arguments). With `has_aux` it returns a pair: the gradient and the second output of `func`.

    Raises
    ------
    ValueError : when called, if `func` does not give a single real number
    TypeError : if an argument holds no floating-point array
    LostDerivativeError : when called, if `func` reads a Python number of what depends on the argument

    Notes
    -----
    Floating arrays have gradients; all else in a container is copied. Tensors that `func` takes from elsewhere are
    constants, but if they require gradients the result can be differentiated by them with `backward`. Source:
    PyTorch, `torch.func.grad`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.func.grad(lambda x: (x**3).sum())(dk.tensor([1.0, 2.0]))
    tensor([ 3., 12.])
    """
    both = value_and_grad(func, argnums, has_aux)

    @functools.wraps(func)
    @hides_frames
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, g = both(*args, **kwargs)
        if has_aux:
            return g, value[1]
        return g

    return gradient


@overload
def value_and_grad(
    func: Callable[..., Any], argnums: Literal[0] = 0, has_aux: Literal[False] = False
) -> ValueAndGradient: ...
@overload
def value_and_grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]: ...
def value_and_grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the value and the gradient of another at once.

    Parameters
    ----------
    func, argnums, has_aux : as for `grad`

    Returns
    -------
    function
        It takes the arguments of `func` and returns a pair: the value and the gradient. With `has_aux` the value is a
        pair of the two outputs of `func`.

    Raises
    ------
    ValueError, TypeError : as for `grad`

    Notes
    -----
    Source: JAX, `jax.value_and_grad`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.func.value_and_grad(lambda x: (x * x).sum())(dk.tensor([1.0, 2.0]))
    (tensor(5.), tensor([2., 4.]))
    """

    @functools.wraps(func)
    @hides_frames
    def both(*args: Any, **kwargs: Any) -> Any:
        chosen = pick("grad", args, argnums)
        function = of_chosen(func, args, kwargs, chosen)
        arguments = tuple(argument for _, argument in chosen)
        recording = Recording("grad", function, arguments, has_aux=has_aux)
        y = recording.output
        if not _is_scalar(y):
            raise ValueError(
                f"grad: the function must return a single real number, a scalar tensor; found {describe(y)}"
            )
        ones = with_blocks([with_array(block, xp.ones_like(array_in(block))) for block in blocks_of(y)], y)
        grads = _wrap_gradients(recording.gradients(ones, retain=False), arguments, y)
        value = y
        if has_aux:
            value = (y, recording.aux)
        if not isinstance(argnums, tuple):
            grads = grads[0]
        return value, grads

    return both


def _is_scalar(y: Any) -> bool:
    """Return whether an output is a real number: a tensor, or an array type that holds one."""
    if not is_array(y) and (isinstance(y, (list, tuple, Mapping)) or not hasattr(y, "shape")):
        return False
    inside = [array_in(block) for block in variable_blocks_of(y)]
    return tuple(y.shape) == () and len(inside) == 1 and xp.isdtype(inside[0].dtype, "real floating")


@hides_frames
def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Compute a function, and make the function that pulls cotangents back through it.

    Parameters
    ----------
    func : gives a tensor, or a container of them
    *primals : its arguments: tensors, containers of them, declared array types
    has_aux : whether `func` gives a pair, the second part of which is passed on

    Returns
    -------
    tuple
        The output, and a function that takes a cotangent, a container like the output, and returns a tuple with the
        gradient for each argument; with `has_aux` also the second output of `func`.

    Raises
    ------
    ValueError : from the function, if a cotangent does not fit the output

    Notes
    -----
    The function may be called any number of times, under `vmap`, too. Source: PyTorch, `torch.func.vjp`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> y, pull = dk.func.vjp(dk.sin, dk.tensor([0.0, 1.0]))
    >>> pull(dk.ones(2))
    (tensor([1.0000, 0.5403]),)
    """
    recording = Recording("vjp", func, primals, has_aux=has_aux)

    @hides_frames
    def vjp_fn(cotangents: Any) -> tuple[Any, ...]:
        return recording.pull(cotangents, retain=True)

    if has_aux:
        return recording.output, vjp_fn, recording.aux
    return recording.output, vjp_fn


@hides_frames
def jvp(
    func: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...], *, has_aux: bool = False
) -> tuple[Any, ...]:
    """Compute a function and its derivative in one direction.

    Parameters
    ----------
    func : gives a tensor, or a container of them
    primals : its arguments: tensors, containers of them, declared array types
    tangents : the direction, a container like `primals`; what stands for other than floating arrays is not read
    has_aux : whether `func` gives a pair, the second part of which is passed on

    Returns
    -------
    tuple
        The output and its tangent, a container like the output; with `has_aux` also the second output of `func`.

    Raises
    ------
    TypeError : if `primals` or `tangents` is no tuple
    ValueError : if a tangent does not fit its argument

    Notes
    -----
    One pass forward, without a graph: the tangent of each operation follows from its rules. Source: PyTorch,
    `torch.func.jvp`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.func.jvp(dk.sin, (dk.tensor([0.0, 1.0]),), (dk.ones(2),))
    (tensor([0.0000, 0.8415]), tensor([1.0000, 0.5403]))
    """
    for name, values in (("primals", primals), ("tangents", tangents)):
        if type(values) is not tuple:
            raise TypeError(f"jvp: {name} must be a tuple with an entry for each argument, not {describe(values)}")
    if len(primals) != len(tangents):
        raise ValueError(f"jvp: {len(primals)} primals, but {len(tangents)} tangents")
    primals = with_floats(primals)
    return _jvp(func, primals, fitted_tangents(primals, with_floats(tangents)), has_aux)


def _jvp(func: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool) -> tuple[Any, ...]:
    """Compute `jvp` of arguments that hold tensors, by tangents whose numbers are in the units of the arguments."""
    level = new_level()

    def dual(x: Any, t: Any) -> Any:
        return Dual(x, fit("jvp", "argument", "tangent", x, t), level)

    try:
        return _push(func, zip_containers(dual, primals, tangents, "jvp: tangents", variables=True), level, has_aux)
    finally:
        level.ended = True


def _push(func: Callable[..., Any], duals: Any, level: int, has_aux: bool) -> tuple[Any, ...]:
    """Return output, tangent and auxiliary output of a function of dual tensors."""
    result, aux = result_and_aux("jvp", func(*duals), has_aux)

    def tangent(y: Any) -> Any:
        t = tangent_at(y, level)
        if t is None:
            return xp.zeros_like(value_at(y, level))
        return t

    y, pushed = map_container(lambda x: value_at(x, level), result), map_container(tangent, result)
    pairs = zip(blocks_of(y), blocks_of(pushed), strict=True)
    t = with_blocks([tangent_of(array_in(part), block, part) for block, part in pairs], y)
    if has_aux:
        return y, t, map_container(lambda x: value_at(x, level), aux)
    return y, t


@hides_frames
def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Compute a function, and make the linear function that approximates it there.

    Parameters
    ----------
    func : gives a tensor, or a container of them
    *primals : its arguments: tensors, containers of them, declared array types

    Returns
    -------
    tuple
        The output, and a function that takes a tangent for each argument and returns the tangent of the output.

    Raises
    ------
    ValueError : from the function, if a tangent does not fit its argument

    Notes
    -----
    `func` is called once, whatever the number of tangents; what its derivative needs is kept. Source: PyTorch,
    `torch.func.linearize`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> y, push = dk.func.linearize(dk.sin, dk.tensor([0.0, 1.0]))
    >>> push(dk.ones(2))
    tensor([1.0000, 0.5403])
    """
    primals = with_floats(primals)
    recording = Recording("linearize", func, primals)

    # The pull is linear, so the pull of the pull is the push, at whatever cotangent it is recorded.
    zeros = map_container(xp.zeros_like, recording.output)
    transposed = Recording("linearize", partial(recording.gradients, retain=True), (zeros,))

    @hides_frames
    def push(*tangents: Any) -> Any:
        if len(tangents) != len(primals):
            raise ValueError(f"linearize: {len(primals)} arguments, but {len(tangents)} tangents")
        directions = zip_containers(
            lambda x, t: t,
            primals,
            fitted_tangents(primals, with_floats(tangents)),
            "linearize: tangents",
            variables=True,
        )
        (pushed,) = transposed.gradients(directions, retain=True)
        pairs = zip(blocks_of(recording.output), blocks_of(pushed), strict=True)
        return with_blocks([tangent_of(array_in(part), block, part) for block, part in pairs], pushed)

    return recording.output, push


def jacrev(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, chunk_size: int | None = None
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of another by reverse mode.

    Parameters
    ----------
    func : gives a real tensor, or a container of them
    argnums : which positional argument to differentiate by, or a tuple of several; each may be a container
    has_aux : whether `func` gives a pair, the second part of which is passed on
    chunk_size : how many rows are computed at once; all by default

    Returns
    -------
    function
        It takes the arguments of `func` and returns, in place of each output, a container like the argument (a tuple of
        containers for several arguments) of arrays of shape ``(*output.shape, *input.shape)``. With `has_aux` it
        returns a pair: the Jacobian and the second output of `func`.

    Raises
    ------
    TypeError : if an argument holds no floating-point array
    TransformError : if an output is complex

    Notes
    -----
    One pass forward, and one backward for all rows together; best where outputs are fewer than inputs. Source:
    PyTorch, `torch.func.jacrev`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.func.jacrev(lambda x: x * x)(dk.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @functools.wraps(func)
    @hides_frames
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        chosen = pick("jacrev", args, argnums)
        function = of_chosen(func, args, kwargs, chosen)
        arguments = tuple(argument for _, argument in chosen)
        recording = Recording("vjp", function, arguments, has_aux=has_aux)
        output = recording.output
        outputs = [array_in(block) for block in blocks_of(output)]
        if any(is_complex(y.dtype) for y in outputs):
            raise TransformError("jacrev: the output is complex; jacfwd gives the derivative of a holomorphic function")

        def pull(basis: list[Any]) -> list[Any]:
            steps = [with_array(block, step) for block, step in zip(blocks_of(output), basis, strict=True)]
            gradients = recording.gradients(with_blocks(steps, output), retain=True)
            return [array_in(block) for block in variable_blocks_of(gradients)]

        rows = vmap(pull, chunk_size=chunk_size)(_bases(outputs))
        lengths = [y.size for y in outputs]
        parts = [_of_output(y, part, rows) for y, part in zip(outputs, _slices(lengths), strict=True)]
        matrix = _jacobian(output, arguments, parts, several=isinstance(argnums, tuple))
        if has_aux:
            return matrix, recording.aux
        return matrix

    return jacobian


def jacfwd(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    randomness: Randomness = "error",
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of another by forward mode.

    Parameters
    ----------
    func, argnums, has_aux : as for `jacrev`
    randomness : as for `vmap`
    chunk_size : how many columns are computed at once; all by default

    Returns
    -------
    function
        As for `jacrev`.

    Raises
    ------
    TypeError : if an argument holds no floating-point array

    Notes
    -----
    One pass forward for all columns together; best where inputs are fewer than outputs. Of complex arguments the
    derivative is that of a holomorphic function. Source: PyTorch, `torch.func.jacfwd`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.func.jacfwd(lambda x: x * x)(dk.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @functools.wraps(func)
    @hides_frames
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        chosen = pick("jacfwd", args, argnums)
        function = of_chosen(func, args, kwargs, chosen)
        primals = map_container(as_array, tuple(argument for _, argument in chosen))
        blocks = variable_blocks_of(primals)
        inputs = [array_in(block) for block in blocks]
        kept: list[Any] = []

        def push(basis: list[Any]) -> tuple[list[Any], list[Any]]:
            steps = [with_array(block, step) for block, step in zip(blocks, basis, strict=True)]
            output, t, *aux = _jvp(function, primals, with_variable_blocks(steps, primals), has_aux)
            kept[:] = [output, *aux]
            return [array_in(block) for block in blocks_of(t)], _arrays_of_layers(output)

        columns, arrays = vmap(push, randomness=randomness, out_dims=(-1, 0), chunk_size=chunk_size)(_bases(inputs))
        if sum(x.size for x in inputs):
            kept[0] = _with_first(kept[0], arrays)
        slices = _slices([x.size for x in inputs])
        parts = [_by_inputs(t, inputs, slices) for t in columns]
        matrix = _jacobian(kept[0], primals, parts, several=isinstance(argnums, tuple))
        if has_aux:
            return matrix, kept[1]
        return matrix

    return jacobian


def _arrays_of_layers(output: Any) -> list[Any]:
    """Return the arrays of an output that holds array types with a law for derivatives; none of any other."""
    if any(map(layers_of, blocks_of(output))):
        return list(arrays_of(output))
    return []


def _with_first(output: Any, batches: list[Any]) -> Any:
    """Return an output with arrays as they are for the first step; of each they are the same.

    Parameters
    ----------
    output : of one call for a batch of steps, to which its arrays may belong, such as a mask that a rule computes
    batches : these arrays with the batch in front; none to keep those that are there
    """
    if not batches:
        return output
    rest = iter(batches)
    return map_container(lambda _: next(rest)[0], output)


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """Return a function that computes the second derivatives of another, forward over reverse.

    Parameters
    ----------
    func : gives a real tensor, or a container of them
    argnums : which positional argument to differentiate by, or a tuple of several

    Returns
    -------
    function
        It takes the arguments of `func` and returns, for each output and each pair of arguments, an array of shape
        ``(*output.shape, *input.shape, *input.shape)``.

    Raises
    ------
    TypeError : if an argument holds no floating-point array

    Notes
    -----
    Source: PyTorch, `torch.func.hessian`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.func.hessian(lambda x: (x**3).sum())(dk.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def _bases(arrays: list[Any]) -> list[Any]:
    """Return for each array the unit steps of all arrays in turn, along a first axis."""
    total = sum(x.size for x in arrays)
    bases = []
    for x, part in zip(arrays, _slices([x.size for x in arrays]), strict=True):
        unit = xp.eye(total, x.size, k=-part.start, dtype=x.dtype, device=x.device)
        bases.append(xp.reshape(unit, (total, *x.shape)))
    return bases


def _slices(lengths: list[int]) -> list[slice]:
    ends = [sum(lengths[: i + 1]) for i in range(len(lengths))]
    return [slice(end - length, end) for end, length in zip(ends, lengths, strict=True)]


def _of_output(y: Any, part: slice, rows: list[Any]) -> list[Any]:
    """Return the derivatives of an output by each input, of those of all outputs in rows."""
    return [xp.reshape(g[part], (*y.shape, *g.shape[1:])) for g in rows]


def _by_inputs(t: Any, inputs: list[Any], slices: list[slice]) -> list[Any]:
    """Return the derivatives of an output by each input, of those by all in columns."""
    return [xp.reshape(t[..., part], (*t.shape[:-1], *x.shape)) for x, part in zip(inputs, slices, strict=True)]


def _jacobian(output: Any, arguments: tuple[Any, ...], parts: list[list[Any]], *, several: bool) -> Any:
    """Return a Jacobian of its numbers: a container like the output of containers like the arguments.

    Parameters
    ----------
    output, arguments : of the function
    parts : for each array and block of the output, the derivatives by each of those of the arguments
    several : whether the arguments stand in a tuple
    """
    rows = []
    for block, derivatives in zip(blocks_of(output), parts, strict=True):
        wrapped = [
            derivative_of(part, block, argument)
            for part, argument in zip(derivatives, variable_blocks_of(arguments), strict=True)
        ]
        row = with_gradient_fields(with_variable_blocks(wrapped, arguments), output, items_between_blocks)
        if not several:
            row = row[0]
        rows.append(row)
    return with_blocks(rows, with_gradient_fields(output, output, items_between_blocks))


def _wrap_gradients(gradients: tuple[Any, ...], arguments: tuple[Any, ...], output: Any) -> Any:
    """Return the gradients of a number, of which the numbers are known, containers like the arguments."""
    block = blocks_of(output)[0]
    pairs = zip(variable_blocks_of(gradients), variable_blocks_of(arguments), strict=True)
    wrapped = [derivative_of(array_in(g), block, argument, has_law_of_gradients) for g, argument in pairs]
    return with_variable_blocks(wrapped, with_gradient_fields(gradients, output, items_between_blocks))
