"""The record of a declared operation: the parts that others read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from typing_extensions import override

from dispatchkit.backends.arrays import foreign, making_with
from dispatchkit.declare.axes import Axes
from dispatchkit.declare.derivative import Derivative
from dispatchkit.declare.docs import Facts
from dispatchkit.declare.implementation import Implementation
from dispatchkit.declare.libraries import library_like, making_for
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.samples import Sample
from dispatchkit.declare.wrapping import make_leaf
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.decline import decline
from dispatchkit.protocol.kinds import Kind, kinds
from dispatchkit.protocol.overridable import Dispatcher, Overridable
from dispatchkit.protocol.parameters import Parameters
from dispatchkit.protocol.types.stamps import stamp

__all__ = ["AROUND", "CREATING", "LEAF", "LIKE", "Declared"]

# What makes leaves: its functions take these keywords, their bodies do not.
CREATING = (kinds.creation, kinds.random)
AROUND = LEAF, LIKE = "requires_grad", "like"


class Declared(Overridable):
    """An operation on arrays, as it was declared.

    Attributes
    ----------
    implementation : computes it on raw arrays
    derivative : its rules, and what follows from them
    differentiable : whether gradients flow through it
    several : whether it gives several arrays
    decomposes : whether the body computes it by way of other operations
    axes : the parameters that count axes, None where nothing is said of them
    samples : valid calls
    facts : what its declaration states of the numbers that it takes and gives
    on_change : called when rules or base type have changed, for what public functions hold of them
    """

    may_give_none = False

    def __init__(
        self,
        protocol: Dispatcher,
        name: str,
        namespace: str,
        kind: Kind,
        parameters: Parameters,
        body: Callable[..., Any],
        *,
        differentiable: bool,
        several: bool,
        passthrough: bool = False,
    ) -> None:
        super().__init__(protocol, name, namespace, kind, parameters, None)
        trusted = namespace.partition(".")[0] == "dispatchkit"
        self.implementation = Implementation(name, kind, parameters, body, passthrough=passthrough, trusted=trusted)
        self.derivative = Derivative(protocol, namespace, name, parameters, several)
        self.differentiable = differentiable
        self.several = several
        self.decomposes = True
        self.axes: Axes | None = None
        self.samples: list[Sample] = []
        self.facts = Facts()
        self.on_change: list[Callable[[], None]] = []

    @override
    def packed(self) -> dict[str, Any]:
        fast = self.implementation.on_numpy if self.implementation.fast_path else None
        return {
            **super().packed(),
            "forms": {array.name: array.form for array in self.parameters.arrays},
            "several": self.several,
            "rules": self.derivative.rules.declared(),
            "numpy": fast,
        }

    @property
    @override
    def source(self) -> Callable[..., Any]:
        return self.implementation.body

    @property
    def composite(self) -> bool:
        """Whether gradients flow through the body rather than by rules."""
        return self.differentiable and not self.derivative.rules and not self.implementation.passthrough

    @property
    def gives_views(self) -> bool:
        """Whether a result may show the memory of an argument."""
        return self.kind.family in (kinds.manipulation, kinds.indexing)

    @property
    def gives_new_memory(self) -> bool:
        """Whether a result of any library shows the memory of an argument only where it is that argument."""
        known = self.parameters.gathering or self.kind.family in (kinds.reduction, kinds.searching)
        return self.implementation.trusted and known

    @override
    def refresh(self) -> None:
        """Let what was compiled from rules and base type be compiled anew."""
        self.derivative.forget_plan()
        for changed in self.on_change:
            changed()

    def rules_changed(self) -> None:
        """Read the rules anew, and decide the calls to come by them."""
        self.changed = stamp()
        self.refresh()
        self.clear()

    @override
    def decomposition(self) -> Callable[..., Any] | None:
        return self.decomposed if self.decomposes else None

    def decomposed(self, *args: Any, **kwargs: Any) -> Any:
        """Compute by way of other operations; what makes leaves is done here, since the body takes no such keyword."""
        makes_leaf, like = (self.kind in CREATING and kwargs.pop(name, None) for name in AROUND)
        body = self.implementation.body
        if self.kind in CREATING and like is not None:
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
