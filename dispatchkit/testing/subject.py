"""`Subject`: the type under test, how its instances are made, and how they become dense."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.errors import NoImplementationError
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.handlers import misfit, type_name
from dispatchkit.protocol.instance import disable_dispatch, tensor_protocol
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.tensor import Tensor
from dispatchkit.testing.differences import arrayed
from dispatchkit.testing.instances import Samples, anew, drawn, from_fields, is_strategy
from dispatchkit.tree import with_members

__all__ = ["Law", "Samples", "Subject"]

# Gives what a result is to carry: of the function, and of what each of its array arguments carries, None if nothing.
Law = Callable[[Any, list[Any]], Any]


class Subject:
    """A type under test.

    Parameters
    ----------
    cls : the type
    samples : its instances, a function that makes them anew, or a strategy of Hypothesis for one; by default they are
        drawn from the fields
    to_dense : makes a plain tensor of an instance; the type's declared one, of a `Tensor` subclass a plain copy, by
        default
    from_dense : makes an instance with the elements of a plain tensor; None where the type cannot hold any elements
    metadata : attributes that every result has from the arguments; by default the fields after the first of a type
        with the fallback `rewrap`, and the attributes of a subclass of `Tensor`. As a mapping it gives for each name
        the law by which results get it: ``law(function, values)`` returns what is expected, NotImplemented for anything
    plain : names of operations whose results are plain tensors though there is metadata
    depth : how many calls of each operation the checks make that look at more than values; None for all
    operations : the functions that are called; all by default
    refuses : exceptions by which the type refuses calls by design
    closed : the functions whose results on instances alone must be instances

    Raises
    ------
    TypeError : if the type takes no part in the protocol, has no dense form, a sample is no instance of it, or one of
        the operations is not overridable
    ValueError : if there are no samples

    Attributes
    ----------
    operations : the overridable functions with array arguments
    memory : what checks have found out, by check and operation, for those that build on them
    looked_into : by instance and rules the operation that stands for the calls of all
    by_fallback : operations that stand for all those that no rule answers
    wrong_dense : what is wrong with dense forms, None before they are looked at
    pending : the rules of the type that no call has entered so far, None before the first call
    name : of the type
    """

    def __init__(
        self,
        cls: type,
        samples: Samples = None,
        *,
        to_dense: Callable[[Any], Any] | None = None,
        from_dense: Callable[[Any], Any] | None = None,
        metadata: Sequence[str] | Mapping[str, Law] | None = None,
        plain: Sequence[str] = (),
        depth: int | None = 2,
        operations: Iterable[Callable[..., Any]] | None = None,
        refuses: Sequence[type[Exception]] = (),
        closed: Iterable[Callable[..., Any]] = (),
    ) -> None:
        if not isinstance(cls, type) or not tensor_protocol.types.participates(cls):  # type: ignore[redundant-expr]
            raise misfit("check_type", cls, tensor_protocol.types)
        self.name = type_name(cls)
        self.cls = cls
        self._to_dense = to_dense or self._declared_dense()
        self._samples: Any = samples
        if samples is None or is_strategy(samples):
            self._samples = drawn(from_fields(cls) if samples is None else samples, self._to_dense)
        self.from_dense = from_dense
        self.plain = frozenset(plain)
        self.depth = depth
        self.refusals: tuple[type[Exception], ...] = (NoImplementationError, *refuses)
        self.closed = frozenset(map(tensor_protocol.operation, closed))
        self.laws: Mapping[str, Law] = metadata if isinstance(metadata, Mapping) else {}
        self.metadata = self._carried() if metadata is None else tuple(metadata)
        self.memory: dict[str, dict[Overridable, Any]] = {}
        self.looked_into: dict[Any, Overridable] = {}
        self.by_fallback: set[Overridable] = set()
        self.wrong_dense: list[Any] | None = None
        self.pending: set[Any] | None = None
        chosen = (
            tensor_protocol.operations.values() if operations is None else map(tensor_protocol.operation, operations)
        )
        self.operations = [operation for operation in chosen if operation.parameters.arrays]

    def _declared_dense(self) -> Callable[[Any], Any]:
        declared = tensor_protocol.types.to_dense(self.cls)
        if declared is not None:
            return declared
        if issubclass(self.cls, Tensor):
            return _plain_copy
        raise TypeError(
            f"check_type: {self.name} has no dense form to compare with; define to_dense(), or pass to_dense="
        )

    def _carried(self) -> tuple[str, ...]:
        first = self.samples()[0]
        if issubclass(self.cls, Tensor):
            return tuple(getattr(first, "__dict__", ()))
        if fallback.rewrap in tensor_protocol.types.fallback(self.cls):
            return tensor_protocol.types.fields_of(first)[1:]
        return ()

    def samples(self) -> list[Any]:
        """Return the samples, made anew."""
        if isinstance(self._samples, self.cls):
            raise TypeError(
                f"check_type: samples is one instance of {self.name}; write a list, [{self.cls.__name__}(...)]"
            )
        found = list(self._samples() if callable(self._samples) else map(anew, self._samples))
        if not found:
            raise ValueError(f"check_type: there are no samples of {self.name}; give one instance at least")
        for one in found:
            if not isinstance(one, self.cls):
                raise TypeError(f"check_type: a sample of {self.name} is a {type(one).__name__}")
        return found

    def sample(self, index: int) -> Any:
        """Return one of the samples, made anew."""
        return self.samples()[index] if callable(self._samples) else anew(self._samples[index])

    def dense(self, value: Any) -> Any:
        """Return an argument or result with plain tensors in the place of instances, in lists and tuples too."""
        if isinstance(value, self.cls):
            return self._to_dense(value)
        if isinstance(value, (tuple, list)):
            return with_members(value, [self.dense(member) for member in value])
        if isinstance(value, Storage) or not tensor_protocol.types.participates(type(value)):
            return value
        other = tensor_protocol.types.to_dense(type(value))
        return value if other is None else other(value)

    def array(self, value: Any) -> Any:
        """Return the elements of an argument or result as a NumPy array; what holds none as it is."""
        return arrayed(self.dense(value))

    def wanted(self, operation: Overridable, values: list[Any]) -> dict[str, Any]:
        """Return the metadata that results of a call are to have: by its laws, else that of the first instance."""
        if not self.laws:
            return self.carried(next(value for value in values if isinstance(value, self.cls)))
        expected = {
            name: law(operation.function, [getattr(value, name, None) for value in values])
            for name, law in self.laws.items()
        }
        return {name: value for name, value in expected.items() if value is not NotImplemented}

    def carried(self, value: Any) -> dict[str, Any]:
        """Return the metadata of an instance."""
        return {name: getattr(value, name, None) for name in self.metadata}


def _plain_copy(x: Any) -> Any:
    with disable_dispatch():
        return tensor_namespace.clone(x)
