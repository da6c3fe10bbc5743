"""What a call gives in both libraries, and in what the two differ."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

import dispatchkit as dk
import dispatchkit.as_torch as spelled

from .calls import Call, Dtype, are_finite_arguments, arrays_in, built, mapped
from .faults import has_two_faults, is_seen_with_elements, with_finite_numbers
from .transformations import transformed

__all__ = ["SORTS", "Difference", "compare"]

SPELLED: Any = spelled
SORTS = (
    *("crash", "value", "operand", "shape", "dtype", "parts", "refused here", "taken here", "class of error"),
    *("memory", "gradient", "second gradient"),
)
# What numbers may differ in, in the order in which they are compared.
OF_NUMBERS = ("value", "gradient", "second gradient")
# Drawn, or read before they are filled.
DRAWN = frozenset(
    {
        *("bernoulli", "multinomial", "poisson", "rand_like", "randn_like", "randint_like", "empty_like", "new_empty"),
        *(
            "nn.functional.dropout",
            "nn.functional.alpha_dropout",
            "nn.functional.rrelu",
            "nn.functional.feature_dropout",
        ),
        *(
            "nn.functional.feature_alpha_dropout",
            "dropout",
            "cauchy",
            "exponential",
            "geometric",
            "log_normal",
            "normal",
        ),
        *("random", "uniform", "binomial", "svd_lowrank", "pca_lowrank", "nn.functional.dropout1d", "alpha_dropout"),
        *("nn.functional.dropout2d", "nn.functional.dropout3d", "empty", "empty_strided", "feature_dropout", "rrelu"),
        *("feature_alpha_dropout", "nn.functional.gumbel_softmax"),
    }
)
# Determined up to factors or an order.
FACTORS = frozenset(
    {
        *(
            "linalg.eig",
            "linalg.eigh",
            "linalg.svd",
            "svd",
            "linalg.qr",
            "qr",
            "linalg.eigvals",
            "linalg.lstsq",
            "geqrf",
        ),
        *("linalg.householder_product", "orgqr", "ormqr", "linalg.ldl_factor", "linalg.ldl_factor_ex"),
    }
)


@dataclass(frozen=True)
class Difference:
    """In what the two libraries differ about a call.

    Attributes
    ----------
    call : which
    sort : one of `SORTS`
    text : what was found
    proved : whether the call has two faults that both libraries refuse, each alone
    filled : whether one library refuses the call, and both do so where arrays without elements have some
    tamed : whether numbers differ, and these agree where finite ones stand for infinities and NaN
    part : the name of the part of the result that differs, where parts have names
    """

    call: Call
    sort: str
    text: str
    proved: bool = False
    filled: bool = False
    tamed: bool = False
    part: str = ""


@dataclass
class Outcome:
    """What came of a call in one library."""

    args: Any = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    memories: list[Any] = field(default_factory=list)
    result: Any = None
    error: BaseException | None = None
    absent: bool = False


def is_drawn(call: Call) -> bool:
    """Return whether the result of a call is random."""
    drops = call.kwargs.get("dropout_p", 0.0)
    if call.path == "nn.functional.scaled_dot_product_attention":
        drops = (*call.args, *(0.0,) * 5)[4] or drops
    return call.path in DRAWN or bool(drops)


def function_of(call: Call, module: Any) -> Any:
    """Return what is called in a library; the arguments are given to it."""
    if call.form in ("method", "in place"):
        return lambda x, *args, **kwargs: getattr(x, call.name)(*args, **kwargs)
    if call.form == "operator":
        return getattr(operator, call.path)
    if call.form == "item":
        return operator.getitem
    if call.form == "set item":
        return set_item
    place = module
    for name in call.path.split("."):
        place = getattr(place, name)
    return place


def set_item(x: Any, key: Any, value: Any) -> Any:
    """Assign to an index, and return the array."""
    x[key] = value
    return x


def outcome_of(call: Call, module: Any) -> Outcome:
    """Return what comes of a call in a library."""
    outcome = Outcome()
    try:
        outcome.args, outcome.kwargs, outcome.memories = built(call, module)
    except Exception:  # noqa: BLE001  # a layout that the shape does not have
        outcome.absent = True
        return outcome
    args, kwargs = outcome.args, dict(outcome.kwargs)
    if call.form in ("method", "in place"):
        if not args:
            name = next((name for name in ("input", "A", "x") if name in kwargs), None)
            if name is None:
                outcome.absent = True
                return outcome
            args = (kwargs.pop(name),)
        holder = torch.Tensor if module is torch else SPELLED.Tensor
        if not isinstance(args[0], holder) or not hasattr(holder, call.name):
            outcome.absent = True
            return outcome
    try:
        function = function_of(call, module)
    except AttributeError:
        outcome.absent = True
        return outcome
    try:
        if call.form == "transformed":
            outcome.result = transformed(module, function, call, args, kwargs)
        else:
            outcome.result = function(*args, **kwargs)
    except Exception as error:  # noqa: BLE001  # compared
        outcome.error = error
    return outcome


def plain(value: Any) -> Any:
    """Return the elements of a tensor of either library."""
    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided:
            value = value.to_dense()
        return value.detach().resolve_conj().resolve_neg().numpy(force=True)
    return value.detach().numpy()


def leaves(value: Any) -> list[Any]:
    """Return the parts of a result, in order."""
    if isinstance(value, (list, tuple)):
        return [leaf for member in value for leaf in leaves(member)]
    return [value]


def errors_of(call: Call) -> tuple[BaseException | None, BaseException | None, bool]:
    """Return the errors of a call here and in PyTorch, and whether both refuse it, with errors of one class."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        theirs, ours = outcome_of(call, torch), outcome_of(call, SPELLED)
    if ours.error is None or theirs.error is None:
        return ours.error, theirs.error, False
    return ours.error, theirs.error, compared_errors(call, ours, theirs) == "refused by both"


def compare(call: Call, good: Iterable[Call] = ()) -> Difference | str:
    """Make a call of both libraries, and return in what they differ, or a word for what came of it.

    Parameters
    ----------
    call : which
    good : calls of the same function that agree, whose arguments may stand for those that are at fault
    """
    found = compare_once(call)
    if isinstance(found, Difference) and found.sort == "class of error":
        return replace(found, proved=has_two_faults(call, good, errors_of))
    if isinstance(found, Difference) and found.sort in ("refused here", "taken here"):
        return replace(found, filled=is_seen_with_elements(call, errors_of))
    if isinstance(found, Difference) and found.sort in OF_NUMBERS and not are_finite_arguments(call):
        other = compare_once(with_finite_numbers(call))
        later = isinstance(other, Difference) and other.sort in OF_NUMBERS[OF_NUMBERS.index(found.sort) + 1 :]
        return replace(found, tamed=later or other == "agree")
    return found


def compare_once(call: Call) -> Difference | str:
    """Make a call of both libraries, and return in what they differ, or a word for what came of it."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        theirs = outcome_of(call, torch)
        if theirs.absent:
            return "absent there"
        if "storage that is not resizable" in str(theirs.error):
            return "absent there"  # the memory that calls are made of is NumPy's
        ours = outcome_of(call, SPELLED)
        if ours.absent:
            return "absent here"
        return compared(call, ours, theirs)


def compared(call: Call, ours: Outcome, theirs: Outcome) -> Difference | str:
    if theirs.error is not None or ours.error is not None:
        return compared_errors(call, ours, theirs)
    found = compared_results(call, ours.result, theirs.result)
    if call.form == "transformed":
        return found or "agree"
    if found is None:
        found = compared_operands(call, ours, theirs)
    if found is None:
        found = compared_memory(call, ours, theirs)
    if found is None and any(array.gradient for array in arrays_in((call.args, call.kwargs))):
        found = compared_gradients(call, ours, theirs)
    return found or "agree"


def said(error: BaseException | None) -> str:
    """Return the class and first line of an error."""
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first[:150]}"


def compared_errors(call: Call, ours: Outcome, theirs: Outcome) -> Difference | str:
    if theirs.error is None:
        if isinstance(ours.error, (AssertionError, AttributeError, KeyError, UnboundLocalError, ZeroDivisionError)):
            return Difference(call, "crash", said(ours.error))
        return Difference(call, "refused here", said(ours.error))
    if "not implemented for" in str(theirs.error) or "not supported" in str(theirs.error):
        wanted: Any = (RuntimeError, TypeError)
    else:
        wanted = next(
            each
            for each in (IndexError, RuntimeError, TypeError, ValueError, Exception)
            if isinstance(theirs.error, each)
        )
    if ours.error is None:
        return Difference(call, "taken here", said(theirs.error))
    if not isinstance(ours.error, wanted):
        return Difference(call, "class of error", f"{said(ours.error)} | {said(theirs.error)}")
    return "refused by both"


def compared_results(call: Call, ours: Any, theirs: Any) -> Difference | None:
    one, other = leaves(ours), leaves(theirs)
    names = getattr(type(theirs), "n_fields", None)
    if names is not None:
        for name in dir(theirs):
            value = getattr(theirs, name)
            if isinstance(value, torch.Tensor) and name[0] != "_" and not hasattr(ours, name):
                return Difference(call, "parts", f"the result has no {name}: {type(ours).__name__}")
    if len(one) != len(other) or isinstance(ours, (list, tuple)) is not isinstance(theirs, (list, tuple)):
        return Difference(
            call, "parts", f"{len(one)} in {type(ours).__name__}, {len(other)} in {type(theirs).__name__}"
        )
    for place, (x, y) in enumerate(zip(one, other, strict=True)):
        found = compared_part(call, x, y)
        if found is not None and place == 1 and hasattr(theirs, "indices"):
            return Difference(call, found.sort, f"indices: {found.text}")
        if found is None:
            continue
        if names is not None:
            found = replace(found, part=type(theirs).__match_args__[place])
        if found.sort == "value" and not are_finite_arguments(call):
            found = replace(found, text=f"an operand is not finite: {found.text}")
        return found
    return None


def compared_part(call: Call, x: Any, y: Any) -> Difference | None:
    if not isinstance(y, torch.Tensor):
        if isinstance(y, (torch.dtype, torch.device)):
            return None if str(y) == str(x) else Difference(call, "value", f"{x} for {y}")
        if type(x) is not type(y) and not isinstance(y, torch.Size):
            return Difference(call, "parts", f"{type(x).__name__} for {type(y).__name__}")
        same = x == y or (isinstance(y, float) and np.isclose(x, y, equal_nan=True))
        return None if same else Difference(call, "value", f"{x} for {y}")
    if not isinstance(x, dk.Tensor):
        return Difference(call, "parts", f"{type(x).__name__} for a tensor")
    if type(x) is not SPELLED.Tensor:
        return Difference(call, "parts", f"a tensor of the class {type(x).__name__}")
    if tuple(x.shape) != tuple(y.shape):
        return Difference(call, "shape", f"{tuple(x.shape)} for {tuple(y.shape)}")
    if str(x.dtype) != str(y.dtype):
        return Difference(call, "dtype", f"{x.dtype} for {y.dtype}".replace("torch.", ""))
    if is_drawn(call) or call.path in FACTORS:
        return None
    return compared_values(call, "value", plain(x), plain(y))


def compared_values(call: Call, sort: str, a: Any, b: Any) -> Difference | None:
    """Return where elements differ by more than rounding."""
    text = f"{shown(a)} for {shown(b)}"
    if a.dtype.kind not in "fc":
        return None if np.array_equal(a, b) else Difference(call, sort, text)
    apart = numbers_apart(call, sort, a, b)
    if not apart.any():
        if sort == "value" and a.dtype.kind == "f":
            zero = (a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b))
            if zero.any():
                return Difference(call, sort, "the sign of a zero")
        return None
    finite = np.isfinite(a)
    if a.dtype.kind == "c" and np.array_equal(finite, np.isfinite(b)) and not apart[finite].any():
        return Difference(call, sort, "complex infinities")
    return Difference(call, sort, text + of_numbers_apart(a, b, apart))


def numbers_apart(call: Call, sort: str, a: Any, b: Any) -> Any:
    """Return which elements differ by more than rounding."""
    dtypes = dtypes_of(call)
    coarse = not dtypes.isdisjoint(("float32", "complex64")) or a.dtype.name in ("float32", "complex64")
    rtol, atol = (2e-3, 2e-4) if coarse else (1e-6, 1e-8)
    if "float16" in dtypes:
        rtol, atol = 2e-2, 2e-2
    if sort != "value":
        rtol, atol = rtol * 10, atol * 10
    finite = np.isfinite(b)
    scale = 1.0
    if finite.any():
        scale = max(1.0, float(np.abs(b[finite]).max(initial=0)))
    return ~np.isclose(a, b, rtol=rtol, atol=atol * scale, equal_nan=True)


def dtypes_of(call: Call) -> set[str]:
    """Return the names of the dtypes of the arrays of a call, and of those that are asked for."""
    asked: list[Dtype] = []
    mapped((call.args, call.kwargs), Dtype, asked.append)
    arrays = arrays_in((call.args, call.kwargs))
    return {array.data.dtype.name for array in arrays} | {dtype.name for dtype in asked}


def of_numbers_apart(a: Any, b: Any, apart: Any) -> str:
    """Return what is said where all that differ are not finite in one library alone, or went to a neighbour."""
    if (np.isnan(b) & ~np.isnan(a))[apart].all():
        return " (NaN there alone)"
    if (np.isnan(a) & ~np.isnan(b))[apart].all():
        return " (NaN here alone)"
    if (np.isinf(b) & np.isfinite(a))[apart].all():
        return " (infinite there alone)"
    if ((np.isnan(b) & ~np.isnan(a)) | (np.isinf(b) & np.isfinite(a)))[apart].all():
        return " (NaN or infinite there alone)"
    if a.ndim == 1 and has_moved(a - b):
        return " (moved to a neighbour)"
    return ""


def has_moved(more: Any) -> bool:
    """Return whether what some elements have more is what a neighbour of each has less, as of counts in bins."""
    sums = np.cumsum(more)
    if not np.isfinite(sums).all():
        return False
    moved = ~np.isclose(sums, 0, atol=1e-6 * max(1.0, float(np.abs(more).max(initial=0))))
    return bool(moved.any()) and not moved[-1] and not (moved[1:] & moved[:-1]).any()


def shown(a: Any) -> str:
    return f"{np.array2string(a, threshold=8, precision=5, edgeitems=2)}".replace("\n", "")[:120]


def compared_operands(call: Call, ours: Outcome, theirs: Outcome) -> Difference | None:
    if is_drawn(call):
        return None
    for x, y in zip(ours.memories, theirs.memories, strict=True):
        found = compared_values(call, "operand", plain(x), plain(y))
        if found is not None:
            return found
    return None


def compared_memory(call: Call, ours: Outcome, theirs: Outcome) -> Difference | None:
    """Return where results share memory with arguments in one library alone, or writes are not seen."""
    for x, y in zip(leaves(ours.result), leaves(theirs.result), strict=True):
        if not isinstance(y, torch.Tensor) or not y.numel() or type(x.array) is not np.ndarray:
            continue
        place = y.untyped_storage().data_ptr()
        for memory, other in zip(ours.memories, theirs.memories, strict=True):
            if not other.numel():
                continue
            shares = place == other.untyped_storage().data_ptr()
            if np.may_share_memory(x.array, memory.array) is not shares:
                if shares and not x.array.flags.writeable:
                    continue
                word = "a copy" if shares else "a view"
                return Difference(call, "memory", f"{word} where PyTorch has another")
    return None


def compared_gradients(call: Call, ours: Outcome, theirs: Outcome) -> Difference | None:
    if is_drawn(call) or call.path in FACTORS:
        return None
    mine = gradients(SPELLED, ours, call)
    real = gradients(torch, theirs, call)
    if isinstance(real, str):
        return None
    if isinstance(mine, str):
        return Difference(call, "gradient", mine)
    for sort, ones, others in zip(("gradient", "gradient", "second gradient"), mine, real, strict=False):
        for x, y in zip(ones, others, strict=True):
            if y is None and x is None:
                continue
            if isinstance(getattr(x, "array", None), dk.Tensor):
                return Difference(call, sort, "its array is a tensor")
            a = np.zeros(()) if x is None else plain(x)
            b = np.zeros(()) if y is None else plain(y)
            a, b = np.broadcast_arrays(a, b)
            found = compared_values(call, sort, a, b)
            if found is not None and real[0] == [None] * len(real[0]):
                return Difference(call, sort, "PyTorch has no derivative")
            if found is None:
                continue
            if not (are_finite(theirs) and are_finite_arguments(call)):
                return Difference(
                    call, sort, f"an operand is not finite, {of_differing(call, sort, a, b)}: {found.text}"
                )
            return Difference(call, sort, f"{of_differing(call, sort, a, b)}: {found.text}")
    return None


def of_differing(call: Call, sort: str, a: Any, b: Any) -> str:
    """Return whether both of the numbers that differ are finite, anywhere."""
    apart = numbers_apart(call, sort, a, b)
    both = np.isfinite(a) & np.isfinite(b)
    if both.all() or (both & apart).any():
        return "finite ones differ"
    return "one of two is not finite"


def are_finite(outcome: Outcome) -> bool:
    """Return whether all elements of the arguments and of the results are finite numbers."""
    tensors = [*outcome.memories, *leaves(outcome.result)]
    return all(np.isfinite(plain(x)).all() for x in tensors if isinstance(x, torch.Tensor))


def gradients(module: Any, outcome: Outcome, call: Call) -> Any:
    """Return gradients of a weighted sum of the results, or what is said where there are none.

    They are the first ones, on plain arrays; the first ones again, on tensors that record; and the second ones.
    """
    # Not the memory that a call in place has changed: it is a result.
    arrays = arrays_in((call.args, call.kwargs))
    xs = [x for x, array in zip(outcome.memories, arrays, strict=True) if array.gradient and x.requires_grad]
    total: Any = None
    try:
        for y in leaves(outcome.result):
            if not getattr(y, "requires_grad", False):
                continue
            part = y
            if "complex" in str(y.dtype):
                part = module.real(y * y.conj())
            weights = module.from_numpy(np.linspace(0.5, 1.5, max(int(np.prod(tuple(y.shape))), 1))[: y.numel()])
            part = (part.reshape(-1) * weights).sum()
            total = part if total is None else total + part
        if total is None:
            return [[None] * len(xs)]
        plainly = module.autograd.grad(total, xs, retain_graph=True, allow_unused=True)
        first = module.autograd.grad(total, xs, create_graph=True, allow_unused=True)
        squares = [(g * g.conj() if "complex" in str(g.dtype) else g * g).sum() for g in first if g is not None]
        squares = [module.real(s) if "complex" in str(s.dtype) else s for s in squares]
        if not squares or not any(s.requires_grad for s in squares):
            return [plainly, first]
        second = module.autograd.grad(sum(squares), xs, allow_unused=True)
    except Exception as error:  # noqa: BLE001  # compared
        return said(error)
    return [plainly, first, second]
