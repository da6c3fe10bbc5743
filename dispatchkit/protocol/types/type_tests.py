"""`TypeTests`: what the author of an array type tells its tests, in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from dispatchkit.deprecation import warn_deprecated
from dispatchkit.errors import RegistrationError
from dispatchkit.protocol.kinds import Kind
from dispatchkit.protocol.types.declaration import Relation


@dataclass(frozen=True, kw_only=True, slots=True)
class TypeTests:
    """What results of an array type promise, for everything that tests the type: ``array_type(tests=TypeTests(...))``.

    `dk.check`, `dk.testing.check_type`, `dk.checked`, `dk.verify` and `dk.coverage` read it; calls do not.

    Parameters
    ----------
    relation : how results relate to those of the same calls on dense forms: by default inherited, else ``"equal"``;
        ``"unrelated"`` where there is nothing to compare with; a tolerance; a function of an instance and the dense
        result, whether the one is right for the other; or a `dk.testing.Relation`
    refuses : exceptions by which the type refuses calls by design, such as an error of units; by default inherited
    closed : functions and kinds whose result is of the type if all their arrays are
    impossible : functions and kinds that cannot keep the structure, which advice leaves out

    Examples
    --------
    >>> import dispatchkit as dk
    >>> @dk.array_type(fallback=dk.fallback.dense, tests=dk.TypeTests(relation=0.01, closed=[dk.negative]))
    ... class Rounded:
    ...     def __init__(self, hundredths):
    ...         self.hundredths = dk.asarray(hundredths)
    ...     def to_dense(self):
    ...         return self.hundredths / 100
    >>> @dk.implements(dk.negative)
    ... def negative_rounded(x: Rounded, /):
    ...     return Rounded(-x.hundredths)
    >>> dk.verify(dk.negative, Rounded([125]))
    Rounded(hundredths=tensor([-125]))
    """

    relation: str | float | Callable[[Any, Any], Any] | Relation | None = None
    refuses: Iterable[type[Exception]] | None = None
    closed: Iterable[Callable[..., Any] | Kind] = ()
    impossible: Iterable[Callable[..., Any] | Kind] = ()


# What the keywords were by default that `tests=` takes the place of.
UNSAID: dict[str, Any] = {"relation": None, "refuses": None, "closed": (), "impossible": ()}


def join_tests(use: str, tests: TypeTests | None, stacklevel: int = 2, **keywords: Any) -> TypeTests:
    """Return the tests= of a function, with what its deprecated keywords say.

    Parameters
    ----------
    use : name of the function
    tests : its argument
    stacklevel : as of `warn_deprecated`, for the function that calls this
    **keywords : the deprecated ones by name; those with the values of `UNSAID`, or empty, were not given

    Raises
    ------
    RegistrationError : if `tests` is something else, or says what a keyword says, too
    """
    if tests is not None and not isinstance(tests, TypeTests):
        raise RegistrationError(f"{use}: tests={tests!r} is no TypeTests; write tests=dk.TypeTests(relation=...)")
    stated = tests or TypeTests()
    former = {name: value for name, value in keywords.items() if value is not UNSAID[name]}
    for name in former:
        if getattr(stated, name) is not UNSAID[name]:
            raise RegistrationError(f"{use}: {name}= and tests= both say {name}; write tests=dk.TypeTests({name}=...)")
        instead = f"{use}(tests=dk.TypeTests({name}=...))"
        warn_deprecated(f"{use}({name}=...)", instead, stacklevel=stacklevel + 1)
    return replace(stated, **former)
