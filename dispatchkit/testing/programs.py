"""`checked`: every call of a program that meets an array type is made once more on dense forms, and compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.variables import is_floating
from dispatchkit.errors import DensifyError, NoImplementationError
from dispatchkit.fields import with_fields
from dispatchkit.func.containers import arrays_of, with_variables
from dispatchkit.graph.recording import is_grad_enabled, no_grad
from dispatchkit.graph.storage import Storage
from dispatchkit.marks import override
from dispatchkit.progress import ProgressBar
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.modes import Mode
from dispatchkit.protocol.naming import type_name
from dispatchkit.protocol.observers import observing, run_unobserved
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.tensor import Tensor
from dispatchkit.testing.attribution import Entered, simplest
from dispatchkit.testing.calls import measuring
from dispatchkit.testing.comparing.beside import Beside, failure_html
from dispatchkit.testing.comparing.differences import (
    Difference,
    difference,
    error_text,
    is_determined,
    members,
    same,
    value_text,
    with_plain_tensors,
)
from dispatchkit.testing.comparing.memory import SETITEM, arrays_in, is_typed, shared_memory
from dispatchkit.testing.comparing.relations import member_difference, result_difference
from dispatchkit.testing.examination import wrong_derivatives_by
from dispatchkit.testing.findings import differing_lines
from dispatchkit.testing.instances import anew, count_up
from dispatchkit.testing.laws import fields_refuse
from dispatchkit.testing.pasting import TextOf, Writer, call_code

T = TypeVar("T")
types = tensor_protocol.types
_dense_of = partial(with_plain_tensors, tensor_protocol)
# What is said instead of an answer; NumPy's linear algebra has no half precision, which structures do not need.
REFUSALS = (NoImplementationError, DensifyError, Warning)
# What LAPACK gives for infinities and NaN is by its way of factoring.
FACTORING = frozenset(
    {"cholesky", "qr", "eigh", "eigvalsh", "eig", "eigvals", "svd", "svdvals", "pinv", "matrix_rank"}
    | {"inv", "solve", "lstsq", "det", "slogdet", "matrix_power"}
)
SPARE = np.random.Generator(np.random.PCG64(0))  # of what is called beside the program
# What says nothing of the arguments, such as that a number has no method of arrays.
ACCIDENTS = (AttributeError, NotImplementedError)
LONGEST = 80  # characters of a field in a message
NO_DENSE_ANSWER = "unsupported in linalg"


@with_fields
class WrongCallError(AssertionError):
    """A call of a checked program differs from the same call on dense forms.

    Attributes
    ----------
    operation : qualified name of the operation
    aspect : in what it differs: ``"value"``, ``"shape"``, ``"dtype"``, ``"container"``, ``"type"``, ``"error"``,
        ``"mutation"``, ``"memory"`` or ``"gradient"``
    call : with the types, shapes and dtypes of its arrays
    found, expected : what came of it, and of the call on dense forms
    rules : the rules that it entered, each with file and line, those of inner calls first
    program : that shows the difference when it is pasted; "" where the call alone does not show it
    beside : the arrays that were found and expected, with the fields of the result; None where it is about others
    """

    operation: str
    aspect: str
    call: str
    found: str
    expected: str
    rules: tuple[str, ...] = ()
    program: str = ""
    beside: Beside | None = None

    def __str__(self) -> str:
        lines = [f"{self.aspect}: {self.call}", *(f"    rule:     {rule}" for rule in self.rules)]
        lines += [f"    {name}{text}" for name, text in (("found:    ", self.found), ("expected: ", self.expected))]
        lines += differing_lines(self.beside)
        lines += [f"    field:    {name} = {text}" for name, text in getattr(self.beside, "fields", ())]
        lines += ["    program:", *(f"        {line}".rstrip() for line in self.program.splitlines())]
        if not self.program:
            lines.pop()
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        lines = [*(("rule", rule) for rule in self.rules), ("found", self.found), ("expected", self.expected)]
        return failure_html(f"{self.aspect}: {self.call}", lines, self.beside, self.program)


class checked(Mode):  # noqa: N801  # used like a function, in `with`
    """Check a program: each call that meets an array type is made once more on dense forms, and compared.

    The first call that differs raises. A call is compared in its values, shape, dtype, errors, in what it writes into
    its arguments, in whether its result shares memory with them, and, where one of these requires a gradient, in its
    gradients by all of them. It takes the time of the program on dense forms, too, and about half a millisecond a call.

    Parameters
    ----------
    gradients : whether to compare gradients
    progress : whether it shows how far it is; where None, the default, `set_progress` decides

    Attributes
    ----------
    compared : how many calls were compared
    passed_over : how many calls were not, by the reason: an argument that has no dense form, or that stands for other
        values inside of a transformation. Calls that a type refuses, and random numbers, are not counted

    Raises
    ------
    WrongCallError
        In the block, for the first call that differs: with both results, the rules that the call entered, and a
        program to paste.

    See Also
    --------
    verify : Check a function.
    check_type : Make calls of all operations, and compare them.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> with dk.checked() as program:
    ...     x = dk.types.DiagonalTensor([1.0, 2.0])
    ...     y = dk.trace(x @ x * 2.0)
    >>> program.compared
    3

    A rule with a fault:

    >>> @dk.array_type(fallback=dk.fallback.dense)
    ... class Constant:
    ...     def __init__(self, n, value):
    ...         self.n, self.value = n, value
    ...     def to_dense(self):
    ...         return dk.full((self.n,), self.value)
    >>> @dk.implements(dk.sum)
    ... def sum_of_constant(x: Constant, /):
    ...     return dk.asarray(x.value)
    >>> with dk.checked():
    ...     dk.sum(Constant(3, 2.0))
    Traceback (most recent call last):
        ...
    dispatchkit.testing.WrongCallError: value: dispatchkit.sum(Constant (3,) float64)
        ...
    """

    protocol = tensor_protocol

    def __init__(self, *, gradients: bool = True, progress: bool | None = None) -> None:
        self.gradients = gradients
        self.progress = progress
        self.compared = 0
        self.passed_over: Counter[str] = Counter()
        self._bar = ProgressBar("checked", progress=False)

    def __enter__(self) -> Any:
        self._bar = ProgressBar("checked", progress=self.progress, unit="call")
        return super().__enter__()

    def __exit__(self, *exception: Any) -> None:
        self._bar.close()
        super().__exit__(*exception)

    @override
    def answer(self, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        call = ProgramCall(operation, args, kwargs, self.gradients)
        if not any(map(is_typed, call.arrays())) or not is_determined(operation):
            return NotImplemented
        dense, reason = call.on_dense()
        if dense is None:
            self.passed_over[reason] += 1
            return NotImplemented
        self.compared += 1
        result = call.check(dense)
        self._bar.advance()
        return result


def _incomparable(value: Any) -> str | None:
    """Return why calls with an argument cannot be made on dense forms, None if they can."""
    if is_typed(value) and types.to_dense(type(value)) is None and not isinstance(value, Tensor):
        return f"{type_name(type(value))} has no dense form"
    if is_typed(value) and not types.relation(type(value)).compared:
        return f"{type_name(type(value))} is unrelated to its dense form"
    if any(isinstance(leaf, Storage) and leaf.is_tracer for leaf in arrays_of(value)):
        return "inside of a transformation"
    return None


@dataclass
class ProgramCall:
    """A call of a program.

    Attributes
    ----------
    operation, args, kwargs : the call
    gradients : whether its gradients are compared
    refuses : exceptions by which its types refuse calls, besides those that they declare
    """

    operation: Overridable
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    gradients: bool = True
    refuses: tuple[type[Exception], ...] = REFUSALS

    def arrays(self) -> list[Any]:
        """Return its array arguments, in the order of the signature."""
        return [value for _, value in self.operation.parameters.values(self.args, self.kwargs)]

    def replace_arrays(self, change: Callable[[Any], Any]) -> ProgramCall:
        """Return the call with `change` made to each array argument."""
        args, kwargs = self.operation.parameters.replace(self.args, self.kwargs, lambda _, value: change(value))
        return replace(self, args=args, kwargs=kwargs)

    @property
    def refusals(self) -> tuple[type[Exception], ...]:
        """The exceptions by which its types refuse calls."""
        declared = (types.refuses(type(value)) for value in self.arrays() if is_typed(value))
        return (*self.refuses, *chain.from_iterable(declared))

    def elements(self) -> list[Any]:
        """Return copies of the arrays in its arguments."""
        return [array.copy() for array, _ in arrays_in(self.arrays())]

    def on_dense(self) -> tuple[ProgramCall | None, str]:
        """Return the call on dense forms of its arguments, or None and why it cannot be made on these."""
        reason = next(filter(None, map(_incomparable, self.arrays())), None)
        if reason is not None:
            return None, reason
        with measuring(SPARE):
            dense, unreadable = _outcome(lambda: run_unobserved(self.replace_arrays, _dense_copy))
        reason = ""
        if unreadable is not None:
            reason = f"an argument whose dense form raises {error_text(unreadable)}"
        return dense, reason

    def make(self) -> Any:
        """Return the result."""
        return self.operation.function(*self.args, **self.kwargs)

    def check(self, dense: ProgramCall) -> Any:
        """Make the call, and compare it with the same call on dense forms; return its result.

        Raises
        ------
        WrongCallError : if it differs from the same call on dense forms
        """
        before = self.elements()
        result, error = _outcome(self.make, self.refusals)
        with measuring(SPARE):
            wrong = run_unobserved(_difference, self, before, dense, result, error)
            if wrong is not None:
                raise run_unobserved(_wrong_call_error, self, wrong) from error
        if error is not None:
            raise error
        return result

    def again(self) -> Difference | None:
        """Make the call on arrays of its own, and return in what it differs."""
        call = self.replace_arrays(anew)
        dense, before = call.replace_arrays(_dense_copy), call.elements()
        try:
            return _difference(call, before, dense, *_outcome(call.make, self.refusals))
        except self.refusals:
            return None

    def code(self, names: Mapping[int, str], on_dense: bool = False) -> str:
        """Return the call as it is written in a program, as `call_code` writes it."""
        return call_code(self.operation, self.args, self.kwargs, names, on_dense)

    def __str__(self) -> str:
        call = self.replace_arrays(_outline)
        written = [*map(repr, call.args), *(f"{name}={value!r}" for name, value in call.kwargs.items())]
        return f"{self.operation.qualified_name}({', '.join(written)})"


def _outline(value: Any) -> TextOf:
    """Return the type, shape and dtype of an array, another value as it is."""
    is_array = hasattr(value, "shape")
    if is_array:
        return TextOf(f"{type_name(type(value))} {tuple(value.shape)} {value.dtype}")
    return TextOf(repr(value))


def _outcome(make: Callable[[], Any], refusals: tuple[type[Exception], ...] = ()) -> tuple[Any, Exception | None]:
    """Return a result and None, or None and the error that was raised; refusals are not caught."""
    try:
        return make(), None
    except refusals:
        raise
    except Exception as error:  # noqa: BLE001  # whatever a rule raises is compared
        return None, error


def _dense_copy(value: Any) -> Any:
    """Return an array argument as a plain tensor in memory of its own, outside of any graph."""
    value = _dense_of(value)
    if isinstance(value, Tensor):
        return xp.clone(value.detach())
    if isinstance(value, np.ndarray):
        return value.copy()
    return value


def _difference(
    call: ProgramCall, before: list[Any], dense: ProgramCall, result: Any, error: Exception | None
) -> Difference | None:
    """Return in what a call differs from the same call on dense forms, None where it does not.

    Parameters
    ----------
    call, before : the call, and the elements of its arguments before it
    dense : the call on dense forms
    result, error : what came of the call
    """
    before_draws = SPARE.bit_generator.state
    with no_grad():
        expected, refusal = _outcome(dense.make)
    is_random = SPARE.bit_generator.state != before_draws
    if call.operation.name in FACTORING and not all(map(_is_finite, dense.arrays())):
        return None
    if refusal is not None:
        return _answer_to_none(result, error, refusal)
    if error is not None:
        if fields_refuse(call.operation, (call.args, call.kwargs)):
            return None
        return _aspect_difference("error", error_text(error), value_text(expected))
    actual, unreadable = _outcome(lambda: _dense_of(result))
    if unreadable is not None:
        text = f"{type_name(type(result))}, whose dense form raises {error_text(unreadable)}"
        return _aspect_difference("error", text, value_text(expected))
    if is_random:
        return difference(actual, expected, values=False)
    return (
        _wrong_arguments(call, before, dense)
        or _wrong_result(call, result, actual, expected)
        or _shared_memory(call, dense, result, expected)
        or _wrong_gradient(call)
    )


def _aspect_difference(aspect: str, found: str, expected: str) -> Difference:
    return Difference(aspect, found, expected, "")


def _answer_to_none(result: Any, error: Exception | None, refusal: Exception) -> Difference | None:
    """Return that a type answers a call that plain tensors refuse; one that computes lazily may do so later."""
    accident = isinstance(refusal, ACCIDENTS) or NO_DENSE_ANSWER in str(refusal)
    if error is not None or accident:
        return None
    answer, unreadable = _outcome(lambda: _dense_of(result))
    if unreadable is not None:
        return None
    return _aspect_difference("error", value_text(answer), error_text(refusal))


def _wrong_arguments(call: ProgramCall, before: list[Any], dense: ProgramCall) -> Difference | None:
    """Return which instance does not hold what the call on dense forms left there."""
    if call.operation is not SETITEM and all(map(same, call.elements(), before)):
        return None
    for (p, value), plain in zip(call.operation.parameters.values(call.args, call.kwargs), dense.arrays(), strict=True):
        wrong = None
        if is_typed(value):
            wrong = result_difference(call.operation, value, plain, _dense_of, [value])
        if wrong is not None:
            return _aspect_difference(
                "mutation", f"'{p.name}' is {wrong.found} after the call", f"'{p.name}' {wrong.expected}"
            )
    return None


def _wrong_result(call: ProgramCall, result: Any, found: Any, expected: Any) -> Difference | None:
    wrong = result_difference(call.operation, result, expected, _dense_of, call.arrays())
    if wrong is None:
        return member_difference(call.operation, call.args, call.kwargs, result, _dense_copy)
    if wrong.aspect == "value" and kinds.linalg in call.operation.kind.lineage():
        # Sums of products in another order, or without those by zero, have NaN in other places.
        pairs = zip(members(found), members(expected), strict=True)
        return next(filter(None, (_difference_where_finite(*pair) for pair in pairs)), None)
    return wrong


def _is_finite(value: Any) -> bool:
    return not (isinstance(value, Tensor) and is_floating(value)) or bool(xp.all(xp.isfinite(value)))


def _difference_where_finite(found: Any, expected: Any) -> Difference | None:
    if not (isinstance(expected, Tensor) and is_floating(expected)):
        return difference(found, expected)
    finite = xp.isfinite(expected)
    return difference(xp.where(finite, found, expected), expected)


def _shared_memory(call: ProgramCall, dense: ProgramCall, result: Any, expected: Any) -> Difference | None:
    """Return that a result shares memory with an argument where the dense result does not."""
    arguments = call.operation.parameters.values(call.args, call.kwargs)
    shared = shared_memory(arguments, dense.arrays(), result, expected)
    if shared is None:
        return None
    return _aspect_difference("memory", *shared)


def _wrong_gradient(call: ProgramCall) -> Difference | None:
    """Return in what the gradients by all floating-point arguments differ, where one of them requires a gradient."""
    required = (isinstance(leaf, Tensor) and leaf.requires_grad for value in call.arrays() for leaf in arrays_of(value))
    if not (call.gradients and is_grad_enabled() and any(required)):
        return None
    operands = [value for value in call.arrays() if any(map(is_floating, arrays_of(value)))]
    places = {id(value): place for place, value in enumerate(operands)}

    def run(values: Iterable[Any]) -> Any:
        arrays = list(values)
        return call.replace_arrays(lambda value: arrays[places[id(value)]] if id(value) in places else value).make()

    wrong = wrong_derivatives_by(call.operation, run, _dense_of, [anew(value) for value in operands])
    if wrong is None:
        return None
    if isinstance(wrong.found, Exception):
        return _aspect_difference("gradient", error_text(wrong.found), value_text(wrong.expected))
    return _aspect_difference("gradient", value_text(wrong.found[wrong.place]), value_text(wrong.expected[wrong.place]))


def _wrong_call_error(call: ProgramCall, wrong: Difference) -> WrongCallError:
    """Return the error of a call that differs, with the smallest call that differs likewise."""
    simple = _simplest(call, wrong.aspect)
    call, wrong = simple or (call, wrong)
    with observing(noted := Entered()):
        result, _ = _outcome(call.replace_arrays(anew).make)
    program = ""
    if simple is not None:
        program = _program(call)
    rules = tuple(map(str, noted.rules))
    beside = wrong.beside
    if beside is not None and is_typed(result):
        fields = [(name, _one_line(getattr(result, name))) for name in types.fields_of(result)]
        beside = beside._replace(fields=tuple(fields))
    return WrongCallError(
        call.operation.qualified_name, wrong.aspect, str(call), wrong.found, wrong.expected, rules, program, beside
    )


def _one_line(value: Any) -> str:
    """Return the text of a field in one line, shortened in the middle where it is long."""
    text = " ".join(value_text(value).split())
    if len(text) > LONGEST:
        return f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}"
    return text


def _simplest(call: ProgramCall, aspect: str) -> tuple[ProgramCall, Difference] | None:
    """Return the simplest call that differs in the same way, and in what; None where it differs no more by itself."""

    def again(other: ProgramCall) -> Difference | None:
        wrong = other.again()
        if wrong is not None and wrong.aspect == aspect:
            return wrong
        return None

    wrong = again(call)
    if wrong is None:
        return None
    return simplest(call, wrong, _simpler, again)


def _simpler(call: ProgramCall) -> Iterator[ProgramCall]:
    """Yield calls without one of the keywords, and with whole numbers in the place of others."""
    for name in call.kwargs:
        kwargs = {key: value for key, value in call.kwargs.items() if key != name}
        yield replace(call, kwargs=kwargs)
    counted = call.replace_arrays(lambda value: with_variables(count_up, value))
    if not all(map(np.array_equal, call.elements(), counted.elements())):  # fields that are no variables stay
        yield counted


def _program(call: ProgramCall) -> str:
    """Return a program that makes a call, and the same on dense forms."""
    writer = Writer()
    names = {id(value): writer.write(value) for value in call.arrays() if isinstance(value, Tensor) or is_typed(value)}
    return writer.text([f"print({call.code(names, on_dense)})" for on_dense in (False, True)])


def verify(program: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """Call a function with every call that meets an array type checked against the same call on dense forms.

    Parameters
    ----------
    program : the function
    *args, **kwargs : its arguments

    Returns
    -------
    Any
        What the function returns.

    Raises
    ------
    WrongCallError : for the first call that differs, as `checked` raises it

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.types.DiagonalTensor([1.0, 2.0])
    >>> dk.verify(lambda x: dk.trace(x @ x), x)
    tensor(5.)
    """
    with checked():
        return program(*args, **kwargs)
