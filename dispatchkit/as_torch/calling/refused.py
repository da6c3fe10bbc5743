"""Which dtypes PyTorch's functions refuse, of all their tensors together and of each beside the others.

`dtypes.csv` holds what PyTorch itself says of them; `nox -s generated` writes it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from numbers import Number
from typing import Any

import numpy as np

from dispatchkit.as_torch.calling.promotion import PROMOTING
from dispatchkit.as_torch.calling.signatures import NAMES
from dispatchkit.as_torch.table import NUMBERS_AS_OPERANDS
from dispatchkit.backends.arrays import dtype_name
from dispatchkit.graph.storage import Storage
from dispatchkit.resources import read_rows

__all__ = ["RefusedDtypes"]

# What stands before the names of arguments that are of one dtype.
ALL = "*"
# What stands for all dtypes but that of the other tensors.
SAME = frozenset({"same"})


def takes_no_pairs(given: dict[str, Any]) -> bool:
    """Return whether there are no neighbours along an axis to take the mean of."""
    y, axis = given["y"], given.get("dim", -1)
    return bool(y.ndim) and -y.ndim <= axis < y.ndim and not y.shape[axis]


def takes_no_axes(given: dict[str, Any]) -> bool:
    """Return whether there is no axis to take differences along."""
    return given.get("dim") == () or (given.get("dim") is None and not given["input"].ndim)


def takes_number(given: dict[str, Any]) -> bool:
    """Return whether one of two factors is a number."""
    return any(not x.ndim for x in tensors_of(given).values())


def is_l1_loss(given: dict[str, Any]) -> bool:
    """Return whether a loss is linear everywhere."""
    return bool(given.get("beta", 1.0) == 0)


def takes_plain_distances(given: dict[str, Any]) -> bool:
    """Return whether a loss is linear everywhere, and no mean of integers is asked for."""
    is_complex = np.dtype(dtype_name(given["input"].dtype)).kind == "c"
    return is_l1_loss(given) and (is_complex or given.get("reduction", "mean") != "mean")


def has_weights(given: dict[str, Any]) -> bool:
    """Return whether the terms of a loss are weighted, which PyTorch then computes step by step."""
    return given.get("weight") is not None


def takes_distances(given: dict[str, Any]) -> bool:
    """Return whether no mean of integers is asked for, or one with weights, whose dtype it has."""
    return given.get("reduction", "mean") != "mean" or has_weights(given)


# Kinds of elements that a function takes after all, and for which arguments.
AFTER_ALL: dict[str, tuple[str, Callable[[dict[str, Any]], bool]]] = {
    "gradient": ("b", takes_no_axes),
    "inner": ("b", takes_number),
    **dict.fromkeys(("trapezoid", "trapz"), ("b", takes_no_pairs)),
    **dict.fromkeys(("matrix_power", "linalg.matrix_power"), ("b", lambda given: given["n"] in (0, 1))),
    "nn.functional.hardtanh": ("u", lambda given: int(given.get("min_val", -1.0)) >= 0),
    "nn.functional.smooth_l1_loss": ("uic", takes_plain_distances),
    "nn.functional.l1_loss": ("ui", takes_distances),
    "nn.functional.mse_loss": ("ui", has_weights),
}
# Functions that are other ones for some arguments, and take the dtypes of these.
INSTEAD: dict[str, tuple[str, Callable[[dict[str, Any]], bool]]] = {
    "nn.functional.smooth_l1_loss": ("nn.functional.l1_loss", is_l1_loss),
}

# Norms, which take samples of half precision beside weights and statistics that are all of single precision.
NORMS = frozenset(
    {
        *(f"native_{kind}_norm" for kind in ("batch", "group", "layer")),
        *(f"nn.functional.{kind}_norm" for kind in ("batch", "group", "instance", "layer")),
    }
)
# Arguments that may be of another dtype than the others, whatever samples of a function show.
OF_OTHER_DTYPES: dict[str, tuple[str, ...]] = {"nn.functional.instance_norm": ("running_mean", "running_var")}


def are_mixed(dtypes: dict[str, str]) -> bool:
    """Return whether samples are of half precision, and all else of single precision."""
    return (
        dtypes.get("input") == "float16"
        and {*dtypes.values()} == {"float16", "float32"}
        and ([*dtypes.values()].count("float16") == 1)
    )


@cache
def _table() -> dict[str, dict[str, list[frozenset[str]]]]:
    table: dict[str, dict[str, list[frozenset[str]]]] = {}
    for row in read_rows(__package__, "dtypes.csv"):
        dtypes = [frozenset(row[column].split()) for column in ("refused", "numbers", "empty")]
        table.setdefault(row["path"], {})[row["argument"]] = dtypes
    return table


def is_empty(given: dict[str, Any]) -> bool:
    """Return whether a tensor among arguments has no elements."""
    return any(0 in x.shape for x in tensors_of(given).values())


def tensors_of(given: dict[str, Any]) -> dict[str, Any]:
    """Return the tensors among arguments, by their names."""
    return {name: x for name, x in given.items() if isinstance(x, Storage)}


class RefusedDtypes:
    """The dtypes that a function of PyTorch refuses.

    Parameters
    ----------
    path : of the function

    Attributes
    ----------
    together : arguments that are of one dtype, and the dtypes that these refuse; None where they take all
    single, single_of_nothing : dtypes that an argument refuses where it is not of the dtype of the others, where there
        are elements, and where there are none
    of_numbers, of_nothing : dtypes of these that are taken where the first tensor has no axes, or one no elements
    results : dtypes that a result cannot be asked for in
    kinds : of which some dtype is refused, as NumPy abbreviates them
    after_all : kinds that are taken after all, and what says for which arguments
    instead : the dtypes of the function that this one is for some arguments, and what says for which
    is_norm : whether samples may be of half precision, and all else of single precision
    others : arguments that may be of other dtypes
    """

    def __init__(self, path: str) -> None:
        self.name = path.rpartition(".")[2]
        self.after_all = AFTER_ALL.get(path)
        self.instead: tuple[RefusedDtypes, Callable[[dict[str, Any]], bool]] | None = None
        if path in INSTEAD:
            other, is_other = INSTEAD[path]
            self.instead = RefusedDtypes(other), is_other
        # Numbers are operands of functions whose operands have a dtype in common.
        self.numbers = NUMBERS_AS_OPERANDS - {"value"} if path in PROMOTING else frozenset()
        rows = dict(_table().get(path, {}))
        self.results, *_ = rows.pop("dtype", [frozenset()])
        self.is_norm, self.others = path in NORMS, OF_OTHER_DTYPES.get(path, ())
        for name in self.others:
            rows.pop(name, None)
        self.group: tuple[str, ...] = ()
        self.together: frozenset[str] = frozenset()
        self.of_numbers: frozenset[str] = frozenset()
        self.of_nothing: frozenset[str] = frozenset()
        for names in list(rows):
            if names.startswith(ALL):
                self.group = tuple(names.split()[1:])
                self.together, self.of_numbers, self.of_nothing = rows.pop(names)
        self.single = {name: refused for name, (refused, *_) in rows.items()}
        self.single_of_nothing = {name: refused for name, (refused, _, empty) in rows.items() if not empty}
        self.kinds = "".join(sorted({np.dtype(name).kind for name in self.together}))

    def __bool__(self) -> bool:
        """Return whether anything is refused."""
        return bool(self.together or self.single or self.results)

    def check(self, given: dict[str, Any]) -> bool:
        """Raise if a tensor of a call has a dtype that is refused.

        Parameters
        ----------
        given : arguments by name

        Returns
        -------
        bool
            Whether dtypes were looked at, which they are not where a tensor has no elements.

        Raises
        ------
        NotImplementedError : naming the dtype
        RuntimeError : naming the argument, too
        """
        if self.instead is not None and self.instead[1](given):
            return self.instead[0].check(given)
        dtypes = {name: dtype_name(x.dtype) for name, x in tensors_of(given).items()}
        if given.get("dtype") is not None:
            if not (self.of_nothing and is_empty(given)):
                self.check_result(dtype_name(given["dtype"]))
            return True
        of_group = {dtypes[name] for name in self.group if name in dtypes}
        numbers = self.numbers.union(self.group)
        has_numbers = any(isinstance(given.get(name), Number) for name in numbers)
        if len(of_group) == 1 and not has_numbers:
            (dtype,) = of_group
            if dtype in self.together and not self.is_exempt(given, dtype):
                raise NotImplementedError(f'"{self.name}" not implemented for {NAMES[dtype]!r}')
        empty = is_empty(given)
        for name, refused in (self.single_of_nothing if empty else self.single).items():
            if name in dtypes and not (name in self.group and len(of_group) == 1):
                self.check_single(name, dtypes, refused)
        return not empty

    def is_exempt(self, given: dict[str, Any], dtype: str) -> bool:
        """Return whether a dtype is taken after all, of numbers that are arrays or where there are no elements."""
        if self.after_all is not None:
            kinds, takes = self.after_all
            if np.dtype(dtype).kind in kinds and takes(given):
                return True
        if is_empty(given):
            return dtype in self.of_nothing
        x: Any = next((x for x in given.values() if isinstance(x, Storage)), None)
        return dtype in self.of_numbers and x is not None and not x.ndim

    def check_single(self, name: str, dtypes: dict[str, str], refused: frozenset[str]) -> None:
        """Raise if a tensor has a dtype that is refused beside the others."""
        dtype = dtypes[name]
        if refused != SAME:
            # Beside complex numbers, others are.
            fits = dtype.startswith("complex") and any(
                other != name and dtypes[other].startswith("complex") for other in dtypes
            )
            if dtype in refused and not fits:
                raise RuntimeError(
                    f"{self.name}(): expected argument {name!r} to have another dtype, but got {NAMES[dtype]}"
                )
            return
        if self.is_norm and are_mixed({name: dtype for name, dtype in dtypes.items() if name not in self.others}):
            return
        others = [other for other in self.group if self.single.get(other) == SAME]
        for other in (*self.group[:1], *others):
            if other in dtypes and dtypes[other] != dtype:
                raise RuntimeError(
                    f"{self.name}(): expected tensors of one dtype, but got {NAMES.get(dtype, dtype)} for {name!r} and "
                    f"{NAMES.get(dtypes[other], dtypes[other])} for {other!r}"
                )

    def check_result(self, dtype: str) -> None:
        """Raise if a result cannot be asked for in a dtype."""
        if dtype in self.results:
            raise NotImplementedError(f'"{self.name}" not implemented for {NAMES[dtype]!r} as the dtype of its result')
