"""How operations look to readers and type checkers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar, overload

from dispatchkit.protocol.parameters import Form

if TYPE_CHECKING:
    import inspect

    import numpy as np

    from dispatchkit.tensor import Tensor

    # Inside a body or rule an array is whatever `xp` computes on; to callers it is a Tensor.
    Array: TypeAlias = Tensor
    Scalar: TypeAlias = Tensor | complex
else:
    Array = Annotated[Any, Form.ONE]

__all__ = ["Array", "ArrayLike", "DType", "Index", "Namespace", "Operation", "Rule", "Shape"]

# To the declaration of operations these are told apart, and from parameters that may be anything, by what is noted.
Namespace: TypeAlias = Any
ArrayLike: TypeAlias = Annotated[Any, Form.LOOSE]
DType: TypeAlias = Annotated[Any, "a dtype"]
Index: TypeAlias = Annotated[Any, Form.INDEX]
Shape: TypeAlias = int | tuple[int, ...] | list[int]
Rule: TypeAlias = Callable[..., Any]

P = ParamSpec("P")
Q = ParamSpec("Q")
R_co = TypeVar("R_co", covariant=True)


class NoTensor(Protocol):
    """What is compared by `==` as Python's objects are, or as no one knows; comparing tensors gives a tensor."""

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...


if TYPE_CHECKING:
    Other: TypeAlias = NoTensor | np.ndarray[Any, Any]


class Operation(Protocol[P, R_co]):
    """A public operation: a function with its declaration's signature, that custom types can override."""

    __name__: str
    __qualname__: str
    __signature__: inspect.Signature

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @overload
    def __call__(self: Operation[[Array, Array], R_co], x1: Scalar, x2: Scalar, /) -> R_co: ...
    # Functions that make tensors take this keyword, too.
    @overload
    def __call__(self, *args: Any, requires_grad: bool, **kwargs: Any) -> R_co: ...
    # Handlers decide what array types give. A call with tensors alone has to fit the signature.
    @overload
    def __call__(self: Operation[Concatenate[Array, Q], R_co], x: Other, /, *args: Any, **kwargs: Any) -> Any: ...
    @overload
    def __call__(self, x: Sequence[Any], /, *, axis: int | None = ...) -> Any: ...
    @overload
    def __call__(self, x: Any, y: Other, /, *args: Any, **kwargs: Any) -> Any: ...
    @overload
    def __call__(self, x: Any, y: Any, z: Other, /, *args: Any, **kwargs: Any) -> Any: ...

    def def_partial(self, rule: Rule | str | complex | None, /, *others: complex | None) -> Rule:
        """Declare the derivative of each output element by the same element of an argument; or numbers, one for each.

        A rule, of this form or the others, names what it reads: the namespace `xp`, the output `y`, the cotangent `g`
        or the tangent `t`, and parameters of the operation.
        """

    def def_transpose(self, rule: Rule | str, /) -> Rule:
        """Declare the transpose of an operation that is linear in an argument."""

    def def_vjp(self, rule: Rule | str, /) -> Rule:
        """Declare the vector-Jacobian product for an argument."""

    def def_jvp(self, rule: Rule | str, /) -> Rule:
        """Declare the Jacobian-vector product for an argument."""

    def def_numpy(self, fast: Callable[..., Any], /) -> Callable[..., Any]:
        """Declare what computes NumPy arrays in place of the body: the same results by a fast path."""
