"""`TypeConformance`: the checks as a class of tests that a type's own test class derives from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.testing.checks import CHECKS
from dispatchkit.testing.conformance import conformance
from dispatchkit.testing.findings import ConformanceError
from dispatchkit.testing.instances import first, is_strategy
from dispatchkit.testing.subject import Law, Subject

__all__ = ["TypeConformance"]

# One subject for a test class: what its checks have found out of the type serves them all.
_subjects: WeakKeyDictionary[type, Subject] = WeakKeyDictionary()
OF_TYPE = [name for name, check in CHECKS.items() if check.of_type is not None]
OF_OPERATIONS = [name for name, check in CHECKS.items() if check.of_operation is not None]


class TypeConformance:
    """Base of a pytest class that runs each check on a type, and all checks on each operation, as tests of their own.

    A test class gives `samples`; `to_dense` where the type has none of its own; and `from_dense` where the type can
    hold any elements. The tests of the type are called ``test_conforms[pickle]``, ``test_conforms[attributes]`` and so
    on, those of operations ``test_operation[product-matmul]``, with the kind in front.

    Attributes
    ----------
    metadata, plain, skip, depth, operations, refuses, closed : as for `check_type`

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from dispatchkit.testing import TypeConformance
    >>> class TestScalarTensor(TypeConformance):
    ...     def samples(self):
    ...         return [dk.types.ScalarTensor(3, dk.tensor(2.0))]
    >>> TestScalarTensor().test_conforms("pickle")
    >>> TestScalarTensor().test_operation("product-matmul")
    """

    metadata: ClassVar[Sequence[str] | Mapping[str, Law] | None] = None
    plain: ClassVar[Sequence[str]] = ()
    skip: ClassVar[Iterable[str]] = ()
    depth: ClassVar[int | None] = 2
    operations: ClassVar[Iterable[Callable[..., Any]] | None] = None
    refuses: ClassVar[Sequence[type[Exception]]] = ()
    closed: ClassVar[Iterable[Callable[..., Any]]] = ()

    def samples(self) -> Any:
        """Return instances of the type, made anew, or a strategy of Hypothesis for one."""
        raise NotImplementedError(f"{type(self).__name__} must define samples(self), a list of instances of the type")

    def to_dense(self, x: Any) -> Any:
        """Return the plain tensor that an instance stands for; by default the type's own dense form.

        Parameters
        ----------
        x : an instance of the type
        """
        raise NotImplementedError

    def from_dense(self, x: Any) -> Any:
        """Return an instance with the elements of a plain tensor; left out where the type cannot hold any.

        Parameters
        ----------
        x : a plain tensor
        """
        raise NotImplementedError

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """Make a test of each check of the type, and of each operation.

        Parameters
        ----------
        metafunc : what pytest passes
        """
        if "check" in metafunc.fixturenames:
            metafunc.parametrize("check", [name for name in OF_TYPE if name not in set(self.skip)])
        if "operation" in metafunc.fixturenames:
            metafunc.parametrize("operation", list(_named(self.operations)))

    def test_conforms(self, check: str) -> None:
        """Make one check on the type itself.

        Parameters
        ----------
        check : the name of one of `CHECKS`

        Raises
        ------
        ConformanceError : if it fails
        """
        __tracebackhide__ = True
        self._check([check], [])

    def test_operation(self, operation: str) -> None:
        """Make all checks on one operation.

        Parameters
        ----------
        operation : its name

        Raises
        ------
        ConformanceError : if one of them fails
        """
        __tracebackhide__ = True
        self._check(OF_OPERATIONS, [_named(self.operations)[operation]])

    def _check(self, checks: Iterable[str], operations: list[Overridable]) -> None:
        __tracebackhide__ = True
        subject = self._subject()
        subject.operations = operations
        found = conformance(subject, [name for name in checks if name in OF_TYPE or operations], self.skip)
        if found.failures:
            raise ConformanceError(found)

    def _subject(self) -> Subject:
        cls = type(self)
        if cls not in _subjects:
            given = {
                name: getattr(self, name)
                for name in ("to_dense", "from_dense")
                if getattr(cls, name) is not getattr(TypeConformance, name)
            }
            samples = self.samples()
            strategy = is_strategy(samples)
            _subjects[cls] = Subject(
                type(first(samples) if strategy else samples[0]),
                samples if strategy else self.samples,
                metadata=self.metadata,
                plain=self.plain,
                depth=self.depth,
                operations=self.operations,
                refuses=self.refuses,
                closed=self.closed,
                **given,
            )
        return _subjects[cls]


def _named(operations: Iterable[Callable[..., Any]] | None) -> dict[str, Overridable]:
    """Return operations that have array arguments, by what their tests are called."""
    listed = tensor_protocol.operations.values()
    chosen = listed if operations is None else map(tensor_protocol.operation, operations)
    return {
        f"{one.kind.name}-{one.qualified_name.removeprefix('dispatchkit.')}": one
        for one in chosen
        if one.parameters.arrays
    }
