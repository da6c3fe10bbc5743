"""The annotations of bodies and rules, as declarations read them; type checkers read the stub in the same folder."""

from __future__ import annotations

from collections.abc import Callable
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
    """A public operation: a function with its declaration's signature, that custom types can override."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Answer a call."""

    def def_partial(self, rule: Rule | str | complex | None, /, *others: complex | None) -> Rule:
        """Declare the derivative of each output element by the same element of an argument; or numbers, one for each.

        A rule, of this form or the others, names what it reads: the namespace `xp`, the output `y`, the cotangent `g`
        or the tangent `t`, and parameters of the operation.
        """

    def def_transpose(self, rule: Rule | str, /) -> Rule:
        """Declare the transpose of an operation that is linear in an argument."""

    def def_vjp(self, rule: Rule | str, /, *others: str) -> Rule:
        """Declare the vector-Jacobian product for an argument, or for all in the order of the names."""

    def def_jvp(self, rule: Rule | str, /) -> Rule:
        """Declare the Jacobian-vector product for an argument."""

    def def_numpy(self, fast: Callable[..., Any], /) -> Callable[..., Any]:
        """Declare what computes NumPy arrays in place of the body: the same results by a fast path."""
