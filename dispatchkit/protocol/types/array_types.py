"""`ArrayTypes`: which types take part in a protocol, what they declare, and what other values count as."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dispatchkit.errors import RegistrationError
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.parameters import Key, flatten
from dispatchkit.protocol.types.declaration import (
    DROPPED,
    REFUSE,
    RELATIONS,
    Fallback,
    FieldRule,
    Records,
    Relation,
    rule_of,
)
from dispatchkit.tree import Item, container_items, map_leaves, sequence_items, with_attributes

DENSE = "to_dense"  # the method that makes a plain array, where a type names no other
# Of the base type's family: the class of what is computed with a type by default, None for the type itself.
RESULTS = "__dispatch_results__"
# In the body of a subclass of the base type: it stands for plain arrays, as the base type does, and is asked after all
# types of users. Not inherited.
PLAIN = "__dispatch_plain__"
AFTER_USERS = -999_999
# The built-in numbers that a scalar, of any library, counts as besides its own classes.
WIDENING: dict[type, tuple[type, ...]] = {
    numbers.Integral: (int, float, complex),
    numbers.Real: (float, complex),
    numbers.Complex: (complex,),
}


class ArrayTypes:
    """The types of a protocol.

    Parameters
    ----------
    method : name of the method by which types take part

    Attributes
    ----------
    records : what each type has declared
    base : the plain array type, asked last; None where the protocol has none
    wrap : makes an instance of the base type of a raw array or scalar
    advice : what messages advise people who pass something that is no array
    """

    def __init__(self, method: str) -> None:
        self.method = method
        self.records = Records()
        self.base: type | None = None
        self.wrap: Callable[..., Any] = _same
        self.advice: str | Callable[[type], str] = ""
        self._arrays: tuple[type, ...] = ()
        self._scalars: dict[type, tuple[type, ...]] = {int: (), float: (), complex: ()}
        self._raw: tuple[type, ...] = (int, float, complex)

    def set_base(
        self,
        base: type,
        arrays: tuple[type, ...],
        scalars: Mapping[type, tuple[type, ...]],
        wrap: Callable[..., Any],
        advice: str | Callable[[type], str],
    ) -> None:
        """Name the plain array type: the last that is asked, and the default of its subclasses.

        Parameters
        ----------
        base : the class
        arrays : raw array types that count as the base type and reach handlers wrapped
        scalars : further scalar types that mix with arrays, with the built-in numbers that each counts as, where the
            abstract classes of `numbers` do not say so
        wrap : makes an instance of the base type of a raw array or scalar; of a Python number with the arrays that it
            is promoted with as a second argument
        advice : what messages advise people who pass something else, or a function of its class
        """
        self.base, self.wrap, self.advice = base, wrap, advice
        self._arrays = arrays
        self._scalars.update(scalars)
        self._raw = (*self._raw, *arrays, *scalars)

    def take_as_arrays(self, classes: tuple[type, ...]) -> None:
        """Let arrays of another library count as the base type and reach handlers wrapped."""
        new = tuple(cls for cls in classes if cls not in self._arrays)
        self._arrays, self._raw = (*self._arrays, *new), (*self._raw, *new)

    def participates(self, cls: type) -> bool:
        """Return whether calls ask this type."""
        if self.own_method(cls) is not None:
            return True
        records = map(self.records.find, cls.__mro__)
        return any(record is not None and record.declaration is not None for record in records)

    def participating(self, key: Key) -> tuple[type, ...]:
        """Return the distinct types of a key that take part in the protocol."""
        return tuple(cls for cls in flatten(key) if self.participates(cls))

    def own_method(self, cls: type) -> Any:
        """Return the protocol method as it stands in the class body: a function, classmethod or staticmethod."""
        for ancestor in cls.__mro__:
            if self.method in ancestor.__dict__:
                return ancestor.__dict__[self.method]
        return None

    def is_generated(self, cls: type) -> bool:
        """Return whether the protocol method of a type was written by the library, not by its author."""
        method = self.own_method(cls)
        return bool(getattr(getattr(method, "__func__", method), "__generated__", False))

    def declared_value(self, cls: type, name: str) -> Any:
        """Return what the type, or the nearest of its superclasses, declares; None where none does."""
        return self.records.declared_value(cls, name)

    def priority(self, cls: type) -> float:
        """Return the declared priority of a type, 0 where none is declared."""
        declared: float | None = self.declared_value(cls, "priority")
        if declared is None:
            return 0
        return declared

    def ranks_as_base(self, cls: type) -> bool:
        """Return whether a type is the base type, or one of the library's own classes that stand for plain arrays."""
        return cls is self.base or PLAIN in cls.__dict__

    def rank(self, cls: type) -> float:
        """Return what decides which types are asked first: the priority; the library's own classes come last."""
        if PLAIN in cls.__dict__:
            return AFTER_USERS
        return self.priority(cls)

    def fallback(self, cls: type) -> Fallback:
        """Return the declared fallback of a type, `refuse` where none is declared."""
        declared: Fallback | None = self.declared_value(cls, "fallback")
        if declared is None:
            return REFUSE
        return declared

    def to_dense(self, cls: type) -> Callable[[Any], Any] | None:
        """Return what makes a plain array of an instance, if the type has it."""
        dense = self.declared_value(cls, "dense")
        if callable(dense):
            return dense  # type: ignore[no-any-return]  # what the declaration holds
        name = dense or DENSE
        method = getattr(cls, name, None)
        if method is None:
            return None

        def call(value: Any) -> Any:
            return getattr(value, name)()

        call.__name__, call.__wrapped__ = name, method  # type: ignore[attr-defined]  # for messages
        return call

    def from_dense(self, cls: type) -> Callable[[Any, Any], Any] | None:
        """Return what makes an instance of a plain array and of an instance with its structure, if declared."""
        declared = self.declared_value(cls, "from_dense")
        maker: Callable[[Any, Any], Any] | None = declared
        if isinstance(declared, str):
            maker = getattr(cls, declared)
        return maker

    def derivative(self, cls: type) -> Callable[..., Any] | None:
        """Return what makes a derivative of its numbers, if declared; nothing for a type without fields."""
        declared = self.declared_value(cls, "derivative")
        law: Callable[..., Any] | None = declared
        if isinstance(declared, str):
            law = getattr(cls, declared)
        return law

    def relation(self, cls: type) -> Relation:
        """Return how results of a type relate to those of calls on plain arrays."""
        declared: Relation | None = self.declared_value(cls, "relation")
        if declared is None:
            return RELATIONS["equal"]
        return declared

    def refuses(self, cls: type) -> tuple[type[Exception], ...]:
        """Return the exceptions by which a type refuses calls by design."""
        return self.declared_value(cls, "refuses") or ()

    def field_names(self, cls: type) -> tuple[str, ...]:
        """Return the fields that hold an instance's content.

        Raises
        ------
        RegistrationError : if the parameters of the constructor cannot be read
        """
        declared: tuple[str, ...] | None = self.declared_value(cls, "fields")
        if declared is not None:
            return declared
        named: tuple[str, ...] | None = None
        if issubclass(cls, tuple):
            named = getattr(cls, "_fields", None)
        if named is not None:
            return named
        dataclass_fields = getattr(cls, "__dataclass_fields__", None)
        if dataclass_fields is not None:
            return tuple(dataclass_fields)
        if _has_no_constructor(cls):
            return ()
        code = getattr(getattr(cls, "__init__"), "__code__", None)  # noqa: B009  # of the class, not of an instance
        if code is None:
            raise undeclared_fields(cls)
        count = code.co_argcount + code.co_kwonlyargcount
        return tuple([storage_name(cls, name) for name in code.co_varnames[1:count]])

    def fields_of(self, value: Any) -> tuple[str, ...]:
        """Return the fields that an instance really has as attributes.

        Raises
        ------
        RegistrationError : if the type declares one that the instance does not have
        """
        cls = type(value)
        names = self.field_names(cls)
        bare = not self.declared_value(cls, "fields") and _has_no_constructor(cls)
        if bare and not names and getattr(value, "__dict__", None):
            raise undeclared_fields(cls)
        present = tuple(name for name in names if hasattr(value, name))
        if len(present) < len(names) and self.declared_value(cls, "fields") is not None:
            missing = next(name for name in names if name not in present)
            listed = ", ".join(getattr(value, "__dict__", ())) or "none"
            raise RegistrationError(
                f"fields={names!r} of {cls.__qualname__} name '{missing}', which an instance does not have; its "
                f"attributes are {listed}"
            )
        return present

    def items_of(self, value: Any, *, strict: bool = True) -> list[Item] | None:
        """Return the fields of an instance with their values, None if its type does not take part.

        Parameters
        ----------
        value : instance of any class
        strict : whether a type whose fields cannot be read is an error; otherwise its instances have none

        Raises
        ------
        RegistrationError : as `fields_of`, if `strict`
        """
        if not self.participates(type(value)):
            return None
        try:
            names = self.fields_of(value)
        except RegistrationError:
            if strict:
                raise
            return []
        return [(name, getattr(value, name)) for name in names]

    def with_fields(self, value: Any, change: Callable[[Any], Any], is_array: Callable[[type], bool]) -> Any:
        """Return a copy of an instance with every array in its fields changed; None where arrays are elsewhere, too.

        Parameters
        ----------
        value : the instance
        change : gives what takes the place of an array
        is_array : tells for a type whether its instances are arrays
        """
        names = self.fields_of(value)
        others = {name: held for name, held in getattr(value, "__dict__", {}).items() if name not in names}
        if len(names) < len(self.field_names(type(value))) or any(is_array(type(held)) for held in others.values()):
            return None

        def items(held: Any) -> list[Item] | None:
            if type(held) in (list, tuple, dict):
                return container_items(held)
            return None

        def change_leaf(leaf: Any) -> Any:
            if is_array(type(leaf)):
                return change(leaf)
            return leaf

        return with_attributes(value, [(name, map_leaves(items, change_leaf, getattr(value, name))) for name in names])

    def constants_of(self, cls: type) -> frozenset[str]:
        """Return the fields that are not differentiated, whatever they hold."""
        return frozenset([name for name, rule in self.field_rules(cls).items() if not rule.grad])

    def field_rules(self, cls: type) -> dict[str, FieldRule]:
        """Return what a type declares of its fields with `field`, by name."""
        rules = {name: rule_of(field) for name, field in getattr(cls, "__dataclass_fields__", {}).items()}
        rules.update(self.declared_value(cls, "rules") or {})
        return {name: rule for name, rule in rules.items() if rule is not None}

    def merge_metadata(
        self,
        laws: Mapping[str, Any],
        default: Any,
        sources: Sequence[Mapping[str, Any]],
        operation: Any,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Return what the result of a call has of the metadata of its operands, under their laws.

        Parameters
        ----------
        laws : by name, as `field` makes them
        default : the law of names without one
        sources : the metadata of each operand, in signature order
        operation, args, kwargs : the call, and the record behind its function
        """
        shapes = not {kinds.indexing, kinds.manipulation}.isdisjoint(operation.kind.lineage())
        metadata: dict[str, Any] = {}
        for name in dict.fromkeys(name for source in sources for name in source):
            law = laws.get(name, default)
            rule = law
            if not isinstance(law, FieldRule):
                rule = rule_of(law) or FieldRule()
            value = rule.merge_values(name, [source[name] for source in sources if name in source])
            if shapes and value is not DROPPED:
                value = rule.view_value(value, operation.function, args, kwargs)
            elif operation.name == "clone" and value is not DROPPED:
                value = rule.copy_value(value)
            if value is not DROPPED:
                metadata[name] = value
        return metadata

    def is_raw(self, cls: type) -> bool:
        """Return whether values of a type mix with arrays without taking part: scalars and raw arrays."""
        return issubclass(cls, self._raw) and not self.participates(cls)

    def is_number(self, cls: type) -> bool:
        """Return whether values of a type are numbers: the built-in ones, and scalars that mix with arrays."""
        return issubclass(cls, tuple(self._scalars)) and not self.participates(cls)

    def advice_for(self, cls: type) -> str:
        """Return what messages advise people who pass an instance of a class that is no array."""
        if callable(self.advice):
            return self.advice(cls)
        return self.advice

    def accepts(self, cls: type) -> bool:
        """Return whether an array argument may be of this type."""
        return issubclass(cls, self._raw) or self.participates(cls)

    def is_foreign(self, cls: type) -> bool:
        """Return whether values of this type are neither arrays nor mix with them."""
        return not self.accepts(cls)

    def leaves(self, cls: type, method: str) -> bool:
        """Return whether an operator leaves values of a type to Python, which calls their method next.

        None has no such method but for comparisons; the error of the operation says more about it.
        """
        return self.is_foreign(cls) and (cls is not type(None) or hasattr(cls, method))

    def wrapped_always(self, cls: type) -> bool:
        """Return whether values of a type reach handlers as instances of the base type."""
        return self.is_raw(cls) and issubclass(cls, self._arrays) and not issubclass(cls, (int, float, complex))

    def counts_as(self, cls: type) -> tuple[type, ...]:
        """Return what a value of a type counts as in signatures, the nearest first."""
        if not self.is_raw(cls):
            return cls.__mro__
        bases = cls.__mro__[:-1]
        wide = [*self._scalars.items(), *WIDENING.items()]
        wider = [w for abstract, wider in wide if issubclass(cls, abstract) for w in wider if w not in bases]
        base = () if self.base is None else (self.base,)
        return (*bases, *dict.fromkeys(wider), *base, object)

    def own_ancestors(self, cls: type) -> tuple[type, ...]:
        """Return a type and its superclasses, without those that are no types of anybody: the base type, numbers."""
        if cls is self.base:
            return ()
        return tuple([ancestor for ancestor in cls.__mro__ if ancestor is not object and ancestor not in self._raw])

    def takes_default(self, cls: type) -> bool:
        """Return whether a type is computed as the base type is."""
        return self.base is not None and issubclass(cls, self.base)

    def is_plain(self, cls: type) -> bool:
        """Return whether the dense form of an array may be of this type."""
        if self.base is None:
            return cls is not type(None)
        return self.takes_default(cls) or self.is_raw(cls)

    def named_own(self, types: tuple[type, ...]) -> list[type]:
        """Return the types of a handler that it can be registered for: not the base type, raw types or None."""
        neutral = (object, self.base, type(None))
        return [cls for cls in types if cls not in neutral and not self.is_raw(cls)]

    def results_of(self, cls: type) -> type:
        """Return the class of what is computed with a type by default: itself, unless it names another."""
        named: type | None = getattr(cls, RESULTS, None)
        if named is None:
            return cls
        return named

    def map_arrays(self, value: Any, change: Callable[[Any], Any], *also: type) -> Any:
        """Return a result with `change` made to each array in it; tuples keep their type."""
        if type(value) is self.base:
            return change(value)

        def change_leaf(leaf: Any) -> Any:
            plain = self.base is None and isinstance(leaf, numbers.Number)
            if plain or isinstance(leaf, also) or self.participates(type(leaf)):
                return change(leaf)
            return leaf

        return map_leaves(sequence_items, change_leaf, value)


def _same(value: Any, others: Any = ()) -> Any:
    return value


def _has_no_constructor(cls: Any) -> bool:
    return cls.__init__ is object.__init__ and cls.__new__ is object.__new__


def storage_name(cls: type, name: str) -> str:
    """Return the attribute that holds a parameter of the constructor: behind a read-only property that with ``_``."""
    if is_read_only(getattr(cls, name, None)):
        return f"_{name}"
    return name


def is_read_only(attribute: Any) -> bool:
    """Return whether an attribute of a class is a property, or the like, that instances cannot set."""
    if isinstance(attribute, property):
        return attribute.fset is None
    kind = type(attribute)
    return hasattr(kind, "__delete__") and not hasattr(kind, "__set__")


def undeclared_fields(cls: type) -> RegistrationError:
    """Return the error of a class whose fields are not known."""
    return RegistrationError(
        f"{cls.__qualname__} has neither dataclass fields nor a constructor to read them from; "
        f"declare them: array_type(fields=('value', ...))"
    )
