"""What PyTorch's functions take: the kinds of elements, and the types of arguments.

`signatures.csv` holds what PyTorch itself says of them; `nox -s generated` writes it.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from dispatchkit.as_torch.table import SYNONYMS, SYNONYMS_OF, UNUSED, is_array
from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.resources import read_rows

__all__ = [
    "OF_LENGTHS",
    "OF_ONE_LENGTH",
    "Argument",
    "Signatures",
    "check_single_types",
    "check_types",
    "numbers_of",
    "signatures_of",
]

# What PyTorch's classes of dtypes are called, by NumPy's names.
NAMES = {
    "bool": "Bool",
    "uint8": "Byte",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "float32": "Float",
    "float64": "Double",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}
# Not looked at: they change nothing here, or are taken in other forms, too.
FREE = frozenset({"Any", "Generator", "Device", "Layout", "MemoryFormat", "Storage", "Dimname", "ScalarType"})
# Where numbers stand for tensors.
NUMBERS_TOO = frozenset(
    {
        *("add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "floor_divide", "remainder"),
        *("fmod", "pow", "float_power", "where", "rsub", "xlogy", "special.xlogy", "linspace", "logspace"),
    }
)
# Where numbers stand for the first tensor, too.
NUMBERS_FIRST = frozenset({"add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "floor_divide"})
# Of which one of two operands is a tensor.
OF_A_TENSOR = frozenset({"pow", "float_power", "remainder", "xlogy", "special.xlogy"})
# Which make a whole number of one of any kind, where that is an array.
IN_WHOLE_NUMBERS = frozenset({"split"})
ARGUMENT = re.compile(
    r"(?P<kind>\w+)(?P<list>\[\d*\])?(?P<optional>\?)?(?P<lists>\[\])? (?P<name>\w+)(?P<default>=.*)?"
)


class Argument(NamedTuple):
    """An argument of a function.

    Attributes
    ----------
    name : of the argument
    kind : what it is: "Tensor", "int", "Scalar" and so on
    several : whether it is a list of them
    single : whether one alone may stand for the list
    optional : whether None may stand for it
    has_default : whether it may be left out
    by_name : whether it is given by name alone
    """

    name: str
    kind: str
    several: bool
    single: bool
    optional: bool
    has_default: bool
    by_name: bool


class Signatures(NamedTuple):
    """What a function takes.

    Attributes
    ----------
    refused : kinds of elements that it does not take, by the letters of NumPy
    as_floats : whether integers and booleans count as numbers of the default dtype
    keeps : whether integers stay integers of their dtype
    out : "" where it takes no tensors that its results are written into, "same" where these must be of the dtype of
        the result, "dtype" where theirs is the dtype to compute in, and "yes" where the result is cast
    results : the names of its results, if it has several
    names : of its arguments in order, where PyTorch's function is one of Python
    passed_on : the arguments that PyTorch's function of Python passes on to others, which look at their types
    overloads : the arguments of each form; empty where PyTorch looks at them in Python
    """

    refused: str
    as_floats: bool
    keeps: bool
    out: str
    results: tuple[str, ...]
    names: tuple[str, ...]
    passed_on: tuple[Argument, ...]
    overloads: tuple[tuple[Argument, ...], ...]

    @property
    def takes_out(self) -> bool:
        """Whether it writes its results into tensors that are given as `out`."""
        return bool(self.out)


NONE = Signatures("", False, False, "", (), (), (), ())


@cache
def _table() -> dict[str, Signatures]:
    table = {}
    for row in read_rows(__package__, "signatures.csv"):
        overloads = tuple(_arguments(text) for text in row["signatures"].split(" | ") if text)
        flags = (row["as_floats"] == "yes", row["keeps"] == "yes", row["out"])
        results, names = tuple(row["results"].split()), tuple(row["names"].split())
        passed_on = _arguments(row["passed_on"]) if row["passed_on"] else ()
        table[row["path"]] = Signatures(row["refused"], *flags, results, names, passed_on, overloads)
    return table


def signatures_of(path: str) -> Signatures:
    """Return what PyTorch says of a function, by its path."""
    return _table().get(path, NONE)


def _arguments(text: str) -> tuple[Argument, ...]:
    arguments = []
    by_name = False
    for part in re.split(r", (?![^\[]*\])", text):
        if part == "*":
            by_name = True
            continue
        match = ARGUMENT.fullmatch(part)
        assert match is not None, part
        length = match["list"]
        several = bool(length or match["lists"])
        name = match["name"]
        arguments.append(
            Argument(
                "input" if name == "self" and match["kind"] == "Tensor" else name,
                match["kind"],
                several,
                bool(length and length != "[]"),
                bool(match["optional"]) or match["default"] == "=[]",
                bool(match["default"]),
                by_name,
            )
        )
    return tuple(arguments)


# Arguments that functions of Python pass on as they are, to others that look at their types.
PASSED_ON = {
    **{
        f"nn.functional.max_pool{axes}d": f"int[{axes}] kernel_size, int[{axes}]? stride, int[{axes}]? padding, "
        f"int[{axes}]? dilation, bool ceil_mode"
        for axes in (1, 2, 3)
    },
    **{
        f"nn.functional.adaptive_{kind}_pool{axes}d": f"int[{axes}]? output_size"
        for kind in ("avg", "max")
        for axes in (1, 2, 3)
    },
    "cdist": "Tensor x1, Tensor x2",
    **dict.fromkeys(("nn.functional.softmax", "nn.functional.log_softmax", "nn.functional.softmin"), "int? dim"),
    "linspace": "Tensor start, Tensor end, int steps, ScalarType? dtype, Device? device",
    "logspace": "Tensor start, Tensor end, int steps, float base, ScalarType? dtype, Device? device",
    **dict.fromkeys(("imag", "real", "transpose"), "Tensor input"),
    **dict.fromkeys(("tril_indices", "triu_indices"), "int row, int col, int offset"),
    "eye": "int n, int m",
    "full": "int[] size",
    **dict.fromkeys(("zeros", "ones", "empty", "rand", "randn"), "int[1] size"),
    "bernoulli": "Tensor input",
    "nn.functional.embedding": "int? padding_idx, bool scale_grad_by_freq, bool sparse",
    "nn.functional.fold": "int[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride",
    "nn.functional.unfold": "int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride",
    "nonzero": "Tensor input",
    "unique_consecutive": "Tensor input, bool return_inverse, bool return_counts, int? dim",
    "unique": "int? dim",
    "lu": "Tensor A, bool pivot",
    "nn.functional.local_response_norm": "int size",
    "nn.functional.hardtanh": "Scalar min_val, Scalar max_val",
    "norm": "int[1]? dim, bool keepdim",
    "meshgrid": "str? indexing",
    "unravel_index": "Tensor indices",
    "split": "Tensor tensor, int dim",
    "unflatten": "Tensor input, int dim",
}
TYPES = {path: _arguments(text) for path, text in PASSED_ON.items()}


def types_of(path: str) -> tuple[Argument, ...]:
    """Return the arguments that a function of Python passes on as they are."""
    return (*signatures_of(path).passed_on, *TYPES.get(path, ()))


# Kinds of elements of tensors without axes that stand for numbers.
OF_NUMBERS = {"int": "iu", "float": "biufc", "Scalar": "biufc"}
# Orders of norms, which may be words, too.
ORDERS = {"norm": "p", "linalg.norm": "ord", "linalg.matrix_norm": "ord"}
# And for numbers in lists, such as lengths and axes.
OF_LENGTHS = "biu"
# The same of an argument that is one number or several, which an array of one number with axes stands for, too.
OF_ONE_LENGTH = "iub"


@cache
def numbers_of(path: str) -> dict[str, str]:
    """Return the arguments of a function that are numbers or lists of them, and kinds of tensors that stand for these.

    Parameters
    ----------
    path : of the function
    """
    kinds: dict[str, str] = {}
    tensors = set()
    for argument in itertools.chain(*signatures_of(path).overloads, types_of(path)):
        if argument.kind == "Any":
            continue
        if argument.kind not in OF_NUMBERS:
            tensors |= {argument.name, SYNONYMS_OF.get(path, {}).get(argument.name, argument.name)}
        elif argument.several and argument.kind == "int":
            kinds[argument.name] = OF_ONE_LENGTH if argument.single else OF_LENGTHS
        else:
            kinds[argument.name] = OF_NUMBERS[argument.kind]
    found = {name: letters for name, letters in kinds.items() if name not in tensors}
    if path in ORDERS:
        found[ORDERS[path]] = OF_NUMBERS["Scalar"]
    return found


def _least(overload: Sequence[Any]) -> int:
    """Return how many arguments a form of a function takes at least."""
    return sum(not argument.has_default for argument in overload)


def check_types(path: str, args: Sequence[Any], kwargs: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Raise if none of the forms of a function takes arguments of such types.

    Parameters
    ----------
    path : of the function
    args, kwargs : of the call
    given : the arguments by name, as far as names are known

    Raises
    ------
    TypeError : naming the argument at fault, where there is one form, and all forms otherwise
    """
    check_single_types(path, given)
    overloads = signatures_of(path).overloads
    if len(args) + len(kwargs) < least_of(path):
        if len(overloads) == 1:
            check_presence(path, overloads[0], args, kwargs)
        return  # the function itself says what is missing
    if not overloads or any(_takes(path, overload, args, kwargs) for overload in overloads):
        return
    name = path.rpartition(".")[2]
    known = {argument.name for overload in overloads for argument in overload}
    for keyword in kwargs:
        if keyword not in known and SYNONYMS.get(keyword) not in known and not _is_left_out(path, keyword, None):
            cure = ""
            if keyword == "out":
                cure = f"; there is no out: assign the result, as in out[...] = {name}(...)"
            raise TypeError(f"{name}() got an unexpected keyword argument {keyword!r}{cure}")
    if len(overloads) == 1:
        for place, argument in enumerate(overloads[0]):
            value = kwargs.get(argument.name, given.get(argument.name))
            if place < len(args):
                value = args[place]
            present = argument.name in given or argument.name in kwargs or place < len(args)
            if present and not _fits(path, argument, value):
                raise TypeError(
                    f"{name}(): argument {argument.name!r} (position {place + 1}) must be {_kind(argument)}, not "
                    f"{name_of_type(value)}"
                )
        check_presence(path, overloads[0], args, kwargs)
        return  # the function itself says what is not known
    types = [*map(name_of_type, args), *(f"{key}={name_of_type(value)}" for key, value in kwargs.items())]
    raise TypeError(
        f"{name}() received an invalid combination of arguments: got ({', '.join(types)}), but expected "
        f"{' or '.join(f'({_form(overload)})' for overload in overloads)}"
    )


def check_single_types(path: str, given: Mapping[str, Any]) -> None:
    """Raise for an argument of another type than functions of Python pass on.

    Raises
    ------
    TypeError : naming it
    """
    for argument in types_of(path):
        if argument.name in given and not _fits(path, argument, given[argument.name]):
            place, names = "", signatures_of(path).names
            if argument.name in names:
                place = f" (position {names.index(argument.name) + 1})"
            raise TypeError(
                f"{path.rpartition('.')[2]}(): argument {argument.name!r}{place} must be {_kind(argument)}, not "
                f"{name_of_type(given[argument.name])}"
            )


def name_of_type(value: Any) -> str:
    """Return the name of an argument's type, and for a tensor of PyTorch itself what makes it one of this module."""
    cls = type(value)
    if cls.__module__.partition(".")[0] == "torch":
        name = f"{cls.__module__}.{cls.__name__}"
        if hasattr(value, "detach"):
            name += "; write torch.from_numpy(x.detach().numpy()) for it"
        return name
    return cls.__name__


def least_of(path: str) -> int:
    """Return how many arguments a function takes at least; 0 where PyTorch looks at them in Python."""
    return min(map(_least, signatures_of(path).overloads), default=0)


@cache
def forms_of_method(path: str) -> tuple[tuple[Argument, ...], ...]:
    """Return the forms of a method, where that has not all forms of the function; none elsewhere."""
    overloads = signatures_of(path).overloads
    of_tensor = tuple(overload for overload in overloads if overload and overload[0].name == "input")
    if len(of_tensor) == len(overloads):
        return ()
    return of_tensor


def check_method(
    path: str, forms: Sequence[Sequence[Argument]], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """Raise if an argument is missing in all forms of a method.

    Raises
    ------
    TypeError : saying how many there are, or naming the forms
    """
    for form in forms:
        missing = {argument.name for argument in form[len(args) :] if not argument.has_default}
        if missing <= {SYNONYMS.get(key, key) for key in kwargs} | kwargs.keys():
            return
    count, least = len(args) + len(kwargs), min(map(_least, forms))
    if count < least:
        raise TypeError(f"{path}() takes at least {least} arguments, found {count}")
    types = [*map(name_of_type, args[1:]), *(f"{key}={name_of_type(value)}" for key, value in kwargs.items())]
    raise TypeError(
        f"{path}() received an invalid combination of arguments: got ({', '.join(types)}), but expected "
        f"{' or '.join(f'({_form(form[1:])})' for form in forms)}"
    )


def check_presence(path: str, overload: Sequence[Argument], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Raise for an argument that is missing.

    Raises
    ------
    TypeError : naming it
    """
    for argument in overload[len(args) :]:
        names = [argument.name, *(name for name, meant in SYNONYMS.items() if meant == argument.name)]
        if not argument.has_default and not any(name in kwargs for name in names):
            name = path.rpartition(".")[2]
            raise TypeError(f"{name}() missing 1 required positional argument: {argument.name!r}")


def _kind(argument: Argument) -> str:
    words = {"Scalar": "Number", "Tensor": "Tensor", "ScalarType": "torch.dtype"}
    kind = words.get(argument.kind, argument.kind)
    if argument.several:
        return f"tuple of {kind}s"
    return kind


def _form(overload: Sequence[Argument]) -> str:
    return ", ".join(f"{_kind(argument)} {argument.name}" for argument in overload)


def _takes(path: str, overload: Sequence[Argument], args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    places = [argument for argument in overload if not argument.by_name]
    left = dict(kwargs)
    if path in OF_A_TENSOR and not any(is_array(value) for value in (*args, *kwargs.values())):
        return False
    if len(args) > len(places):
        return False
    for place, argument in enumerate(overload):
        if place < len(args) and not argument.by_name:
            value = args[place]
        else:
            names = [argument.name, *(name for name, meant in SYNONYMS.items() if meant == argument.name)]
            name = next((name for name in names if name in left), None)
            if name is None:
                if not argument.has_default:
                    return False
                continue
            value = left.pop(name)
        if not _fits(path, argument, value):
            return False
    return all(_is_left_out(path, name, value) for name, value in left.items())


def _is_left_out(path: str, name: str, value: Any) -> bool:
    """Return whether an argument that is in no form of a function says nothing."""
    if name == "out":
        return value is None and signatures_of(path).takes_out
    return name in IGNORED_NAMES or (value is None and path in UNUSED.get(name, ()))


IGNORED_NAMES = frozenset({"like", "device", "layout", "pin_memory", "memory_format", "requires_grad"})


def _fits(path: str, argument: Argument, value: Any) -> bool:
    if value is None and argument.kind == "Any":
        return True
    if value is None:
        # Which may mean that it is left out.
        return argument.optional or (argument.has_default and argument.kind in FREE)
    if argument.several:
        if isinstance(value, (tuple, list)):
            # Of whole numbers, the first alone may be no boolean.
            return all(
                _is_of(path, argument, each)
                or _is_index(argument, each)
                or (each is None and argument.optional)
                or (place and argument.kind == "int" and isinstance(each, bool))
                for place, each in enumerate(value)
            )
        becomes_whole = path in IN_WHOLE_NUMBERS and _is_real_number(value)
        return argument.single and (becomes_whole or _is_of(path, argument, value) or _is_index(argument, value))
    return _is_of(path, argument, value)


def _is_of(path: str, argument: Argument, value: Any) -> bool:
    kind = argument.kind
    if kind == "ScalarType":
        return not isinstance(value, (Number, tuple, list)) and not is_array(value)
    if kind == "Device":
        return not isinstance(value, (float, tuple, list)) and not is_array(value)
    if kind in FREE:
        return True
    if kind == "Tensor":
        taken = NUMBERS_FIRST if argument.name == "input" else NUMBERS_TOO
        is_number = path in taken and argument.name != "condition" and isinstance(value, Number)
        return is_array(value) or is_number
    if kind == "bool":
        return isinstance(value, (bool, np.bool_))
    if kind == "str":
        return isinstance(value, str)
    single = is_array(value) and value.ndim == 0 and not getattr(value, "requires_grad", False)
    if kind == "int":
        if single:
            return bool(numpy_dtype(value.dtype).kind in "iu")
        return hasattr(value, "__index__") and not isinstance(value, (bool, np.bool_)) and not is_array(value)
    if kind == "Scalar":
        return single or (isinstance(value, Number) and not is_array(value))
    if kind == "float":
        return single or isinstance(value, (int, float, np.number))
    return True


def _is_index(argument: Argument, value: Any) -> bool:
    """Return whether a value is an array of one whole number or truth, which stands for a number in a list of them."""
    if argument.kind != "int" or not is_array(value) or getattr(value, "requires_grad", False):
        return False
    return math.prod(value.shape) == 1 and numpy_dtype(value.dtype).kind in "biu"


def _is_real_number(value: Any) -> bool:
    """Return whether a value is an array of one real number."""
    return bool(is_array(value) and math.prod(value.shape) == 1 and numpy_dtype(value.dtype).kind in "buif")
