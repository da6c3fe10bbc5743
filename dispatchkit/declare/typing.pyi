# How operations look to type checkers. To callers an array is a Tensor, whose class stands above the operations, so
# that only this stub can name it; inside a body or rule it is whatever `xp` computes on.
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar, overload

import numpy as np

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
R_co = TypeVar("R_co", covariant=True)

# What is compared by `==` as Python's objects are, or as no one knows; comparing tensors gives a tensor.
class NoTensor(Protocol):
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

Other: TypeAlias = NoTensor | np.ndarray[Any, Any]

class Operation(Protocol[P, R_co]):
    __name__: str
    __qualname__: str
    __signature__: inspect.Signature

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @overload
    def __call__(self: Operation[[Array, Array], R_co], x1: Scalar, x2: Scalar, /) -> R_co: ...
    # Functions that make tensors take these keywords, too.
    @overload
    def __call__(self, *args: Any, requires_grad: bool, **kwargs: Any) -> R_co: ...
    @overload
    def __call__(self, *args: Any, like: Any, **kwargs: Any) -> R_co: ...
    # Handlers decide what array types give. A call with tensors alone has to fit the signature.
    @overload
    def __call__(self: Operation[Concatenate[Array, Q], R_co], x: Other, /, *args: Any, **kwargs: Any) -> Any: ...
    @overload
    def __call__(self, x: Sequence[Any], /, *, axis: int | None = ...) -> Any: ...
    @overload
    def __call__(self, x: Any, y: Other, /, *args: Any, **kwargs: Any) -> Any: ...
    @overload
    def __call__(self, x: Any, y: Any, z: Other, /, *args: Any, **kwargs: Any) -> Any: ...
    def def_partial(self, rule: Rule | str | complex | None, /, *others: complex | None) -> Rule: ...
    def def_transpose(self, rule: Rule | str, /) -> Rule: ...
    def def_vjp(self, rule: Rule | str, /, *others: str) -> Rule: ...
    def def_jvp(self, rule: Rule | str, /) -> Rule: ...
    @overload
    def def_kernel(self, library: str, forward: Rule, /, gradients: Any = None) -> Rule: ...
    @overload
    def def_kernel(self, library: str, /, *, gradients: Any = None) -> Callable[[Rule], Rule]: ...
