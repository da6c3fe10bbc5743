"""`TypeConformance`: the checks as a class of tests that a type's own test class derives from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from dispatchkit.testing.checks import CHECKS
from dispatchkit.testing.conformance import conformance
from dispatchkit.testing.findings import ConformanceError
from dispatchkit.testing.subject import Subject

__all__ = ["TypeConformance"]

# One subject for a test class: what its checks have found out of the type serves them all.
_subjects: WeakKeyDictionary[type, Subject] = WeakKeyDictionary()


class TypeConformance:
    """Base of a pytest class that runs each check on a type as a test of its own.

    A test class gives `samples`; `to_dense` where the type has none of its own; and `from_dense` where the type can
    hold any elements. The tests are called ``test_conforms[value]``, ``test_conforms[gradient]`` and so on.

    Attributes
    ----------
    metadata, plain, skip, depth, operations : as for `check_type`

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from dispatchkit.testing import TypeConformance
    >>> class TestScalarTensor(TypeConformance):
    ...     def samples(self):
    ...         return [dk.types.ScalarTensor(3, dk.tensor(2.0))]
    >>> TestScalarTensor().test_conforms("pickle")
    """

    metadata: ClassVar[Sequence[str] | None] = None
    plain: ClassVar[Sequence[str]] = ()
    skip: ClassVar[Iterable[str]] = ()
    depth: ClassVar[int | None] = 2
    operations: ClassVar[Iterable[Callable[..., Any]] | None] = None

    def samples(self) -> Sequence[Any]:
        """Return instances of the type, made anew."""
        raise NotImplementedError(f"{type(self).__name__} must define samples(self), a list of instances of the type")

    def to_dense(self, x: Any) -> Any:
        """Return the plain tensor that an instance stands for; by default the type's own dense form."""
        raise NotImplementedError

    def from_dense(self, x: Any) -> Any:
        """Return an instance with the elements of a plain tensor; left out where the type cannot hold any."""
        raise NotImplementedError

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """Make a test of each check."""
        if "check" in metafunc.fixturenames:
            metafunc.parametrize("check", [name for name in CHECKS if name not in set(self.skip)])

    def test_conforms(self, check: str) -> None:
        """Make one check on the type.

        Raises
        ------
        ConformanceError : if it fails
        """
        __tracebackhide__ = True
        found = conformance(self._subject(), [check], self.skip)
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
            _subjects[cls] = Subject(
                type(self.samples()[0]),
                self.samples,
                metadata=self.metadata,
                plain=self.plain,
                depth=self.depth,
                operations=self.operations,
                **given,
            )
        return _subjects[cls]
