# How operations look to type checkers. To callers an array is a Tensor, whose class stands above the operations, so
# that only this stub can name it; inside a body or rule it is whatever `xp` computes on.
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeAlias, TypeVar, Unpack, overload

import numpy as np
from typing_extensions import deprecated

from dispatchkit.declare.decorators import DeclarerOptions
from dispatchkit.nn.parameter import Parameter
from dispatchkit.tensor import Tensor

Array: TypeAlias = Tensor
Scalar: TypeAlias = Tensor | complex
Namespace: TypeAlias = Any
ArrayLike: TypeAlias = Any
DType: TypeAlias = Any
Index: TypeAlias = Any
Shape: TypeAlias = int | tuple[int, ...] | list[int]
Rule: TypeAlias = Callable[..., Any]

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

# What a declared type is to a type checker: an instance of any class. Classes themselves, None and, by `__sizeof__`,
# tensors are none.
class Other(Protocol):
    def __eq__(self, other: Any, /) -> Any: ...
    def __sizeof__(self) -> int: ...
    @property  # type: ignore[misc]
    def __class__(self) -> type[Any]: ...

# A tensor, whose results are of the class R_co.
class ArrayOf(Protocol[R_co]):
    @property
    def _result(self) -> R_co: ...

# A class, as mypy sees it; to pyright classes are no `Other` anyway.
class Class(Protocol):
    def mro(self) -> list[type]: ...
    @property  # type: ignore[misc]
    def __class__(self) -> type[Any]: ...

# None, as pyright sees it; to mypy it is no `Other` anyway.
class Empty(Protocol):
    def __bool__(self) -> Literal[False]: ...
    def __eq__(self, other: object, /) -> bool: ...

class NoArray:
    """What calls with text, None and classes give: nothing that can be used."""

Unfit: TypeAlias = str | bytes | NoArray | Class | Empty
Mixed: TypeAlias = Scalar | Other

# An array type that may have names for its axes: comparing tensors gives tensors.
class Named(Protocol):
    def __eq__(self, other: object, /) -> bool: ...

# Operations by their leading arrays. mypy compares functions more exactly than the parameters of `Operation`. It takes
# members in the order of their names: `__accepts__` goes before the overloads of `__call__`, which take long.
class Pair(Protocol[P]):
    @property
    def __accepts__(self) -> Callable[Concatenate[Any, Array, P], Any]: ...

class Both(Protocol[P]):
    @property
    def __accepts__(self) -> Callable[Concatenate[Array, Array, P], Any]: ...

class Joining(Protocol[P, R_co]):
    @property
    def __accepts__(self) -> Callable[Concatenate[Sequence[Array], P], R_co]: ...

class Triple(Protocol[P]):
    @property
    def __accepts__(self) -> Callable[Concatenate[Array, Any, Array, P], Any]: ...

class Several(Protocol[P]):
    @property
    def __accepts__(self) -> Callable[Concatenate[Any, Array, Array, Array, Array, Array, P], Any]: ...

# What operations of different signatures have in common, as in a list of them.
class Function(Protocol):
    __name__: str
    __qualname__: str
    __signature__: inspect.Signature
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

class Operation(Function, Protocol[P, R_co]):
    @property
    def __accepts__(self) -> Callable[P, R_co]: ...
    # Of an operation without annotations nothing is known: only then it is one that gives this.
    @overload
    def __call__(self: Operation[..., NoArray], *args: P.args, **kwargs: P.kwargs) -> Any: ...
    # Results have the class of the first array.
    @overload
    def __call__(
        self: Operation[Concatenate[Array, Q], Array], x: ArrayOf[R], /, *args: Q.args, **kwargs: Q.kwargs
    ) -> R: ...
    @overload
    def __call__(self: Operation[[Array, Array], Array], x1: ArrayOf[R], x2: Scalar, /) -> R: ...
    @overload
    def __call__(self: Joining[Q, Array], x: Sequence[ArrayOf[R]], /, *args: Q.args, **kwargs: Q.kwargs) -> R: ...
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @overload
    def __call__(self: Operation[[Array, Array], R_co], x1: Scalar, x2: Scalar, /) -> R_co: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __call__(
        self: Operation[Concatenate[Array, Q], R_co], x: Unfit, /, *args: Q.args, **kwargs: Q.kwargs
    ) -> NoArray: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __call__(self: Both[Q], x1: Unfit, x2: Any, /, *args: Q.args, **kwargs: Q.kwargs) -> NoArray: ...
    @overload
    @deprecated("text, None and classes are no arrays")
    def __call__(self: Pair[Q], x1: Mixed, x2: Unfit, /, *args: Q.args, **kwargs: Q.kwargs) -> NoArray: ...
    # Handlers decide what array types give. All that is no array has to fit the signature.
    @overload
    def __call__(
        self: Operation[Concatenate[Array, Q], R_co], x: Other, /, *args: Q.args, **kwargs: Q.kwargs
    ) -> Any: ...
    @overload
    def __call__(
        self: Operation[Concatenate[Array, Q], R_co],
        x: Named,
        /,
        *others: Any,
        axis: str | tuple[str, ...],
        **kwargs: Any,
    ) -> Any: ...
    @overload
    def __call__(self: Pair[Q], x1: Mixed, x2: Mixed, /, *args: Q.args, **kwargs: Q.kwargs) -> Any: ...
    @overload
    def __call__(
        self: Triple[Q],
        x1: Mixed,
        x2: Any,
        x3: Mixed,
        /,
        *args: Q.args,
        **kwargs: Q.kwargs,
    ) -> Any: ...
    @overload
    def __call__(self: Joining[Q, Any], x: Sequence[Any], /, *args: Q.args, **kwargs: Q.kwargs) -> Any: ...
    # Any number of arrays, as in einsum("ij,jk", x1, x2) and meshgrid(x1, x2).
    @overload
    def __call__(self: Several[Q], x: Mixed, /, *arrays: Mixed, **kwargs: Any) -> Any: ...
    def def_partial(self, rule: Rule | str | complex | None, /, *others: complex | None) -> Rule: ...
    def def_transpose(self, rule: Rule | str, /, *, shapes: Sequence[str] = ...) -> Rule: ...
    def def_vjp(self, rule: Rule | str, /, *others: str, shapes: Sequence[str] = ...) -> Rule: ...
    def def_jvp(self, rule: Rule | str, /) -> Rule: ...
    @overload
    def def_kernel(
        self,
        library: str,
        forward: Rule,
        /,
        gradients: Any = None,
        shapes: Sequence[str] = ...,
        flow: Callable[..., Any] | None = ...,
        reads: Sequence[str] = ...,
        fewest: int = ...,
    ) -> Rule: ...
    @overload
    def def_kernel(
        self,
        library: str,
        /,
        *,
        gradients: Any = None,
        shapes: Sequence[str] = ...,
        flow: Callable[..., Any] | None = ...,
        reads: Sequence[str] = ...,
        fewest: int = ...,
    ) -> Callable[[Rule], Rule]: ...

# Functions that make tensors take `requires_grad` and `like`, too.
class Creation(Operation[P, R_co], Protocol[P, R_co]):
    @overload  # type: ignore[override]
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @overload
    def __call__(self, *args: Any, requires_grad: bool, **kwargs: Any) -> R_co: ...
    @overload
    def __call__(self, *args: Any, like: Any, **kwargs: Any) -> R_co: ...
    @overload
    def __call__(
        self: Creation[Concatenate[Array, Q], R_co], x: Other, /, *args: Q.args, **kwargs: Q.kwargs
    ) -> Any: ...

class CreationDeclarer(Protocol):
    @overload
    def __call__(self, body: Callable[Concatenate[Any, P], R], /) -> Creation[P, R]: ...
    @overload
    def __call__(
        self, **options: Unpack[DeclarerOptions]
    ) -> Callable[[Callable[Concatenate[Any, P], R]], Creation[P, R]]: ...

# A gradient has the type of the argument; that of numbers and raw arrays is a tensor.
Raw: TypeAlias = complex | np.ndarray[Any, Any] | Parameter

class Gradient(Protocol):
    @overload
    def __call__(self, x: Raw, /, *args: Any, **kwargs: Any) -> Tensor: ...
    @overload
    def __call__(self, x: R, /, *args: Any, **kwargs: Any) -> R: ...

class ValueAndGradient(Protocol):
    @overload
    def __call__(self, x: Raw, /, *args: Any, **kwargs: Any) -> tuple[Any, Tensor]: ...
    @overload
    def __call__(self, x: R, /, *args: Any, **kwargs: Any) -> tuple[Any, R]: ...
