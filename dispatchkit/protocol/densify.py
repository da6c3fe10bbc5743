"""Making an array dense: bounded, warned of and counted."""

from __future__ import annotations

import functools
import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any, Literal, NamedTuple

from dispatchkit.errors import AnswerError, DensifyError, DensifyWarning
from dispatchkit.locks import SectionLock
from dispatchkit.marks import override
from dispatchkit.protocol.blocks import Block, ContextState, Entered, Innermost, innermost_state, state_variable
from dispatchkit.protocol.frames import caller_frame, line_of, operation_frames, warn_at
from dispatchkit.protocol.naming import location_of, type_name, written
from dispatchkit.protocol.observers import UNSEEN, here, note_dense
from dispatchkit.protocol.overridable import Dispatcher, Overridable
from dispatchkit.protocol.rules import Rule
from dispatchkit.protocol.types.array_types import DENSE
from dispatchkit.wording import format_bytes

Policy = Literal["allow", "warn", "error"]
UNITS = {"B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


class _Bounds(NamedTuple):
    """What a block sets: a policy and a limit, None for as it was; whether it lifts what is set around it."""

    policy: Policy | None = None
    limit: int | None = None
    lifts: bool = False


class _Budget:
    """What the blocks of a context allow together."""

    __slots__ = ("entered", "limit", "policy")

    def __init__(self, entered: Entered = ()) -> None:
        self.entered = entered
        policy: str = "warn"
        limits: list[int] = []
        for _, bounds in entered:
            if bounds.lifts:
                policy, limits = "allow", []
            elif bounds.policy is not None and policy != "error":
                policy = bounds.policy
            if bounds.limit is not None:
                limits.append(bounds.limit)
        self.policy, self.limit = policy, min(limits, default=None)


_budget = ContextState("densify", _Budget(), _Budget)


@dataclass(slots=True)
class LedgerEntry:
    """How often one line of a program made a type dense.

    Attributes
    ----------
    file, line : the caller's
    function : qualified name of the operation; of a program that calls the method itself that of the method
    type : name of the type
    count : how often
    nbytes : total size of the dense copies in bytes, as far as known
    reason : why nobody else answered, the last time
    inside : the function that made it dense itself, with file and line; "" where a fallback did
    deliberate : whether the program called the method itself, outside of any operation
    """

    file: str
    line: int
    function: str
    type: str
    count: int = 0
    nbytes: int = 0
    reason: str = ""
    inside: str = ""
    deliberate: bool = False

    def __str__(self) -> str:
        times = "once"
        if self.count != 1:
            times = f"{self.count} times"
        if self.deliberate:
            return f"{self.file}:{self.line}: {self.function}() was called {times} ({format_bytes(self.nbytes)})"
        text = (
            f"{self.file}:{self.line}: '{self.function}' made {self.type} dense {times} ({format_bytes(self.nbytes)})"
        )
        if self.inside:
            return f"{text}, {self.inside}"
        if self.reason:
            return f"{text}: {self.reason}"
        return text


Book = dict[tuple[str, int, str, str, str], LedgerEntry]
_ledger: Book = {}
_ledger_lock = SectionLock()
_separate: ContextState[Innermost[Book | None]] = innermost_state("separate ledger", None)


def densify_ledger() -> list[LedgerEntry]:
    """Return what became dense in the process so far, by line of the program, the largest first.

    Returns
    -------
    list of LedgerEntry
        Each has ``file``, ``line``, ``function``, ``type``, ``count``, ``nbytes``, ``reason``, ``inside`` and
        ``deliberate``, and prints as one line.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.clear_densify_ledger()
    >>> with dk.densify(on="allow"):
    ...     largest = [dk.max(dk.types.ScalarTensor(100, float(i))) for i in range(3)]
    >>> place, _, made = str(dk.densify_ledger()[0]).partition(": ")
    >>> made  # doctest: +ELLIPSIS
    "'dispatchkit.max' made ScalarTensor dense 3 times (240.0 kB): no rule for max; ...
    """
    entries = _ledger_lock.run(lambda: list(_ledger.values()))
    return sorted(entries, key=lambda entry: entry.nbytes, reverse=True)


def clear_densify_ledger() -> None:
    """Forget what became dense so far.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.clear_densify_ledger()
    >>> dk.densify_ledger()
    []
    """
    _ledger_lock.run(_ledger.clear)


@contextmanager
def separate_ledger() -> Iterator[Book]:
    """Count the densifications of a `with` block apart, and leave the ledger of the process as it is."""
    book: Book = {}
    with Block(_separate, book):
        yield book


class _Densify(Block):
    """Warns where it is dropped before somebody entered it, or decorated a function with it."""

    _used = False

    @override
    def __enter__(self) -> None:
        self._used = True
        super().__enter__()

    @override
    def __call__(self, func: Any) -> Any:
        self._used = True
        return super().__call__(func)

    def __del__(self) -> None:
        if not self._used:
            text = "densify has no effect before a with statement enters it; write with dk.densify(...):"
            warnings.warn(text, RuntimeWarning, stacklevel=2)


def densify(on: Policy | None = None, limit: str | int | None = None) -> Block:
    """Allow, limit or forbid dense copies inside a `with` block.

    Parameters
    ----------
    on : ``"allow"`` is silent, ``"warn"``, the default outside of any block, warns at the caller's line, ``"error"``
        raises; without it the setting does not change
    limit : the largest dense copy, in bytes or as text such as ``"100MB"``; without it the limit does not change

    Returns
    -------
    context manager
        To use in a `with` statement, or as a decorator; without these it has no effect, and a `RuntimeWarning` says so.

    Raises
    ------
    ValueError : if `on` is another word, or `limit` is no size

    Notes
    -----
    Dense copies are made by the dense fallback, and to find the shape or dtype of a type that does not declare them. A
    dense copy inside a rule, by the type's declared method, counts like one by the fallback. A call of that method
    outside of any operation is deliberate, and so is that of ``item()``, ``float()``, ``int()`` or ``bool()``: it is in
    the ledger, and is never refused.

    An inner block can only forbid more: it lifts neither ``"error"`` nor a limit. A program that runs to its end inside
    ``with densify(on="error")`` has made no dense copy, so a test can prove that it keeps the structure.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> with dk.densify(on="error"):
    ...     dk.cos(dk.types.ScalarTensor(3, 2.0))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    dispatchkit.errors.DensifyError: 'dispatchkit.cos' would make ScalarTensor dense (72 B), and ...
    """
    if on not in (None, "allow", "warn", "error"):
        raise ValueError(f"densify: on must be 'allow', 'warn' or 'error', not {on!r}")
    return _Densify(_budget, _Bounds(on, None if limit is None else _parse_size(limit)), "densify")


def without_warnings() -> AbstractContextManager[None]:
    """Have dense copies that are warned of made silently; a limit, and ``on="error"``, stay."""
    return Block(_budget, _Bounds("allow"))


def without_bounds() -> AbstractContextManager[None]:
    """Have dense copies made silently, whatever bounds the caller has set: for measurements of the library's own."""
    return Block(_budget, _Bounds(lifts=True))


# Each makes a context for a dense form that needs one: arrays made in it are of the library of the instance's own.
surroundings: list[Callable[[Any], AbstractContextManager[None] | None]] = []


def forbidden_copy(function: str, cls: type, shape: Any, dtype: Any) -> tuple[DensifyError | None, str]:
    """Return the error that the budget of the context raises if an array becomes dense, and on what that depends.

    Parameters
    ----------
    function : qualified name of what would make it dense
    cls, shape, dtype : of the array; None for what is not known
    """
    budget = _budget.get()
    nbytes = None
    if shape is not None and dtype is not None:
        nbytes = math.prod(shape) * int(dtype.itemsize)
    name = type_name(cls)
    if budget.policy == "error":
        return DensifyError(function, name, nbytes), ""
    if budget.limit is None:
        return None, ""
    if nbytes is None:
        return None, f"the size of the dense form of {name}"
    return (DensifyError(function, name, nbytes, budget.limit) if nbytes > budget.limit else None), ""


# The ids of the instances of which a dense form is being made in this context, and with them the methods that make it.
_under_way: ContextVar[frozenset[Any]] = state_variable("dense forms being made", frozenset())


def make_dense(
    function: str,
    cls: type,
    to_dense: Callable[[Any], Any],
    value: Any,
    is_plain: Callable[[type], bool],
    *,
    as_attribute: bool = False,
    deliberate: bool = False,
    reason: str = "",
    warned: str = "",
) -> Any:
    """Make `value` dense under the budget of the context.

    Parameters
    ----------
    function : qualified name of what asks for it
    cls, to_dense, value : the type, what makes an instance dense, and the instance
    is_plain : tells for a type whether the dense form may be of it
    as_attribute : whether `function` is an attribute that is read off the dense form, of which nobody is warned
    deliberate : whether a program that calls `function` outside of any operation asks for a dense form, which no budget
        refuses
    reason : why nobody else answered
    warned : the part of the reason that the warning says

    Raises
    ------
    DensifyError : where the budget forbids it
    AnswerError : where what is made is no plain array, or cannot be made without itself
    """

    def make() -> Any:
        dense = _call_maker(function, type_name(cls), to_dense, value, as_attribute)
        if type(dense) is cls or not is_plain(type(dense)):
            result = "None"
            if dense is not None:
                result = f"a value of type {type_name(type(dense))}"
            problem = f"returned {result}; return a plain array"
            raise AnswerError(function, maker_text(to_dense, type_name(cls)), problem)
        return dense

    frame = caller_frame()
    if deliberate and operation_frames() is None:
        return make_on_request(function, cls, make, frame)
    return make_within_budget(
        function, cls, value, to_dense, make, frame, reason=reason, warned=None if as_attribute else warned
    )


def make_within_budget(
    function: str,
    cls: type,
    value: Any,
    to_dense: Callable[..., Any],
    make: Callable[[], Any],
    frame: FrameType,
    *,
    reason: str = "",
    inside: str = "",
    warned: str | None = None,
) -> Any:
    """Return what makes a value dense, under the budget of the context, and count it.

    Parameters
    ----------
    function : qualified name of the operation that needs it
    cls, value : the type, and an instance
    to_dense, make : what the type has declared, for messages; what makes the instance dense by it
    frame : of the caller, who is warned
    reason : why nobody else answered
    inside : the function that makes it dense itself, with file and line
    warned : what the warning says besides operation, type and size; None for no warning

    Raises
    ------
    DensifyError : where the budget forbids it
    AnswerError : where the dense form has another shape than the instance
    """
    budget = _budget.get()
    declared, dtype = known_layout(value)
    expected = _nbytes(declared, dtype)
    if declared is None and not _reads_dense(value, "shape"):
        declared = getattr(value, "shape", None)  # of a type whose dtype is that of the dense form
    name = type_name(cls)
    if budget.policy == "error":
        raise DensifyError(function, name, expected, inside=inside)
    _check_limit(budget, function, name, expected, inside)
    dense = make()
    if declared is not None and declared != getattr(dense, "shape", ()):
        _check_shape(function, to_dense, name, declared, dense)
    nbytes = densified_nbytes(dense)
    if expected is None:
        _check_limit(budget, function, name, nbytes, inside)
    _enter(frame, function, name, nbytes or 0, reason, inside)
    note_dense(nbytes or 0, inside or reason)
    if warned is not None and budget.policy == "warn":
        size = "unknown size"
        if nbytes is not None:
            size = format_bytes(nbytes)
        text = f"'{function}' made {name} dense ({size})" + (f", {inside}" if inside else "")
        warn_at(frame, f"{text}: {warned}" if warned else text, DensifyWarning)
    return dense


def make_on_request(function: str, cls: type, make: Callable[[], Any], frame: FrameType) -> Any:
    """Return a dense form that a program asks for itself, outside of any operation, and count it as deliberate.

    Parameters
    ----------
    function : that the program calls
    cls, make : the type, and what makes an instance dense
    frame : of the caller
    """
    dense = make()
    _enter(frame, function, type_name(cls), densified_nbytes(dense) or 0, deliberate=True)
    return dense


def _enter(
    frame: FrameType,
    function: str,
    name: str,
    nbytes: int,
    reason: str = "",
    inside: str = "",
    *,
    deliberate: bool = False,
) -> None:
    """Enter a dense copy in the ledger, with those that the same line made of the same type before."""
    apart = _separate.get().value
    book = _ledger if apart is None else apart
    # Python counts the lines anew each time that a frame is asked for its own, which takes long in a long function.
    file, line = frame.f_code.co_filename, line_of(frame.f_code, frame.f_lasti)
    key = file, line, function, name, inside

    def count() -> None:
        entry = book.get(key)
        if entry is None:
            entry = book[key] = LedgerEntry(file, line, function, name, inside=inside, deliberate=deliberate)
        entry.count += 1
        entry.nbytes += nbytes
        entry.reason = reason

    _ledger_lock.run(count)


class MakingDense:
    """Notes that a dense form of an instance is being made; dense forms that are made for it are part of it.

    A generator in its place takes as long as many a dense form.
    """

    __slots__ = ("_around", "_marks", "_outer", "_value")

    def __init__(self, value: Any, *marks: Any) -> None:
        self._value, self._marks = value, {id(value), *marks}
        self._around: ExitStack | None = None

    def __enter__(self) -> None:
        self._outer = under_way = _under_way.get()
        contexts: list[Any] = []
        # What surrounds the dense form of an instance surrounds its parts, too.
        if id(self._value) not in under_way:
            for surrounding in surroundings:
                context = surrounding(self._value)
                if context is not None:
                    contexts.append(context)  # a comprehension is a call of its own
        try:
            _under_way.set(under_way | self._marks)
            if contexts:
                self._around = ExitStack()
                for context in contexts:
                    self._around.enter_context(context)
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if self._around is not None:
                self._around.__exit__(kind, error, traceback)
        finally:
            _under_way.set(self._outer)


def _call_maker(function: str, name: str, to_dense: Callable[[Any], Any], value: Any, as_attribute: bool) -> Any:
    """Return what makes a value dense, which is not to need the dense form itself."""
    if id(value) in _under_way.get():
        maker = f"{_name(to_dense)}()"
        problem = f"calls {function} on {name}, whose fallback is {maker}"
        if as_attribute:
            problem = f"reads {function}, which is taken from {maker}; define it"
        raise AnswerError(function, maker_text(to_dense, name), problem)
    with MakingDense(value):
        try:
            return to_dense(value)
        except RecursionError as error:
            if not getattr(error, "__notes__", ()):
                error.add_note(f"in {maker_text(to_dense, name)}, called by {function}")
            raise


def maker_text(to_dense: Callable[[Any], Any], name: str) -> str:
    """Return what makes a type dense, with file and line."""
    return f"{_name(to_dense)}() of {name} at {location_of(to_dense)}"


def _name(to_dense: Callable[[Any], Any]) -> str:
    return getattr(to_dense, "__name__", "to_dense")


def _check_limit(budget: _Budget, function: str, name: str, nbytes: int | None, inside: str) -> None:
    if budget.limit is not None and nbytes is not None and nbytes > budget.limit:
        raise DensifyError(function, name, nbytes, budget.limit, inside)


class Derived:
    """An attribute that a type does not supply; an instance attribute of the same name is found first.

    Parameters
    ----------
    doc : its docstring
    compute : gives it of an instance
    from_dense : whether it is read off the dense form
    """

    def __init__(self, doc: str, compute: Callable[[Any], Any], from_dense: bool = False) -> None:
        self.__doc__ = doc
        self.compute = compute
        self.from_dense = from_dense

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        return self.compute(instance)


LAYOUT = ("shape", "dtype")


def known_layout(value: Any) -> tuple[Any, Any]:
    """Return shape and dtype of a value; None for what it does not have, or would have to become dense for."""
    cls = type(value)
    for name in LAYOUT:
        if isinstance(getattr(cls, name, None), Derived) and _reads_dense(value, name):
            return None, None
    return getattr(value, "shape", None), getattr(value, "dtype", None)


def _reads_dense(value: Any, name: str) -> bool:
    """Return whether an attribute of a value is read off its dense form."""
    derived = getattr(type(value), name, None)
    return isinstance(derived, Derived) and derived.from_dense and name not in getattr(value, "__dict__", ())


def densified_nbytes(value: Any) -> int | None:
    """Return the size of an array from its shape and dtype; None where it does not tell both cheaply."""
    return _nbytes(*known_layout(value))


def _nbytes(shape: Any, dtype: Any) -> int | None:
    try:
        return int(math.prod(shape)) * int(dtype.itemsize)
    except (AttributeError, TypeError, ValueError):  # ValueError: a length that is not known is NaN
        return None


def _check_shape(function: str, to_dense: Callable[..., Any], name: str, declared: Any, dense: Any) -> None:
    """Check that a dense form has the shape that the instance has; a length that is not known may be any."""
    # What `vmap` puts in the place of an array lacks the axis of the batch, which a shape from before still has.
    if not isinstance(declared, Sequence) or getattr(dense, "is_tracer", False):
        return
    declared, shape = tuple(declared), tuple(getattr(dense, "shape", ()))
    if len(declared) == len(shape) and all(map(_may_be, declared, shape)):
        return
    problem = f"returned an array of shape {shape}, but the shape of the {name} is {declared}; correct one of them"
    raise AnswerError(function, maker_text(to_dense, name), problem)


def _may_be(length: Any, other: Any) -> bool:
    """Return whether two lengths may be the same; one that is not known is None, or NaN."""
    return length == other or None in (length, other) or length != length or other != other  # noqa: PLR0124


def _parse_size(limit: Any) -> int:
    if isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0:
        return limit
    match = None
    if isinstance(limit, str):
        match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", limit)
    if match is None or (match[2] or "B") not in UNITS:
        raise ValueError(f"densify: limit {limit!r} is no size; write it like '100MB' ({', '.join(UNITS)})")
    return int(float(match[1]) * UNITS[match[2] or "B"])


# Attributes of a method that makes a type dense: that it counts, and what gives the form that an instance has, or None.
COUNTS, HELD = "__counts_dense__", "__held_dense__"


def count_dense(protocol: Dispatcher, cls: type) -> None:
    """Have the method that makes a type dense count its calls; also of a subclass that declares nothing itself.

    A method that the class inherits is counted by one of its own, so that the superclass stays as it is. What is
    no method written in Python is left alone.
    """
    name = protocol.types.declared_value(cls, "dense") or DENSE
    method = None
    if isinstance(name, str):
        method = getattr(cls, name, None)
    if not isinstance(method, FunctionType) or hasattr(method, COUNTS):
        return
    before, counting = cls.__dict__.get(name), _counting(method)
    try:
        setattr(cls, name, counting)
    except (AttributeError, TypeError):
        return

    def undo() -> None:
        if cls.__dict__.get(name) is not counting:
            return
        if before is None:
            delattr(cls, name)
        else:
            setattr(cls, name, before)

    protocol.journal.on_undo(undo)


def _counting(method: FunctionType) -> Callable[..., Any]:
    held = getattr(method, HELD, None)

    @functools.wraps(method)
    def to_dense(self: Any, *args: Any, **kwargs: Any) -> Any:
        if held is not None and not args and not kwargs and (dense := held(self)) is not None:
            return dense  # nothing is made
        # All else is in a function that a pickle of the class finds by its name.
        return _call(method, self, args, kwargs)

    setattr(to_dense, COUNTS, True)
    return to_dense


def _call(method: FunctionType, value: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    mark = id(value), method
    under_way = _under_way.get()
    if mark in under_way:
        name = type_name(type(value))
        raise AnswerError(f"{name}.{method.__name__}", maker_text(method, name), "calls itself")

    def make() -> Any:
        with MakingDense(value, mark):
            return method(value, *args, **kwargs)

    if under_way or here.call is UNSEEN:
        return make()  # a part of another dense form, or that of a superclass, is counted with it
    called = operation_frames()
    cls = type(value)
    if called is None:
        return make_on_request(f"{type_name(cls)}.{method.__name__}", cls, make, caller_frame())
    operation, function, frame = called
    inside = _inside(operation, cls, function)
    return make_within_budget(operation.qualified_name, cls, value, method, make, frame, inside=inside, warned="")


def _inside(operation: Overridable, cls: type, called: FrameType) -> str:
    """Return in words which function an operation called, that makes a type dense."""
    code = called.f_code
    place = code.co_filename, code.co_firstlineno, code.co_qualname
    text = operation.called.get(place)
    if text is None:
        journal = operation.protocol.journal
        generation = journal.generation
        what = "the rule"
        if not _is_rule(operation, cls, code):
            what = code.co_qualname.replace("<locals>.", "")
        text = f"inside {what} at {code.co_filename}:{code.co_firstlineno}"
        journal.keep(operation, generation, operation.called, (place,), text)
    return text


def _is_rule(operation: Overridable, cls: type, code: CodeType) -> bool:
    """Return whether the code is that of a rule of an operation; those of a type are looked at first."""
    handlers = operation.protocol.handlers
    listed = handlers.naming(operation.types.counts_as(cls))
    targets = (operation, *operation.kind.lineage())
    if any(_has_code(handlers.needing(target, listed), code) for target in targets):
        return True
    return any(_has_code(handlers.of(target), code) for target in targets)


def _has_code(rules: Iterable[Rule], code: CodeType) -> bool:
    return any(getattr(written(rule.handler), "__code__", None) is code for rule in rules)
