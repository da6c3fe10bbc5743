"""The annotations of bodies and rules, as declarations read them; type checkers read the stub in the same folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, ParamSpec, Protocol, TypeAlias, TypeVar

from dispatchkit.protocol.parameters import Form

# The notes tell a declaration what a parameter takes; one without a note may be anything.
Array: TypeAlias = Annotated[Any, Form.ONE]
Namespace: TypeAlias = Any
ArrayLike: TypeAlias = Annotated[Any, Form.LOOSE]
DType: TypeAlias = Annotated[Any, "a dtype"]
Index: TypeAlias = Annotated[Any, Form.INDEX]
Shape: TypeAlias = int | tuple[int, ...] | list[int]
Rule: TypeAlias = Callable[..., Any]

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class Operation(Protocol[P, R_co]):
    """The static type of what `operation` gives: a function with its body's parameters and result, and with rules.

    A package that declares functions in a form of its own annotates that with this type. A rule names what it reads:
    the namespace `xp`, the output `y`, the cotangent `g` or the tangent `t`, and parameters of the operation.

    Parameters
    ----------
    *args, **kwargs : of a call: what the body takes, without the namespace

    Examples
    --------
    >>> from collections.abc import Callable, Sequence
    >>> from typing import Any, Concatenate, ParamSpec, TypeVar
    >>> import dispatchkit as dk
    >>> P = ParamSpec("P")
    >>> R = TypeVar("R")
    >>> def signal(**options: Any) -> Callable[[Callable[Concatenate[Any, P], R]], dk.Operation[P, R]]:
    ...     return dk.operation(namespace="mylib.signal", **options)
    >>> @signal(axis="axis")
    ... def energy(xp: Any, x: dk.Tensor, /, *, axis: int = -1) -> dk.Tensor:
    ...     return xp.sum(x * x, axis=axis)
    >>> energy(dk.asarray([3.0, 4.0]))
    tensor(25.)
    """

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Answer a call."""

    def def_partial(self, rule: Rule | str | complex | None, /, *others: complex | None) -> Rule:
        """Declare the derivative of each output element by the same element of an argument.

        Parameters
        ----------
        rule : of the only array parameter; or the name of the parameter that the decorated rule is for; or a number
        *others : numbers for the other array parameters; None for one that has another rule or none
        """

    def def_transpose(self, rule: Rule | str, /, *, shapes: Sequence[str] = ()) -> Rule:
        """Declare the transpose of an operation that is linear in an argument.

        Parameters
        ----------
        rule : of the only array parameter, or the name of the parameter that the decorated rule is for
        shapes : names of array parameters of which the rule reads shape and dtype alone, as it does of the argument
            that it is for: their values are not kept for it, and may be changed in place
        """

    def def_vjp(self, rule: Rule | str, /, *others: str, shapes: Sequence[str] = ()) -> Rule:
        """Declare the vector-Jacobian product for an argument, or for all in the order of the names.

        Parameters
        ----------
        rule : of the only array parameter, or the name of the parameter that the decorated rule is for
        *others : the names of all other array parameters, where the rule gives the cotangents of all
        shapes : names of array parameters of which the rule reads shape and dtype alone: their values are not kept for
            it, and may be changed in place
        """

    def def_jvp(self, rule: Rule | str, /) -> Rule:
        """Declare the Jacobian-vector product for an argument.

        Parameters
        ----------
        rule : of the only array parameter, or the name of the parameter that the decorated rule is for
        """

    def def_kernel(
        self,
        library: str,
        forward: Callable[..., Any] | None = None,
        /,
        gradients: Any = None,
        shapes: Sequence[str] = (),
        flow: Callable[..., Any] | None = None,
        reads: Sequence[str] = (),
        fewest: int = 0,
    ) -> Callable[..., Any]:
        """Declare what computes the arrays of one library in place of the body.

        Parameters
        ----------
        library : ``"numpy"``, ``"torch"``, ``"jax"``, ``"cupy"``, ...; ``"numba"`` for NumPy's arrays where
            `dispatchkit.nn.set_engine` asks for it
        forward : takes the parameters of the operation, arrays of the library among them; `NotImplemented` leaves a
            call to the body. Without it, a decorator is returned
        gradients : gives the cotangents of the array arguments, as the rule of `def_vjp` that names all of them; or a
            rule for each argument, by its name. `NotImplemented` leaves a call to the operation's rules. By default
            PyTorch, and JAX in `jax.jit`, differentiate `forward` themselves; with other libraries the rules hold
        shapes : names of array parameters of which `gradients` reads shape and dtype alone: their values are not kept
            for it, and may be changed
        flow : called in the place of `forward` where gradients flow, with the same arguments. It returns the result
            and a function ``pull(g, wanted)``, which returns a cotangent for each array parameter: `g` is a list of
            the cotangents of the results, and `wanted` says of each parameter whether its cotangent is asked for,
            otherwise None does. So what the forward pass computed need not be computed again
        reads : names of array parameters that what `pull` returns depends on, ``"y"`` for the result: they must not be
            changed in place before
        fewest : elements of NumPy's array from which on `flow` is called, where the operation takes one array: of fewer
            the rules may take less time
        """


# Only the stub tells these from what they are made of.
Creation: TypeAlias = Operation
CreationDeclarer = Gradient = ValueAndGradient = Callable[..., Any]
