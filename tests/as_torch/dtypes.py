"""Writes dispatchkit/as_torch/calling/dtypes.csv, which dtypes PyTorch's functions refuse: ``nox -s generated``.

PyTorch is asked: its samples of each operator are called with one of their arguments, or all that are of one dtype, in
each of the other dtypes. A dtype is refused if it is in all samples that have the argument. ``same`` means all but the
dtype of the others.
"""

from __future__ import annotations

import csv
import io
import operator
import warnings
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import SampleInput

from dispatchkit.as_torch import spelling
from dispatchkit.as_torch.calling.arguments import arguments_by_name

from .signatures import samples_of

__all__ = ["make_files"]

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64", "complex64", "complex128")
# What stands before the names of all arguments that are of one dtype in samples.
ALL = "*"
# What stands for all dtypes but that of the other arguments.
SAME = "same"
# Whose samples are of too few kinds to tell, or that take all dtypes of numbers that are arrays.
EXCLUDED = frozenset(
    {
        *("inner", "ldexp", "linspace", "logspace", "lu_unpack", "nn.functional.ctc_loss", "randint_like"),
        "nn.functional.hinge_embedding_loss",
    }
)


# Samples of a function that are made without elements.
MOST = 16


def make_files() -> dict[str, str]:
    """Return the table by its path."""
    return {"dispatchkit/as_torch/calling/dtypes.csv": make_table()}


def make_table() -> str:
    """Return the text of the table."""
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("path", "argument", "refused", "numbers", "empty"))
    writer.writerows(rows())
    return out.getvalue()


def rows() -> Iterator[tuple[str, ...]]:
    """Yield for each function and argument which dtypes are refused, and which are taken after all.

    These are those of numbers that are arrays, and of arrays without elements: of an argument by itself ``all``, where
    its dtype is not looked at then.
    """
    entered: dict[str, dict[str, tuple[str, ...]]] = {}
    for name in sorted({op.name for op in op_db} - EXCLUDED):
        ops = [op for op in op_db if op.name == name and not is_written(op)]
        aliases = [str(getattr(alias, "name", alias)) for op in ops for alias in op.aliases or ()]
        for path in (name, *aliases):
            if ops and path in spelling.FUNCTIONS and path not in entered:
                asked: list[Any] = ops
                if path != name:
                    asked = [UnderAlias(op, operator.attrgetter(path)(torch)) for op in ops]
                entered[path] = refused_of(path, asked)
                if results := refused_results(path, asked):
                    entered[path]["dtype"] = (results, "", "")
    for path in sorted(entered):
        for argument, texts in entered[path].items():
            yield path, argument, *texts


class UnderAlias:
    """An operator by another name of its function, which may refuse others.

    Parameters
    ----------
    whole : the operator, which has the samples
    op : the function of the other name
    """

    def __init__(self, whole: Any, op: Any) -> None:
        self.whole, self.op = whole, op

    def __getattr__(self, name: str) -> Any:
        return getattr(self.whole, name)


def is_written(op: Any) -> bool:
    """Return whether what is called is a function of PyTorch's tests, whose arguments may have another order."""
    return isinstance(op.op, FunctionType) and op.op.__module__.startswith("torch.testing.")


def refused_of(path: str, ops: list[Any]) -> dict[str, tuple[str, ...]]:
    """Return the dtypes that a function refuses by its arguments: of those in one dtype together, and of each.

    Beside them stand those that it takes after all of numbers that are arrays, which some functions copy, and of arrays
    without elements, which some do not look at.
    """
    whole = caller_of(path)
    if whole is None:
        return {}
    samples = samples_by_name(whole, ops)
    with_axes = [each for each in samples if next(iter(each[2].values())).ndim]
    group: dict[str, None] = {}
    for _, _, given in samples:
        group |= dict.fromkeys(name for name, x in given.items() if x.dtype is next(iter(given.values())).dtype)
    found = {}
    of_nothing, single_of_nothing = taken_of_nothing(samples), taken_of_nothing_by_argument(samples)
    of_numbers = taken_by_argument([each for each in samples if not next(iter(each[2].values())).ndim])
    for argument, (dtype, taken) in taken_by_argument(with_axes or samples).items():
        refused = [each for each in DTYPES if each not in taken]
        text = " ".join(refused)
        if taken == {dtype} and argument in group and len(group) > 1:
            text = SAME
        if text and taken and not (len(group) == 1 and argument in group):
            name = " ".join((ALL, *group)) if argument == ALL else argument
            further = (of_numbers.get(argument, ("", set()))[1], of_nothing)
            after_all = [" ".join(each for each in refused if each in also and text != SAME) for also in further]
            if argument != ALL:
                after_all[1] = "all" * (not single_of_nothing.get(argument, set(DTYPES)) <= taken)
            found[name] = (text, *after_all)
    return found


CUTS: tuple[Callable[[Any], Any], ...] = (lambda x: x[:0], lambda x: x[None][:0])


def without_elements(op: Any, sample: Any, given: dict[str, Any], cut: Any) -> tuple[Any, dict[str, Any]] | None:
    """Return a sample whose arrays are cut, and these by name; None where it is not taken."""
    cut_off = {name: cut(x) if x.ndim else x for name, x in given.items()}
    by_place = {id(x): cut_off[name] for name, x in given.items()}
    args = [by_place.get(id(value), value) for value in (sample.input, *sample.args)]
    kwargs = {name: by_place.get(id(value), value) for name, value in sample.kwargs.items()}
    cut_sample = SampleInput(args[0], args=tuple(args[1:]), kwargs=kwargs)
    if any(x.ndim for x in given.values()) and takes(op.op, cut_sample, [], ""):
        return cut_sample, cut_off
    return None


def taken_of_nothing(samples: Any) -> set[str]:
    """Return the dtypes that are taken of arrays without elements: no rows of samples, and no samples of a batch."""
    taken: list[set[str]] = []
    for op, sample, given in samples:
        first = next(iter(given.values())).dtype
        for cut in CUTS:
            whole = without_elements(op, sample, given, cut)
            empty = [x for x in whole[1].values() if x.ndim and x.dtype is first] if whole is not None else []
            if whole is not None and empty:
                taken.append({each for each in DTYPES if takes(op.op, whole[0], empty, each)})
    return set.intersection(*taken) if taken else set()


def taken_of_nothing_by_argument(samples: Any) -> dict[str, set[str]]:
    """Return the dtypes that each argument may have where arrays have no elements, all of them or the first alone."""
    taken: dict[str, set[str]] = {}
    for op, sample, given in samples[:MOST]:
        if len(given) < 2:
            continue
        first = next(iter(given.values()))
        for cut in (*CUTS, lambda x: x[:0] if x is first else x):  # noqa: B023  # called at once
            whole = without_elements(op, sample, given, cut)
            if whole is None:
                continue
            for name, x in whole[1].items():
                known = taken.setdefault(name, set())
                known |= {each for each in DTYPES if each not in known and takes(op.op, whole[0], [x], each)}
    return taken


def taken_by_argument(samples: Any) -> dict[str, tuple[str, set[str]]]:
    """Return the dtype in samples, and those that are taken, of each argument and of those of one dtype together."""
    taken: dict[str, tuple[str, set[str]]] = {}
    for op, sample, given in samples:
        first = next(iter(given.values())).dtype
        changes = {ALL: {name: x for name, x in given.items() if x.dtype is first}}
        if len(given) > 1:
            changes |= {name: {name: x} for name, x in given.items()}
        for argument, tensors in changes.items():
            dtype = name_of(next(iter(tensors.values())).dtype)
            _, known = taken.setdefault(argument, (dtype, set()))
            known.update(each for each in DTYPES if takes(op.op, sample, [*tensors.values()], each))
    return taken


def refused_results(path: str, ops: list[Any]) -> str:
    """Return the dtypes that a function refuses as its argument `dtype`."""
    whole = caller_of(path)
    if whole is None or "dtype" not in whole.targets or path == "nansum":
        return ""
    taken: set[str] = set()
    for op, sample, given in samples_by_name(whole, ops):
        first = next(iter(given.values()))
        if "dtype" not in sample.kwargs and first.dtype is torch.float64 and first.ndim:
            taken |= {each for each in DTYPES if takes(op.op, sample, [], "", dtype=getattr(torch, each))}
    refused = [each for each in DTYPES if taken and each not in taken]
    if "float32" in refused:
        refused = [each for each in refused if "int" in each or each == "bool"]  # the others fit other operands
    return " ".join(refused)


def caller_of(path: str) -> Any:
    """Return what calls a function, if that names its arguments."""
    check: Any = getattr(spelling.FUNCTIONS[path], "check", None)
    if check is None or check.__self__.several:
        return None
    return check.__self__


def samples_by_name(whole: Any, ops: list[Any]) -> list[tuple[Any, Any, dict[str, torch.Tensor]]]:
    """Return operators and samples whose arrays have elements and that are taken, and the arrays by name."""
    found: list[Any] = []
    with_dtype: list[Any] = []
    for op in ops:
        base = torch.float64
        if base not in op.dtypes:
            base = torch.int64
        for sample in samples_of(op, base):
            args = (sample.input, *sample.args)
            try:
                given = arguments_by_name(whole.path, whole.names, whole.targets, args, sample.kwargs)
            except TypeError:
                continue
            tensors = {name: value for name, value in given.items() if isinstance(value, torch.Tensor)}
            if tensors and all(x.numel() for x in tensors.values()) and takes(op.op, sample, [], ""):
                asked = sample.kwargs.get("dtype") is not None
                (with_dtype if asked else found).append((op, sample, tensors))
    return found or with_dtype


def name_of(dtype: torch.dtype) -> str:
    """Return the name of a dtype, as NumPy has it."""
    return str(dtype).removeprefix("torch.")


def takes(function: Any, sample: Any, tensors: list[torch.Tensor], dtype_of_tensors: str, **options: Any) -> bool:
    """Return whether a sample is taken with some of its tensors in another dtype."""

    def changed(value: Any) -> Any:
        if any(value is x for x in tensors):
            return value.detach().clone().to(getattr(torch, dtype_of_tensors))
        if isinstance(value, torch.Tensor):
            return value.detach().clone()
        return value

    args = [changed(value) for value in (sample.input, *sample.args)]
    kwargs = {name: changed(value) for name, value in sample.kwargs.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(*args, **kwargs, **options)
        except Exception:  # noqa: BLE001  # of any class
            return False
    return True
