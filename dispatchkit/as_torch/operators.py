"""The operators of PyTorch's tensors, and their methods that convert and that change in place."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dispatchkit.accelerator import by_pointer
from dispatchkit.as_torch.attributes.asking import ask
from dispatchkit.as_torch.calling.promotion import CATEGORIES, of_number
from dispatchkit.as_torch.calling.raised import as_raised_by_pytorch
from dispatchkit.as_torch.shared import in_dtype_of
from dispatchkit.as_torch.table import OF_SEVERAL_NUMBERS, is_array
from dispatchkit.backends.arrays import dtype_name, numpy_dtype
from dispatchkit.backends.numpy_sums import HALF
from dispatchkit.declare.inplace import change_by
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.graph.storage import Storage

__all__ = ["converting", "give_operators", "in_place", "spreading", "where_asked"]

Call = Callable[..., Any]
Classes = frozenset[type]
NUMBERS = frozenset({bool, int, float, complex})
PLAIN = frozenset({int, float})
LENGTHS = frozenset({int})
# Operations that take the lengths of axes alone, or their order.
OF_LENGTHS: dict[str, Call] = {
    "expand": xp.expand,
    "permute": xp.permute_dims,
    "reshape": xp.reshape,
    "view": xp.view,
}
# Operators of two operands by the functions that they are, with their reflected forms.
REFLECTED = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}
# Of which integers make floating-point numbers, or are looked at.
OTHERWISE_FOR_INTEGERS = frozenset({"truediv", "mod", "pow", "lshift", "rshift"})
COMPARISONS = {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}
# Functions of one tensor and further arguments of which one has to be given.
ASKING = frozenset({"clamp", "clip"})
# Functions of two operands and a factor of the second.
WITH_FACTOR = frozenset({"add", "sub", "subtract"})
# Methods whose results must be of the dtype of their tensor.
OF_OWN_DTYPE = frozenset({"abs_", "absolute_", "float_power_"})
# Of elements whose dtype is not one of NumPy's.
OTHER = "?"
OF_ONE = {"neg": "neg", "abs": "abs", "invert": "bitwise_not"}


def give_operators(cls: Any, classes: Classes, functions: Mapping[str, Call]) -> None:
    """Give a class of tensors operators that follow PyTorch's rules for dtypes.

    Parameters
    ----------
    cls : the class
    classes : it, and that of parameters
    functions : of PyTorch by their paths
    """
    for name, path in (REFLECTED | COMPARISONS).items():
        kinds = "fi"
        if name in OTHERWISE_FOR_INTEGERS:
            kinds = "f"
        elif name == "floordiv":
            kinds = ""  # infinities give NaN
        setattr(cls, f"__{name}__", binary(classes, getattr(cls, f"__{name}__"), functions[path], kinds))
    for name, path in REFLECTED.items():
        kinds = "f" * (name != "floordiv")  # infinities give NaN
        plain, divides = getattr(cls, f"__r{name}__"), name == "truediv"
        of_half = OF_HALF.get(name, in_order)(functions, path)
        setattr(cls, f"__r{name}__", reflected(classes, plain, functions[path], kinds, of_half, divides=divides))
        method = getattr(cls, f"{path}_")
        plain = getattr(cls, f"__i{name}__")
        if name == "floordiv":
            plain = method  # infinities give NaN
        setattr(cls, f"__i{name}__", changing(classes, plain, method))
    cls.__matmul__ = binary(classes, cls.__matmul__, functions["matmul"], "fi")
    cls.__rsub__ = without_booleans(cls.__rsub__, functions["rsub"])
    for name, path in OF_ONE.items():
        setattr(cls, f"__{name}__", unary(classes, getattr(cls, f"__{name}__"), functions[path]))
    for name in ("matmul", "rsub", *REFLECTED, *COMPARISONS, *OF_ONE):
        show_name(getattr(cls, f"__{name}__"), f"__{name}__")
    for name in REFLECTED:
        show_name(getattr(cls, f"__r{name}__"), f"__r{name}__")
        show_name(getattr(cls, f"__i{name}__"), f"__i{name}__")
    cls.__hash__ = cls.__base__.__hash__
    cls.__array_ufunc__ = beside_numbers(cls.__array_ufunc__)


def show_name(operator: Any, name: str) -> None:
    """Give an operator the name that it shows."""
    operator.__name__ = operator.__qualname__ = name


def goes_with(classes: Classes, self: Any, other: Any) -> bool:
    """Return whether floating-point tensors, or one and a number, need no look at their dtypes."""
    kind = type(other)
    if kind in classes:
        dtype = self.array.dtype
        return dtype is other.array.dtype and getattr(dtype, "kind", OTHER) == "f"
    if kind is float or kind is int:
        return is_plain_beside_numbers(self.array.dtype)
    return False


def is_plain_beside_numbers(dtype: Any) -> bool:
    """Return whether a plain number beside a tensor is one of its dtype: of half precision it may be beyond that."""
    return getattr(dtype, "kind", OTHER) == "f" and dtype is not HALF


def binary(classes: Classes, plain: Call, function: Call, kinds: str) -> Call:
    """Return the operator that computes a function, which is the plain one for two tensors of one dtype.

    Parameters
    ----------
    classes : of tensors and parameters
    plain, function : the operator of `dispatchkit.Tensor`, and the function of PyTorch
    kinds : of elements of which the two are the same, as NumPy abbreviates them
    """
    plain = by_pointer(plain)

    def operator(self: Any, other: Any, /) -> Any:
        if type(self) in classes:
            kind = type(other)
            if kind in classes:
                dtype = self.array.dtype
                # The same in nearly every program: nothing is to be promoted.
                if dtype is other.array.dtype and getattr(dtype, "kind", OTHER) in kinds:
                    return plain(self, other)
            elif kind in PLAIN and kinds and is_plain_beside_numbers(self.array.dtype):
                return plain(self, other)
        if isinstance(other, Storage) or type(other) in NUMBERS:
            return function(self, other)
        if isinstance(other, np.generic):
            return operator(self, other.item())
        return plain(self, other)

    return operator


def in_order(functions: Mapping[str, Call], path: str) -> Call:
    """Return what computes a function of a number and a tensor, given the tensor first."""
    function = functions[path]
    return lambda x, number: function(number, x)


def product(functions: Mapping[str, Call], path: str) -> Call:
    """Return what multiplies a tensor by a number."""
    return functions[path]


def product_of_reciprocal(functions: Mapping[str, Call], path: str) -> Call:
    """Return what multiplies the reciprocal of a tensor by a number, as PyTorch's operator does."""
    reciprocal, multiply = functions["reciprocal"], functions["mul"]
    return lambda x, number: multiply(reciprocal(x), number)


# How a number is divided by, or multiplied by, a tensor of half precision: the number may be beyond that.
OF_HALF = {"mul": product, "truediv": product_of_reciprocal}


def reflected(classes: Classes, plain: Call, function: Call, kinds: str, of_half: Call, *, divides: bool) -> Call:
    """Return the operator that computes a function with its tensor as the second operand.

    Parameters
    ----------
    classes, plain, function, kinds : as for `binary`
    of_half : what computes the function of a tensor of half precision and a number
    divides : whether numbers beside integers are floating-point ones
    """
    plain = by_pointer(plain)

    def operator(self: Any, other: Any, /) -> Any:
        if type(self) in classes and kinds and goes_with(classes, self, other):
            return plain(self, other)
        if isinstance(other, Storage):
            return function(other, self)
        if type(other) in NUMBERS:
            dtype = of_number(self, other)
            if divides and dtype.kind in "bui":
                dtype = xp.get_default_dtype()
            if dtype == HALF:
                return of_half(self, other)
            if dtype.kind != "f":
                other = in_dtype_of(np.empty((), dtype), other)
            with np.errstate(over="ignore"):  # numbers beyond the dtype are infinite
                number = xp.asarray(other, dtype=dtype, like=self)
            return function(number, self)
        if isinstance(other, np.generic):
            return operator(self, other.item())
        return plain(self, other)

    return operator


def beside_numbers(array_ufunc: Call) -> Call:
    """Return what answers NumPy's functions with its numbers as Python's, as in `np.float64(2.0) * x`."""

    def answer(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        numbers = [x.item() if isinstance(x, np.generic) else x for x in inputs]
        return array_ufunc(self, ufunc, method, *numbers, **kwargs)

    return answer


def without_booleans(operator: Call, function: Call) -> Call:
    """Return a reflected operator that leaves a boolean to a function, which refuses it."""

    def checked(self: Any, other: Any, /) -> Any:
        if type(other) is bool:
            return function(self, other)
        return operator(self, other)

    return checked


def changing(classes: Classes, plain: Call, method: Call) -> Call:
    """Return the operator that changes its tensor in place."""
    plain = by_pointer(plain)

    def operator(self: Any, other: Any, /) -> Any:
        if type(self) in classes and goes_with(classes, self, other):
            return plain(self, other)
        if isinstance(other, Storage) or type(other) in NUMBERS:
            return method(self, other)
        if isinstance(other, np.generic):
            return method(self, other.item())
        return plain(self, other)

    return operator


def unary(classes: Classes, plain: Call, function: Call) -> Call:
    """Return the operator of one operand."""
    plain = by_pointer(plain)
    kinds = "f"
    refused = ""
    if function.__name__ == "bitwise_not":
        kinds, refused = "", "fc"

    def operator(self: Any, /) -> Any:
        kind = getattr(self.array.dtype, "kind", OTHER) if type(self) in classes else ""
        if kind and kind in kinds:
            return plain(self)
        if kind and kind in refused:
            raise TypeError(f"~ is only implemented on integer and Boolean-type tensors, found {self.dtype}")
        return function(self)

    return operator


def spreading(classes: Classes, path: str, function: Call) -> Call:
    """Return the method that takes the numbers of a list one by one, as in `x.permute(1, 0)`.

    Parameters
    ----------
    classes : of tensors and parameters
    path, function : the name, and what looks at the arguments
    """
    plain, least = OF_LENGTHS.get(path), 2 if path in OF_SEVERAL_NUMBERS else 1

    @functools.wraps(function)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if plain is not None and args and LENGTHS.issuperset(map(type, args)) and not kwargs and type(self) in classes:
            # Nothing is to be looked at.
            if min(args) >= -1:
                try:
                    y = plain(self, args)
                except Exception:  # noqa: BLE001, S110  # what looks at the arguments says it in PyTorch's words
                    pass
                else:
                    if type(y) in classes:
                        return y
        elif len(args) < least or isinstance(args[0], (tuple, list)) or not hasattr(args[0], "__index__"):
            return function(self, *args, **kwargs)
        return function(self, args, **kwargs)

    check: Any = getattr(function, "check", None)
    if check is not None:
        check.__self__.method = method
    return method


def in_place(classes: Classes, name: str, function: Call, plain: Call | None) -> Call:
    """Return the method that writes the result of the function of a name into its tensor.

    Parameters
    ----------
    classes : of tensors and parameters
    name : of the function
    function : gives the result
    plain : the method of `dispatchkit.Tensor` that does so
    """

    def cast_back(x: Any, *args: Any, **kwargs: Any) -> Any:
        return in_dtype(f"{name}_", x, function(x, *args, **kwargs))

    check: Any = getattr(function, "check", None)
    of_tensors = check is not None and takes_tensors_alone(check.__self__.signatures.overloads)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            known = plain is not None and not kwargs and type(self) in classes and (args or name not in ASKING)
            known = known and (len(args) < 2 or name not in WITH_FACTOR)
            known = known and not (of_tensors and type(next(iter(args), None)) in (int, float))
            known = known and (name not in ASKING or len({type(each) in classes for each in args}) == 1)
            if plain is not None and known and are_plain(classes, self, args):
                return plain(self, *args)
            if check is not None:
                y = ask(method, (self, *args), kwargs)
                if y is not NotImplemented:
                    return y
                check(f"{name}_", (self, *args), kwargs)
            if "dtype" in kwargs and dtype_name(kwargs["dtype"] or self.dtype) != dtype_name(self.dtype):
                raise RuntimeError(
                    f"Bad in-place call: input tensor dtype {self.dtype} and output tensor dtype {kwargs['dtype']} "
                    f"should match"
                )
            return change_by(cast_back, f"{name}_", self, args, kwargs)
        except Exception as error:  # noqa: BLE001  # raised again
            raise as_raised_by_pytorch(error) from error.__cause__

    method.__name__ = method.__qualname__ = f"{name}_"
    method.__doc__ = f"Write the result of `{function.__name__}` into the tensor."
    return method


def takes_tensors_alone(overloads: Sequence[Any]) -> bool:
    """Return whether the second argument of a function of two operands is no number."""
    second = [overload[1] for overload in overloads if len(overload) > 1]
    return bool(second) and all(argument.kind == "Tensor" for argument in second)


def where_asked(name: str, place: int, call: Call, first: Call) -> Call:
    """Return a caller that writes a result into the first argument, and returns that, where `inplace` is true.

    Parameters
    ----------
    name : of the function
    place : of the argument `inplace`
    call : gives the result of arguments by position and by name
    first : gives what arguments answer themselves, or `NotImplemented`
    """

    def answer(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        asked = kwargs.get("inplace", False)
        if len(args) > place + 1:
            raise TypeError(f"{name}() takes at most {place + 1} positional arguments but {len(args)} were given")
        if len(args) > place:
            asked = args[place]
        if not asked:
            # As a bool, which has part in the key of a plan by its value.
            if len(args) > place:
                args = (*args[:place], False)
            elif "inplace" in kwargs:
                kwargs["inplace"] = False
            return call(args, kwargs)
        y = first(args, kwargs)
        if y is not NotImplemented:
            return y
        others = [*args[1:place], *args[place + 1 :]]
        by_name = {key: value for key, value in kwargs.items() if key != "inplace"}
        # The first one may be given by its name.
        x = args[0] if args else by_name.pop("input")
        if not is_array(x):
            raise TypeError(f"{name}_(): argument 'input' (position 1) must be Tensor, not {type(x).__name__}")

        def result(x: Any, *others: Any, **by_name: Any) -> Any:
            return in_dtype(f"{name}_", x, call((x, *others), by_name))

        try:
            return change_by(result, f"{name}_", x, tuple(others), by_name)
        except Exception as error:  # noqa: BLE001  # raised again
            raise as_raised_by_pytorch(error) from error.__cause__

    return answer


def are_plain(classes: Classes, x: Any, args: tuple[Any, ...]) -> bool:
    """Return whether all arguments go with a floating-point tensor."""
    if not args:
        return bool(getattr(x.array.dtype, "kind", OTHER) == "f")
    return all(goes_with(classes, x, other) for other in args)


def in_dtype(name: str, x: Any, y: Any) -> Any:
    """Return a result in the dtype of the tensor that it is written into.

    Raises
    ------
    RuntimeError : if that is of a lower category
    """
    if not isinstance(y, Storage):
        return y
    result: Any = y
    own, found = numpy_dtype(x.dtype), numpy_dtype(result.dtype)
    if own == found:
        return y
    if name in OF_OWN_DTYPE:
        raise RuntimeError(f"{name}: the result is {found}, and the tensor's dtype is another: {own}")
    if CATEGORIES[found.kind] > CATEGORIES[own.kind]:
        raise RuntimeError(f"{name}: the result is {found}, which the tensor's dtype {own} cannot hold")
    return xp.astype(y, x.dtype)


def converting(dtype: str) -> Call:
    """Return the method that converts to a dtype; a layout changes nothing here."""
    wanted = np.dtype(getattr(xp, dtype))

    def method(self: Any, *, memory_format: Any = None) -> Any:
        if isinstance(self, Storage) and not self.is_tracer and self.array.dtype is wanted:
            return self
        return self.to(wanted)

    method.__doc__ = f"Return the tensor in the dtype {dtype}."
    return method
