"""An operation on arrays, as it was declared: what it computes by, its rules, and what its declaration says."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from dispatchkit.backends.arrays import foreign, making_with
from dispatchkit.declare.axes import ALONG_AXES, Axes
from dispatchkit.declare.derivative import Derivative
from dispatchkit.declare.docs import HELD, Facts, Gives
from dispatchkit.declare.implementation import Implementation
from dispatchkit.declare.layouts import is_cheap, layouts
from dispatchkit.declare.libraries import library_like, making_for
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.samples import Content, Sample, elementwise_samples, reduction_samples
from dispatchkit.declare.wrapping import make_leaf
from dispatchkit.errors import RegistrationError
from dispatchkit.graph.storage import Storage
from dispatchkit.marks import override
from dispatchkit.protocol.callers import make_function
from dispatchkit.protocol.frames import hide_frames
from dispatchkit.protocol.kinds import CreationKind, Kind, kinds
from dispatchkit.protocol.overridable import Dispatcher, Overridable
from dispatchkit.protocol.parameters import Form, Key, Parameters, flatten
from dispatchkit.protocol.steps import decline
from dispatchkit.versions import new_version

# What makes leaves: its functions take these keywords, their bodies do not.
AROUND = LEAF, LIKE = "requires_grad", "like"
NUMBER = r"\b(bool|int|float|complex)\b"


# Neither compared nor shown; one is made for each operation, in a fifth of the time of a frozen one.
@dataclass(kw_only=True, eq=False, repr=False)
class OperationOptions:
    """What the declaration of an operation says, as `dispatchkit.operation` describes it."""

    kind: Kind = kinds.function
    arrays: Sequence[str] | None = None
    operator: str | None = None
    methods: Sequence[str] | None = None
    properties: Sequence[str] = ()
    varargs: str | None = None
    differentiable: bool = True
    namespace: str | None = None
    axis: str | Axes | None = None
    domain: tuple[float, float] = (-2.0, 2.0)
    content: Content | None = None
    samples: Sequence[Sample] | Callable[[], Sequence[Sample]] | None = None
    record: type[DeclaredOperation] | None = None
    decomposes: bool = True
    passthrough: bool = False
    commutative: bool = False
    real: bool = False
    takes: str | None = None
    gives: Gives | None = None
    special: str = ""


def names_number(annotation: Any) -> bool:
    """Return whether an annotation names one of Python's types of numbers."""
    return re.search(NUMBER, inspect.formatannotation(annotation)) is not None


class Compiler(NamedTuple):
    """What writes the functions of an operation for its signature.

    Attributes
    ----------
    function : makes the public function of an operation
    operator : makes the method behind an operator, of an operation and the name of the reflected one
    default : makes what computes arrays of plain types, of an operation, the types of a call and that of its result
    restore : fills an empty record by what another process has packed
    update : brings a record up to date by what another process has packed
    """

    function: Callable[[Any], Callable[..., Any]]
    operator: Callable[[Any, str], Callable[..., Any]]
    default: Callable[[Any, Key, type], Any]
    restore: Callable[[Any, Mapping[str, Any]], None]
    update: Callable[[Any, Mapping[str, Any]], None]


class DeclaredOperation(Overridable):
    """An operation on arrays, as it was declared, with the functions that call and compute it.

    Attributes
    ----------
    implementation : computes it on raw arrays
    derivative : its rules, and what follows from them
    differentiable : whether gradients flow through it
    decomposes : whether the body computes it by way of other operations
    options : what its declaration says
    compiler : what writes its functions
    on_change : by function, what is called with it when rules or base type have changed, for what it holds of them
    call : what the public function calls where that is one that pickles by value can hold
    decompose_in_its_terms : runs the body of an operation on types; its errors name the operation
    """

    call: Callable[..., Any]
    decompose_in_its_terms: ClassVar[Callable[..., Any]]

    may_give_none = False

    def __init__(
        self,
        protocol: Dispatcher,
        body: Callable[..., Any],
        namespace: str,
        parameters: Parameters,
        options: OperationOptions,
        compiler: Compiler,
    ) -> None:
        name, kind, passthrough = body.__name__, options.kind, options.passthrough
        super().__init__(protocol, name, namespace, kind, parameters, None)
        trusted = namespace.partition(".")[0] == "dispatchkit"
        self.implementation = Implementation(name, kind, parameters, body, passthrough=passthrough, trusted=trusted)
        self.derivative = Derivative(protocol, namespace, name, parameters)
        self.differentiable: bool = options.differentiable
        self.decomposes: bool = options.decomposes and not passthrough
        self.commutative = options.commutative
        self.options = options
        self.compiler = compiler
        self.on_change: dict[Any, Callable[[Any], None]] = {}

    @override
    def make_function(self) -> Callable[..., Any]:
        """Return the public function, which computes plain tensors without reading the table."""
        return self.compiler.function(self)

    @override
    def make_operator(self, reflected: str) -> Callable[..., Any]:
        return self.compiler.operator(self, reflected)

    @override
    def make_packable_function(self) -> Callable[..., Any]:
        self.call = self.make_function()

        # A pickle by value holds the record alone of what it refers to, and no function that was compiled for it.
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return self.call(*args, **kwargs)
            except Exception as error:
                hide_frames(error)
                raise

        return call

    @override
    def packed_state(self) -> dict[str, Any]:
        kernels = self.implementation.kernels.items()
        return {
            **super().packed_state(),
            "options": self.options,
            "restore": self.compiler.restore,
            "update": self.compiler.update,
            "namespace": self.namespace,
            "forms": {array.name: array.form for array in self.parameters.arrays},
            "several": self.several,
            "rules": self.derivative.rules.declarations(),
            "kernels": {library: (k.forward, k.gradients, k.shapes, k.flow, k.reads) for library, k in kernels},
            "changed": self.changed,
        }

    def make_general(self) -> Callable[..., Any]:
        """Return what answers the calls that the public function does not compute itself."""
        return make_function(self)

    @property
    def several(self) -> bool:
        """Whether it gives several arrays."""
        return self.parameters.several

    @cached_property
    def asks_arrays(self) -> frozenset[str]:
        """The parameters whose arguments are asked for more than their elements, so that a number becomes an array.

        What computes element by element takes Python's numbers as they are, and so does a parameter whose annotation
        names a type of numbers.
        """
        if kinds.elementwise in self.kind.lineage():
            return frozenset()
        single = {Form.ONE, Form.LOOSE}
        if isinstance(self.kind, CreationKind):
            single = {Form.ONE}  # the other form is that of what an array is made of
        if not single.issuperset(p.form for p in self.parameters.arrays):
            return frozenset()
        listed = self.parameters.signature.parameters
        return frozenset(name for name in self.parameters.names if not names_number(listed[name].annotation))

    @cached_property
    def axes(self) -> Axes | None:
        """The parameters that count axes, None where nothing is said of them."""
        known, axis = self.parameters.listed, self.options.axis
        if axis is None:
            if self.kind.family in ALONG_AXES and "axis" in known:
                return Axes(("axis",))
            return None
        axes = Axes((axis,)) if isinstance(axis, str) else axis
        unknown = [name for name in axes.parameters if name not in known]
        if unknown:
            raise RegistrationError(
                f"operation: {self.name} has no parameter '{unknown[0]}' to count axes; it has {', '.join(known)}"
            )
        return axes

    @property
    def facts(self) -> Facts:
        """What its declaration states of the numbers that it takes and gives."""
        takes = self.options.takes or HELD.get(self.options.content or "real", "numbers")
        return Facts(self.options.real, takes, self.options.gives, self.options.special)

    @cached_property
    def samples(self) -> list[Sample]:
        """Valid calls."""
        stated, content = self.options.samples, self.options.content
        if stated is not None:
            return list(stated() if callable(stated) else stated)
        if self.kind.family is kinds.elementwise:
            return elementwise_samples(self.parameters, self.options.domain, content or "real")
        if self.kind.family is kinds.reduction:
            return reduction_samples(self.parameters, content or "distinct")
        return []

    @property
    @override
    def source(self) -> Callable[..., Any]:
        return self.implementation.body

    @override
    def compute(self, *args: Any, **kwargs: Any) -> Any:
        """Return what a kernel or the body gives of a namespace and raw arrays of it."""
        xp, *arguments = args
        return self.implementation.on(xp)(*arguments, **kwargs)

    @property
    def base(self) -> type:
        """The class of plain tensors."""
        assert self.types.base is not None
        return self.types.base

    @property
    def composite(self) -> bool:
        """Whether gradients flow through the body rather than by rules."""
        return self.differentiable and not self.derivative.rules and not self.implementation.passthrough

    @property
    def gives_views(self) -> bool:
        """Whether a result may show the memory of an argument."""
        return self.kind.family in (kinds.manipulation, kinds.indexing, kinds.assignment)

    @property
    def gives_new_memory(self) -> bool:
        """Whether a result of any library shows the memory of an argument only where it is that argument."""
        known = self.parameters.gathering or self.kind.family in (kinds.function, kinds.reduction, kinds.searching)
        return self.implementation.trusted and known

    @override
    def final_function(self) -> Callable[..., Any]:
        # What is compiled at its first call takes any arguments until then.
        names = getattr(self.function, "__globals__", {})
        if "_uncompiled" in names:
            names["_install"](self.function)
        return self.function

    @override
    def refresh(self) -> None:
        """Let what was compiled from rules and base type be compiled anew."""
        self.derivative.forget_plan()
        for function, change in list(self.on_change.items()):
            change(function)

    def rules_changed(self) -> None:
        """Read the rules anew, and decide the calls to come by them."""
        self.changed = new_version()
        self.refresh()
        self.protocol.journal.forget(self)

    @override
    def decomposition(self) -> Callable[..., Any] | None:
        if self.decomposes and not self.parameters.nullary:
            return self.decompose_in_its_terms
        return None

    def decompose(self, *args: Any, **kwargs: Any) -> Any:
        """Compute by way of other operations; what makes leaves is done here, since the body takes no such keyword."""
        makes_leaf, like = (isinstance(self.kind, CreationKind) and kwargs.pop(name, None) for name in AROUND)
        body = self.implementation.body
        if isinstance(self.kind, CreationKind) and like is not None:
            with making_with(library_like(self.qualified_name, like)[0]):
                y = body(tensor_namespace, *args, **kwargs)
        elif not foreign:
            y = body(tensor_namespace, *args, **kwargs)
        else:
            with making_for(self, args, kwargs):
                y = body(tensor_namespace, *args, **kwargs)
        if not makes_leaf:
            return y
        if not isinstance(y, Storage):
            return decline(f"a {type(y).__name__} is no leaf that could require a gradient")
        y._node = make_leaf(y.array)
        return y

    @override
    def default(self, key: Key, result: type | None) -> Callable[..., Any] | None:
        cls = result
        if result is None:
            cls = self.protocol.types.base
        assert cls is not None
        tracer: Any = next((t for t in flatten(key) if issubclass(t, Storage) and t.is_tracer), None)
        if tracer is None:
            function: Any = self.compiler.default(self, key, cls)
            function.gives = cls  # which short paths know it by
            return function

        def by_tracer(*args: Any, **kwargs: Any) -> Any:
            """Let a type answer whose instances have no raw array."""
            return tracer.__tensor_function__(self.function, (tracer,), args, kwargs)

        return by_tracer

    @override
    def declare_from(self, state: Mapping[str, Any]) -> None:
        state["restore"](self, state)

    @override
    def update_from(self, state: Mapping[str, Any]) -> None:
        state["update"](self, state)

    @override
    def is_cheap(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        return is_cheap(self, args, kwargs)

    @override
    def layouts(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        return layouts(self, args, kwargs)
