"""Random programs over a type: results become arguments of further calls, each compared with the same on dense forms.

Hypothesis draws and shrinks them. Functions whose rules have lines that nothing entered so far are drawn more often.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import islice
from typing import Any

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.samples import Draw, Sample
from dispatchkit.declare.variables import is_floating
from dispatchkit.func.containers import with_variables
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.tensor import Tensor
from dispatchkit.testing.attribution import noting, rules_of
from dispatchkit.testing.calls import Call, fitted_samples, variations
from dispatchkit.testing.comparing.differences import is_determined
from dispatchkit.testing.comparing.memory import is_typed
from dispatchkit.testing.findings import Failure, Subject
from dispatchkit.testing.instances import NEGATIVE, SPECIAL, ZERO, vary
from dispatchkit.testing.pasting import Writer
from dispatchkit.testing.programs import REFUSALS, ProgramCall, WrongCallError

ROUNDS, EXAMPLES, STEPS = 2, 15, 8
THOROUGH, THOROUGH_EXAMPLES = 80, 25  # rounds, and programs in each
FITTED = 16  # ways to fit a call to an instance, of which one is drawn
LARGEST = 200  # elements of what becomes an argument
ELEMENTS = ("as declared", "zeros and ones", "float32", "complex128", "int64", "infinities")


def is_available() -> bool:
    """Return whether Hypothesis is installed, which draws the programs."""
    return find_spec("hypothesis") is not None


def is_comparable(subject: Subject) -> bool:
    """Return whether the type itself has a dense form, with which its results are compared."""
    usual = tensor_protocol.types.to_dense(subject.cls) is not None or issubclass(subject.cls, Tensor)
    return subject.relation.compared and usual


def programs(subject: Subject) -> Iterator[Failure | None]:
    """Results, as arguments of further calls, give what their dense forms give; so do gradients by all arguments."""
    if not is_available() or not is_comparable(subject):
        return
    wrong = {operation for operation, examined in subject.memory.get("examination", {}).items() if examined.failures}
    subject.lines.known.clear()  # so that the same programs run whatever was checked before
    rounds, examples = ROUNDS, EXAMPLES
    if subject.thorough:
        rounds, examples = THOROUGH, THOROUGH_EXAMPLES
    for number in range(rounds):
        operations = _operations(subject, wrong)
        if operations:
            failure, count = _round(subject, operations, number, examples)
        else:
            failure, count = None, 0
        yield from [None] * count
        if failure is not None:
            wrong.add(tensor_protocol.operations[failure.operation])
            yield failure


def _operations(subject: Subject, without: set[Overridable]) -> list[Overridable]:
    """Return what is called, those with rules several times, those of whose rules lines were not entered more often."""
    rules = rules_of(subject)
    codes = {rule.target: getattr(rule.handler, "__code__", None) for rule in rules}
    chosen: list[Overridable] = []
    for operation in subject.operations:
        if operation in without or not is_determined(operation) or not getattr(operation, "samples", None):
            continue
        targets = [target for target in (operation, *operation.kind.lineage()) if target in codes]
        new = any(code is not None and subject.lines.new_in(code) for code in map(codes.get, targets[:1]))
        if new:
            times = 12
        elif operation in targets:
            times = 8
        elif targets:
            times = 2
        else:
            times = 1
        chosen += [operation] * times
    return chosen


@dataclass
class Program:
    """A program, as far as it has run.

    Attributes
    ----------
    values : that it has made, instances of array types and plain tensors
    lines : what it is written as
    writer : that has written what it begins with
    names : of the values, by identity
    regular : the instances of which derivatives are compared: no results, which may be at a corner, as zeros are
    """

    values: list[Any] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    writer: Writer = field(default_factory=Writer)
    names: dict[int, str] = field(default_factory=dict)
    regular: list[Any] = field(default_factory=list)

    def add(self, value: Any, name: str) -> None:
        """Take a value that further calls may have as an argument."""
        self.names[id(value)] = name
        self.values.append(value)

    def step(self, call: ProgramCall, *, compared: bool = True) -> None:
        """Write a call down, and make it.

        Parameters
        ----------
        call : of the program
        compared : whether it is compared with the same call on dense forms

        Raises
        ------
        WrongCallError : where it differs from the same call on dense forms
        """
        for value in call.arrays():
            if id(value) not in self.names and (isinstance(value, Tensor) or is_typed(value)):
                self.add(value, self.writer.write(value))
        name = f"y{len(self.lines) + 1}"
        self.lines.append(f"{name} = {call.code(self.names)}")
        dense = None
        if compared:
            dense, _ = call.on_dense()
        try:
            if dense is None:
                result = call.make()
            else:
                result = call.check(dense)
        except WrongCallError:
            raise
        except Exception:
            self.lines.pop()  # refused: it is no part of the program
            raise
        named = [(name, result)]
        if isinstance(result, (tuple, list)):
            named = [(f"{name}[{place}]", part) for place, part in enumerate(result)]
        for code, part in named:
            if (is_typed(part) or type(part) is Tensor) and part.size <= LARGEST:
                self.add(part, code)

    def text(self) -> str:
        """Return it as a program to paste."""
        return self.writer.text([*self.lines, f"print(y{len(self.lines)})"])


def _round(subject: Subject, operations: Sequence[Overridable], seed: int, examples: int) -> tuple[Failure | None, int]:
    """Run random programs; return the failure of the simplest that fails, and how many calls were compared."""
    from hypothesis import HealthCheck, Phase, Verbosity, given, settings  # noqa: PLC0415  # an optional dependency
    from hypothesis import seed as seeded  # noqa: PLC0415
    from hypothesis import strategies as st  # noqa: PLC0415

    failing: list[tuple[WrongCallError, Program]] = []
    count = 0

    @seeded(seed)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
        report_multiple_bugs=False,
    )
    @given(st.data())
    def run(data: Any) -> None:
        nonlocal count
        program = Program()
        _begin(subject, program, data)
        for _ in range(data.draw(st.sampled_from(range(STEPS, 0, -1)))):
            call = _next_call(subject, program, operations, data)
            if call is None:
                continue
            count += 1
            try:
                with noting(subject), subject.lines.noted():
                    program.step(call)
            except WrongCallError as error:
                failing.append((error, program))
                raise
            except Exception:  # noqa: BLE001, S112  # refused by the type, as it may be, or by dense forms, too
                continue

    try:
        run()
    except WrongCallError:
        pass
    except Exception:  # Hypothesis says that a fault comes and goes
        if not failing:
            raise
    if not failing:
        return None, count
    return program_failure(*failing[-1]), count


def program_failure(error: WrongCallError, program: Program) -> Failure:
    """Return the failure of a program whose last call differs from the same on dense forms."""
    handler = ""
    if error.rules:
        handler = error.rules[-1]
    return Failure(
        "programs",
        error.operation,
        f"{error.aspect} of {error.call}",
        error.found,
        error.expected,
        handler=handler,
        program=error.program or program.text(),
    )


def _begin(subject: Subject, program: Program, data: Any) -> None:
    """Draw the instances that a program begins with."""
    from hypothesis import strategies as st  # noqa: PLC0415  # an optional dependency

    for _ in range(data.draw(st.integers(1, 2))):
        index = data.draw(st.integers(0, subject.count - 1))
        turn = data.draw(st.sampled_from([0, 0, 1, 2, SPECIAL, NEGATIVE, ZERO]))
        value = subject.sample(index)
        is_regular = turn not in (SPECIAL, ZERO)
        try:
            value = vary(value, turn)
            if subject.from_dense is not None and data.draw(st.booleans()):
                shape = data.draw(st.sampled_from([(), (1,), (3,), (2, 2), (2, 3), (0,), (2, 2, 2)]))
                value, is_regular = subject.from_dense(xp.asarray(_array(Draw(shape), data, ELEMENTS))), False
            subject.right_dense(value)
        except Exception:  # noqa: BLE001  # the type holds no such elements
            value = subject.sample(index)
        if data.draw(st.booleans()):
            value = with_variables(lambda x: xp.asarray(x).detach().requires_grad_(), value)
        program.add(value, program.writer.write(value))
        if is_regular:
            program.regular.append(value)


def _next_call(subject: Subject, program: Program, operations: Sequence[Overridable], data: Any) -> ProgramCall | None:
    """Draw a call with an instance of the program among its arrays; None where the drawn one cannot be made."""
    from hypothesis import strategies as st  # noqa: PLC0415  # an optional dependency

    operation = data.draw(st.sampled_from(operations))
    assert isinstance(operation, DeclaredOperation)
    sample: Sample = data.draw(st.sampled_from(operation.samples))
    count = len(sample.arrays(operation.parameters))
    smooth = operation.differentiable and bool(program.regular) and data.draw(st.booleans())
    if smooth:
        values = program.regular
    else:
        values = program.values
    instances = [value for value in values if isinstance(value, subject.cls)]
    if not count or not instances:
        return None
    instance = data.draw(st.sampled_from([*instances, *instances[-2:]]))  # rather what calls have given
    shape = tuple(instance.shape)
    seat = data.draw(st.integers(0, count - 1))
    alike = []
    if data.draw(st.booleans()):
        alike = [value for value in values if tuple(value.shape) == shape]
    seats = None
    if not alike:
        seats = (seat,)
    try:
        ways = list(islice(fitted_samples(operation, sample, shape, seats, unnamed=False), FITTED))
        ways += islice(variations(operation, ways[0], shape), FITTED)
        sample = data.draw(st.sampled_from([*ways[:1] * 4, *ways]))
        arrays = [value for _, value in sample.arrays(operation.parameters)]
        kinds: Sequence[str] = ELEMENTS
        if smooth:
            kinds = ELEMENTS[:1]
        others = [data.draw(st.sampled_from(alike)) if alike else _companion(value, data, kinds) for value in arrays]
    except (ValueError, TypeError, IndexError):
        return None
    others[seat] = instance
    args, kwargs = Call(operation, sample, tuple(others)).arguments(lambda value: value)
    return ProgramCall(operation, args, kwargs, smooth and sample.differentiable, (*REFUSALS, *subject.refusals))


def _companion(described: Any, data: Any, kinds: Sequence[str]) -> Any:
    """Draw another argument than an instance: a plain tensor of what the call asks for, a NumPy array or a number."""
    from hypothesis import strategies as st  # noqa: PLC0415  # an optional dependency

    array = np.asarray(_array(described, data, kinds))
    form = data.draw(st.sampled_from(["tensor", "tensor", "array", "number", "0-D tensor"]))
    if form in ("number", "0-D tensor") and array.size and not isinstance(described, np.ndarray):
        if form == "number":
            return array.flat[0].item()
        return _tensor(array.flat[0])
    if form == "array":
        return array
    return _tensor(array)


def _tensor(array: Any) -> Any:
    tensor = xp.asarray(array)
    if is_floating(tensor):
        return tensor.requires_grad_()
    return tensor


def _array(described: Any, data: Any, kinds: Sequence[str]) -> Any:
    """Return the elements of an array, of one of some kinds."""
    from hypothesis import strategies as st  # noqa: PLC0415  # an optional dependency

    if not isinstance(described, Draw):
        return described
    elements = described.make(np.random.default_rng(data.draw(st.integers(0, 3))))
    kind = data.draw(st.sampled_from(kinds))
    if elements.dtype.kind != "f" or kind == "as declared":
        return elements
    if kind == "zeros and ones":
        return np.resize([0.0, 1.0, 0.0], elements.shape)
    if kind == "infinities":
        return np.resize([np.inf, 1.0, np.nan, 0.0], elements.shape)
    return elements.astype(kind)
