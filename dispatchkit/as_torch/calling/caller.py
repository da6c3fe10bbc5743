"""The one caller of the functions, methods and in-place forms of `dispatchkit.as_torch`.

What PyTorch does with the arguments of all its functions alike is done here, as tables say: the types of arguments and
the kinds of elements are looked at, axes are checked, no axes may mean all, integers become numbers of the default
dtype, results get memory of their own and their names, and errors are of PyTorch's classes. A call of tensors alone
whose types were seen before goes straight to the function.
"""

from __future__ import annotations

import functools
import inspect
import operator
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from dispatchkit.as_torch import table
from dispatchkit.as_torch.attributes.asking import ask, is_asking
from dispatchkit.as_torch.attributes.dtypes import plain_dtype, spelled_dtype
from dispatchkit.as_torch.calling import (  # noqa: F401  # they enter what they look at
    index_checks,
    matrix_checks,
    network_checks,
    number_checks,
    shape_checks,
    window_checks,
)
from dispatchkit.as_torch.calling.arguments import arguments_by_name, count_of_tensors, in_new_order
from dispatchkit.as_torch.calling.checks import CHECKS, EACH_TIME, LOOKS
from dispatchkit.as_torch.calling.dtypes import FACTORS, UNIFORM, check_dtypes, check_factors
from dispatchkit.as_torch.calling.outputs import is_of_one_dtype, written_into
from dispatchkit.as_torch.calling.plans import Plan, key_of, plan_of, unchanged_by
from dispatchkit.as_torch.calling.promotion import PROMOTING, in_common_dtype
from dispatchkit.as_torch.calling.raised import as_raised_by_pytorch
from dispatchkit.as_torch.calling.ranks import check_ranks, ranks_of
from dispatchkit.as_torch.calling.reductions import (
    BROADCASTING,
    broadcast_target,
    check_reduction,
    reduction_of,
    refuse_other_shapes,
)
from dispatchkit.as_torch.calling.refused import RefusedDtypes
from dispatchkit.as_torch.calling.results import in_own_memory, make_read_only, named
from dispatchkit.as_torch.calling.sequences import check_several
from dispatchkit.as_torch.calling.signatures import (
    NAMES,
    OF_LENGTHS,
    OF_ONE_LENGTH,
    check_method,
    check_single_types,
    check_types,
    forms_of_method,
    numbers_of,
    signatures_of,
)
from dispatchkit.as_torch.shared import kind_of
from dispatchkit.backends.arrays import dtype_name, numpy_dtype
from dispatchkit.declare.libraries import making_like
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.wrapping import wrap_array
from dispatchkit.graph.storage import Storage
from dispatchkit.tree import map_leaves, sequence_items

__all__ = ["FunctionCaller"]

Call = Callable[..., Any]
Look = Callable[[dict[str, Any]], None]
PLAIN = (bool, int, float, complex)
# Methods that are called by NumPy's signature, too.
AS_IN_NUMPY = frozenset(
    {
        *("all", "any", "argmax", "argmin", "argsort", "cumprod", "cumsum", "max", "mean", "min", "prod", "sort"),
        *("squeeze", "std", "sum", "var"),
    }
)
# Functions that give any number of results, and those that give one number where they are given an array alone.
LISTS = frozenset({"split_with_sizes_copy", "unbind_copy"})
OF_ALL = frozenset({"max", "min"})
# Axes that numbers are taken along as one element.
LIFTED = frozenset({"dim", "dim0", "axis0"})
# Functions whose results of integers are floating-point numbers unless they are to be rounded.
QUOTIENTS = frozenset({"div", "divide"})
# Kinds of arguments that may be tensors with axes.
OF_TENSORS = frozenset({"Tensor", "Any"})
MOST = 100  # plans that a function keeps


class FunctionCaller:
    """Calls a function with the arguments of PyTorch's function of a path.

    Parameters
    ----------
    path : of the function inside PyTorch
    function : that is called
    names, targets : what arguments are called by position, and which parameters take them
    shown : the parameters that it shows
    count : how many of them it takes by position alone
    adopt : makes results those of PyTorch's spelling
    cls : the class of its tensors
    """

    def __init__(
        self,
        path: str,
        function: Call,
        names: Sequence[str],
        targets: Mapping[str, str],
        shown: Sequence[inspect.Parameter],
        count: int,
        adopt: Call,
        cls: type,
    ) -> None:
        self.path, self.function, self.names, self.targets = path, function, names, targets
        self.adopt, self.cls = adopt, cls
        # The function and the method that are shown.
        self.public: Any = self
        self.method: Any = self.as_method
        self.by_place = [targets[name] for name in names[:count]]
        # Whether it takes any number of tensors.
        self.several = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in shown)
        self.defaults = {p.name: p.default for p in shown}
        # Whether it makes a tensor that nothing else holds yet.
        self.makes = "requires_grad" in self.defaults and path != "asarray"
        self.signatures = signatures_of(path)
        self.tensors = count_of_tensors(path)
        self.refused, self.as_floats = self.signatures.refused, self.signatures.as_floats
        self.dtypes = RefusedDtypes(path)
        self.keeps = self.signatures.keeps and path not in table.OF_ANY_DTYPE
        self.promotes = path in PROMOTING
        self.aside = table.ARGUMENTS_OF_ANY_KIND
        if self.promotes:
            # Numbers of polynomials and targets of regressions are operands like others.
            self.aside = self.aside - {"n", "target"} | table.COUNTS.get(path, frozenset())
        self.check = CHECKS.get(path)
        if path.startswith("nn.functional.") and self.signatures.names:
            self.names = self.signatures.names
        self.is_read_only = path in table.VIEWS_THERE
        self.reduces = "reduction" in targets and path.startswith("nn.functional.")
        self.axes = [p.name for p in shown if p.name in table.AXES and path not in table.NO_AXES]
        self.has_new_axis, self.lifting = path in table.NEW_AXIS, None
        if path not in table.OF_NUMBERS:
            self.lifting = next((name for name in self.axes if name in LIFTED or path == "flip"), None)
        operands: list[Any] = [overload for overload in self.signatures.overloads if takes_several(overload)]
        # Whether the first argument alone says of which kind a result is.
        self.first_decides = not operands and table.NUMBERS_AS_OPERANDS.isdisjoint(names)
        # Whether a tensor may stand in the first place, and in the second one.
        self.takes_first_tensor, self.takes_second_tensor = (self.takes_tensor(place) for place in range(2))
        # In the place of an axis there may be a second operand; by its name it is an axis.
        self.numbers = {} if path in OF_ALL else numbers_of(path)
        self.numbers_by_name = {"dim": "iu"} if path in OF_ALL else self.numbers
        self.forms_of_method = forms_of_method(path)
        self.fitting: set[tuple[Any, ...]] = set()
        # Of calls of the function, and of those of them that the method takes, too.
        self.plans: dict[Any, Plan] = {}
        self.plans_of_method: dict[Any, Plan] = {}
        self.fresh = path in table.COPIED_HERE
        self.results = table.RESULTS.get(path, self.signatures.results)
        # With results in memory of their own, where they are to have it.
        self.planned = functools.partial(in_own_memory, function) if self.fresh else function
        self.each_time = EACH_TIME.get(path, [])
        # What is looked at besides in each call that a plan is known for.
        self.looks_of_plans = list(self.looks_at_all())
        along = self.defaults.get(self.lifting or "")
        # Whether nothing is to be looked at but the kind of elements, where there are tensors alone.
        self.looks = list(self.looks_at())
        # Where there are tensors of one dtype alone, neither dtypes nor factors are to be looked at.
        self.one_dtype = self.promotes or path in UNIFORM or bool(self.dtypes.single)
        at_dtypes = (check_dtypes, check_factors)
        looked_at = [look for look in self.looks if getattr(look, "func", None) not in at_dtypes]
        looked_at = [look for look in looked_at if look != self.look_at_axes]
        special = self.fresh or self.check or self.results or looked_at or self.is_read_only
        self.is_plain = not special and along in (None, inspect.Parameter.empty)
        keeps = self.keeps and path.startswith("nn.functional.")
        self.looked = self.refused + self.dtypes.kinds + "bui" * (self.as_floats or keeps) + "u" * (path in table.SUMS)

    def takes_tensor(self, place: int) -> bool:
        """Return whether a tensor may stand in a place."""
        overloads = self.signatures.overloads
        arguments: list[Any] = [overload[place] for overload in overloads if len(overload) > place]
        return not overloads or any(each.kind in OF_TENSORS and not each.several for each in arguments)

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any], public: Call | None = None) -> Any:
        """Return the result of a call.

        Parameters
        ----------
        args, kwargs : of the call
        public : the function that is called, if it is another than the one at its path

        Raises
        ------
        TypeError : for too many arguments, or those of other types than PyTorch takes
        RuntimeError : for elements of a kind that PyTorch does not take
        IndexError : for axes that there are not
        """
        if self.tensors is not None and len(args) > self.tensors:
            args, kwargs = in_new_order(self.path, args, kwargs)
        if kwargs and "dtype" in kwargs:
            kwargs["dtype"] = plain_dtype(kwargs["dtype"])
        if kwargs and kwargs.get("out") is not None and self.signatures.takes_out:
            y = self.ask(args, kwargs, public)
            if y is not NotImplemented:
                return y
            return self.write_out(args, kwargs)
        key = key_of(args, kwargs)
        plan = self.plans.get(key)
        if plan is not None:
            try:
                return self.finished(plan.carried_out(self.planned, args, kwargs))
            except Exception:  # noqa: BLE001  # what looks at the arguments says it in PyTorch's words
                key = None
        else:
            y = self.ask(args, kwargs, public)
            if y is not NotImplemented:
                return y
            if not is_asking():
                key = None  # the same call is to be asked elsewhere
        try:
            return self.answer(args, kwargs, key)
        except table.NotTranslated:
            raise TypeError(f"dispatchkit.as_torch.{self.path} has no operations for these arguments") from None
        except Exception as error:
            self.check_required(error, args, kwargs)
            raised = as_raised_by_pytorch(of_nothing(error))
            if raised is error:
                raise
            raise raised from error.__cause__

    def check_required(self, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise for arguments that are not given, where that is why what looks at them has failed.

        Parameters
        ----------
        error : which was raised
        args, kwargs : of the call

        Raises
        ------
        TypeError : naming the first of them
        """
        if not isinstance(error, (KeyError, StopIteration)):
            return
        given = arguments_by_name(self.path, self.names, self.targets, args, kwargs)
        missing = [name for name, default in self.defaults.items() if default is inspect.Parameter.empty]
        missing = [name for name in missing if name not in given]
        if missing:
            raise TypeError(
                f'{self.path.rpartition(".")[2]}() missing {len(missing)} required positional arguments: "{missing[0]}"'
            ) from None

    def ask(self, args: tuple[Any, ...], kwargs: dict[str, Any], public: Call | None = None) -> Any:
        """Return what the `__torch_function__` of an argument answers, `NotImplemented` where none is to be asked."""
        if "dtype" in kwargs:
            kwargs = kwargs | {"dtype": spelled_dtype(kwargs["dtype"])}
        return ask(public or self.public, args, kwargs)

    def write_out(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a call, which is written into its argument `out`."""
        rest = {name: value for name, value in kwargs.items() if name != "out"}
        self.check_arguments(args, rest)
        if self.signatures.out == "dtype" and "dtype" in self.targets and isinstance(kwargs["out"], Storage):
            dtype = kwargs["out"].dtype  # type: ignore[attr-defined]  # of a tensor
            if rest.get("dtype") is not None and numpy_dtype(rest["dtype"]) != numpy_dtype(dtype):
                raise RuntimeError(f"dtype {rest['dtype']} does not match dtype of out parameter ({dtype})")
            rest = {"dtype": dtype} | rest
        gives_one = self.path in OF_ALL and (
            len(args) + len(rest) == 1 or any(isinstance(value, Storage) for value in (*args[1:], *rest.values()))
        )
        several = self.path in LISTS or (len(self.results) > 1 and not gives_one)
        name, same = self.path.rpartition(".")[2], is_of_one_dtype(self.path, self.signatures.out, args, rest)
        return written_into(name, kwargs["out"], self, args, rest, several=several, same=same)

    def as_method(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a call of the method, which has no `out`.

        Raises
        ------
        TypeError : for one, and for fewer arguments than a method takes
        """
        self.check_no_out(self.path, kwargs)
        if self.forms_of_method and (self.tensors is None or len(args) <= self.tensors):
            check_method(self.path, self.forms_of_method, args, kwargs)
        y = self(args, kwargs, self.method)
        if self.plans and (plan := self.plans.get(key := key_of(args, kwargs))) is not None:
            self.plans_of_method[key] = plan
        return y

    def check_in_place(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise for arguments that the method that changes its tensor does not take."""
        self.check_no_out(name, kwargs)
        if self.tensors is not None and len(args) > self.tensors:
            with warnings.catch_warnings(action="ignore"):  # the call itself warns
                args, kwargs = in_new_order(self.path, args, kwargs)
        self.check_arguments(args, kwargs)

    def check_no_out(self, name: str, kwargs: dict[str, Any]) -> None:
        """Raise for the argument that no method takes."""
        if "out" in kwargs:
            raise TypeError(f"{name}() got an unexpected keyword argument 'out'")

    def check_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise for arguments that no form of the function takes.

        Raises
        ------
        TypeError : as PyTorch does before it looks at anything else
        """
        types = (*map(type_of, args), *[(name, type_of(value)) for name, value in kwargs.items()])
        if not self.several and types not in self.fitting:
            given = arguments_by_name(self.path, self.names, self.targets, args, kwargs)
            check_types(self.path, args, kwargs, given)

    def look_at_out(self, given: dict[str, Any]) -> None:
        """Refuse an argument `out` that the function has not, before the kinds of elements are looked at."""
        if not self.signatures.takes_out:
            self.check_no_out(self.path.rpartition(".")[2], given)

    def look_at_reduction(self, given: dict[str, Any]) -> None:
        """Refuse a word for a reduction that there is not, as PyTorch's losses do before anything else."""
        if self.reduces and given.get("size_average") is None and given.get("reduce") is None:
            check_reduction(self.path, self.targets, given)

    def answer(self, args: tuple[Any, ...], kwargs: dict[str, Any], key: Any) -> Any:
        """Return the result of a call whose arguments are not known to fit; with a key, it is known from then on."""
        if self.several:
            check_single_types(self.path, kwargs)
            check_several(self.path, args)
            return self.finished(self.function(*args, **kwargs))
        given = arguments_by_name(self.path, self.names, self.targets, args, kwargs)
        if "out" in given and given["out"] is None and self.signatures.takes_out:
            del given["out"]
        self.look_at_reduction(given)
        before = list(given.values())
        if self.path not in table.OF_DATA:
            take_as_numbers(given, self.numbers_by_name if "dim" in kwargs else self.numbers)
        types = (*map(type_of, args), *[(name, type_of(value)) for name, value in kwargs.items()])
        known = types in self.fitting
        if not known and not (self.path in AS_IN_NUMPY and ("axis" in kwargs or "keepdims" in kwargs)):
            check_types(self.path, args, kwargs, given)
            as_given = all(map(operator.is_, given.values(), before))
            if as_given and not any(getattr(x, "ndim", 1) == 0 for x in (*args, *kwargs.values())):
                # Arrays of one number are taken wherever arrays are, and for plain numbers, too.
                self.fitting.add(types)
        self.look_at_out(given)
        for look in self.looks:
            look(given)
        uncast = dict(given)
        refused = self.look_at_kinds(given, is_plain=known and self.has_plain_kind(args))
        if self.check is not None:
            given = self.check(given) or given
        if not self.takes_dtypes(uncast, refused):
            key = None  # whether there are elements has no part in it
        result = self.compute(given)
        y = self.in_its_memory(result, given)
        if y is not result:
            return self.finished(y)
        if key is not None and self.may_plan(given):
            after = list(given.values())
            if len(after) == len(before) and all(map(operator.is_, after, before)):
                looks = [*self.each_time, *self.looks_at_factors(given), *self.looks_of_plans]
                self.plans[key] = plan_of(self.path, self.names, self.targets, self.by_place, args, kwargs, looks)
        return self.finished(y)

    def may_plan(self, given: dict[str, Any]) -> bool:
        """Return whether calls of the same key need not be looked at again."""
        if isinstance(given.get("shape"), np.dtype):
            return False  # whether memory can be seen in another dtype depends on its steps, too
        if any(table.is_array(x) and 0 in x.shape for x in given.values()):
            return False  # where there are no elements, dtypes are taken that are refused otherwise
        return not self.is_read_only and len(self.plans) < MOST and not self.lifts(given)

    def has_plain_kind(self, args: tuple[Any, ...]) -> bool:
        """Return whether the first argument alone says of which kind a result is, and nothing is to be done for it."""
        return bool(self.first_decides and args and hasattr(args[0], "dtype") and kind_of(args[0]) not in self.looked)

    def in_its_memory(self, y: Any, given: dict[str, Any]) -> Any:
        """Return a result in the dtype that it keeps, and in memory that nothing is written into where it is a copy."""
        if self.keeps:
            y = self.in_own_dtype(y, given)
        if self.is_read_only:
            make_read_only(y, given.values())
        return y

    def looks_at(self) -> Iterator[Look]:
        """Yield what looks at the arguments of each call, in PyTorch's order."""
        yield from LOOKS.get(self.path, ())
        if self.reduces:
            yield functools.partial(reduction_of, self.path, self.targets)
        ranks = ranks_of(self.path)
        if ranks:
            yield functools.partial(check_ranks, self.path, ranks)
        if self.axes:
            yield self.look_at_axes
        yield from self.each_time
        if self.path in UNIFORM:
            yield functools.partial(check_dtypes, self.path)
        if not FACTORS.isdisjoint(self.targets):
            yield functools.partial(check_factors, self.path)
        if self.path in BROADCASTING:
            yield functools.partial(broadcast_target, self.path)

    def looks_at_all(self) -> Iterator[Look]:
        """Yield what looks at the arguments in calls of plans, too, as it does not ask for their kinds alone."""
        check = self.check
        if self.path in table.CHECKED_BY_TYPES:
            check = None
        if check is not None or self.fresh:
            yield from LOOKS.get(self.path, ())
        if check is not None:
            yield functools.partial(unchanged_by, check)
        if self.path in BROADCASTING:
            yield functools.partial(refuse_other_shapes, self.path)

    def looks_at_factors(self, given: dict[str, Any]) -> Iterator[Look]:
        """Yield what looks at factors in each call, where one is a number that may vary."""
        if any(type(given.get(name)) is float for name in FACTORS):
            yield functools.partial(check_factors, self.path)

    def finished(self, y: Any) -> Any:
        """Return a result in PyTorch's spelling, its parts under their names."""
        if self.makes and type(y) is xp.Tensor and y._memory is None:
            return wrap_array(self.cls, y.array, y._node)
        y = self.adopt(y)
        if self.results and type(y) in (tuple, list) and len(y) == len(self.results):
            return named(self.path, self.results, y)
        return y

    def lifts(self, given: dict[str, Any]) -> bool:
        """Return whether a number is taken as one element along an axis that is asked for."""
        if self.lifting is None:
            return False
        x = next(iter(given.values()), None)
        along = given.get(self.lifting, self.defaults.get(self.lifting))
        if along is None or is_second_operand(self.path, along):
            return False
        return getattr(x, "ndim", 1) == 0 and along != ()

    def compute(self, given: dict[str, Any]) -> Any:
        """Call the function with arguments by name; a number is one element along an axis that is asked for."""
        lifts = self.lifts(given)
        if lifts:
            given = {name: lifted(value) for name, value in given.items()}
        arguments = {self.targets.get(name, name): value for name, value in given.items()}
        first = [arguments.pop(parameter) for parameter in self.by_place if parameter in arguments]
        # Of other arrays than NumPy's the numbers that a function adds are of their library, too.
        with making_like(given) or nullcontext():
            y = self.planned(*first, **arguments)
        if lifts:
            return map_leaves(sequence_items, lowered, y)
        return y

    def takes_dtypes(self, given: dict[str, Any], refused: Any) -> bool:
        """Return whether dtypes are taken at any rate, and not only since there are no elements.

        Raises
        ------
        RuntimeError : for dtypes that PyTorch does not take
        """
        if refused is not None:
            found = NAMES.get(dtype_name(refused.dtype), dtype_name(refused.dtype))
            raise NotImplementedError(f'"{self.path.rpartition(".")[2]}" not implemented for {found!r}')
        return not self.dtypes or self.dtypes.check(given)

    def look_at_kinds(self, given: dict[str, Any], *, is_plain: bool) -> Any:
        """Make integers numbers of the default dtype, and return a tensor of a kind that PyTorch does not take.

        Parameters
        ----------
        given : arguments by name
        is_plain : whether nothing is to be done but to bring operands to one dtype
        """
        if not self.promotes and (is_plain or not self.looked):
            return None
        arrays = {
            name: value
            for name, value in given.items()
            if name not in table.ARGUMENTS_OF_ANY_KIND and hasattr(value, "dtype") and not isinstance(value, np.generic)
        }
        if given.get("dtype") is not None:
            return None
        if self.promotes:
            as_floats = self.as_floats or (self.path in QUOTIENTS and given.get("rounding_mode") is None)
            cast = in_common_dtype(given, table.NUMBERS_IN_COMMON, self.aside, path=self.path, as_floats=as_floats)
            if cast:
                given |= cast
                arrays |= {name: value for name, value in cast.items() if name in arrays}
        if not arrays:
            return None
        kinds = [kind_of(x) for x in arrays.values()]
        numbers = [value for name, value in given.items() if name in table.NUMBERS_AS_OPERANDS]
        kinds += ["bifc"[PLAIN.index(type(x))] for x in numbers if type(x) in PLAIN]
        together = max(kinds, key="buifc".index, default="")
        x = next(iter(arrays.values()))
        if together in self.refused and not self.dtypes.is_exempt(given, dtype_name(x.dtype)):
            return x
        if together == "u" and self.path in table.SUMS:
            given |= {name: xp.astype(x, xp.int64) for name, x in arrays.items()}
        if self.as_floats and together not in "fc":
            given |= {name: xp.astype(x, xp.get_default_dtype()) for name, x in arrays.items()}
        return None

    def in_own_dtype(self, y: Any, given: dict[str, Any]) -> Any:
        """Return a result in the dtype of the first argument, if that is one of integers."""
        if not isinstance(y, Storage) or given.get("dtype") is not None or given.get("reduction") == "sum":
            return y
        result: Any = y
        aside = table.ARGUMENTS_OF_ANY_KIND
        operands: list[Any] = [x for name, x in given.items() if isinstance(x, Storage) and name not in aside]
        if not operands or kind_of(operands[0]) not in "bui" or operands[0].dtype == result.dtype:
            return y
        if self.path == "nn.functional.interpolate":
            result = xp.round(result)
        return xp.astype(result, operands[0].dtype)

    def look_at_axes(self, given: dict[str, Any]) -> None:
        """Check axes, and let an empty tuple of them mean all where it does in PyTorch."""
        x = next((value for value in given.values() if hasattr(value, "ndim")), None)
        if x is None:
            return
        own = x.ndim
        if self.path in table.AXES_OF_BOTH:
            own = max(value.ndim for value in given.values() if hasattr(value, "ndim"))
        ndim = own + self.has_new_axis
        for name in self.axes:
            axis = given.get(name)
            if axis is None and not own and self.path in table.NOT_OF_NUMBERS:
                axis = self.defaults.get(name)
            if isinstance(axis, (tuple, list)):
                if not axis and self.path in table.NO_AXES_ARE_ALL:
                    given[name] = None
                if axis and not own and self.path in table.NOT_OF_NUMBERS:
                    raise IndexError(f"Dimension specified as {axis[0]} but tensor has no dimensions")
                places = [checked_axis(each, ndim) for each in axis if hasattr(each, "__index__")]
                for place in places:
                    if places.count(place) > 1 and self.path not in table.REPEATED_AXES:
                        raise RuntimeError(f"dim {place} appears multiple times in the list of dims")
            elif isinstance(axis, (int, np.integer)) and not isinstance(axis, bool):
                checked_axis(axis, ndim)
                if not own and self.path in table.NOT_OF_NUMBERS:
                    raise IndexError(f"Dimension specified as {axis} but tensor has no dimensions")


def is_second_operand(path: str, along: Any) -> bool:
    """Return whether what stands in the place of an axis is an array to compare with, as in ``max(x, y)``."""
    return path in OF_ALL and isinstance(along, Storage)


def take_as_numbers(given: dict[str, Any], numbers: Mapping[str, str]) -> None:
    """Put Python's numbers in the place of NumPy's, and of tensors without axes where numbers are asked for.

    Parameters
    ----------
    given : arguments by name
    numbers : the kinds of those that are numbers, or lists of them, and no tensors
    """
    for name, value in given.items():
        if isinstance(value, np.generic):
            given[name] = value.item()
        elif name in numbers:
            given[name] = as_numbers(value, numbers[name])


def as_numbers(value: Any, kinds: str) -> Any:
    """Return the number that a tensor without axes holds, if it is of one of some kinds; and so of members of a tuple.

    Parameters
    ----------
    value : an argument
    kinds : of elements, as NumPy abbreviates them; those of lengths and lists of axes may be of one element with axes,
        and a truth among them is an integer
    """
    if type(value) is tuple:
        if any(isinstance(each, Storage) for each in value):
            return tuple([as_numbers(each, OF_ONE_LENGTH if kinds == OF_LENGTHS else kinds) for each in value])
        return value
    if not isinstance(value, Storage) or value.is_tracer:
        return value
    x: Any = value
    may_have_axes = kinds == OF_ONE_LENGTH and x.numel() == 1
    if (x.ndim and not may_have_axes) or x.requires_grad or kind_of(x) not in kinds:
        return value
    if kinds in (OF_LENGTHS, OF_ONE_LENGTH):
        return int(x.item())
    return x.item()


def of_nothing(error: Exception) -> Exception:
    """Return the error of a reduction along an axis without elements as one of an axis, which PyTorch raises."""
    text = str(error)
    if isinstance(error, ValueError) and ("zero-size array" in text or "of an empty sequence" in text):
        return np.exceptions.AxisError(f"Expected reduction dim to have non-zero size: {text}")
    return error


def takes_several(overload: Sequence[Any]) -> bool:
    """Return whether more than one argument of a form of a function is a tensor."""
    return len([argument for argument in overload if argument.kind == "Tensor"]) > 1


def type_of(x: Any) -> Any:
    """Return the type of an argument, of a short list those of its elements."""
    if type(x) in (tuple, list) and len(x) < 8:
        return tuple([type(each) for each in x])
    return type(x)


def checked_axis(axis: Any, ndim: int) -> int:
    """Return an axis counted from the front.

    Raises
    ------
    IndexError : in PyTorch's words
    """
    count = max(ndim, 1)
    if not -count <= axis < count:
        raise np.exceptions.AxisError(
            f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], but got {axis})"
        )
    return int(axis) % count


def lifted(value: Any) -> Any:
    """Return a number that is an array as one element along an axis."""
    if table.is_array(value) and not value.ndim:
        return value[None]
    return value


def lowered(value: Any) -> Any:
    """Return one element along an axis as a number."""
    if table.is_array(value) and value.shape == (1,):
        return value[0]
    return value
