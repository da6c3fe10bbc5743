"""The derivative of an operation: its rules, what a recorded call keeps for them, and how gradients flow back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dispatchkit.backends.arrays import foreign, making_with, namespace_of
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.rules import Rules
from dispatchkit.declare.vjp import VjpPlan, all_cotangents
from dispatchkit.declare.wrapping import spec_of, wrapped
from dispatchkit.graph.node import CallNode, Node, Output
from dispatchkit.protocol.overridable import Dispatcher
from dispatchkit.protocol.parameters import Form, Parameters
from dispatchkit.tree import with_members

__all__ = ["Derivative"]


class Derivative:
    """The derivative of an operation; the nodes of its calls refer to it.

    Parameters
    ----------
    protocol, namespace, name, parameters : of the operation
    several : whether it gives several arrays

    Attributes
    ----------
    rules : as they were declared
    trusted : whether the rules are of this library, which tests that they keep no gradient, and that what they give is
        new or shows the cotangent's memory
    pull_raw : computes the raw cotangents of a recorded call's inputs
    """

    def __init__(self, protocol: Dispatcher, namespace: str, name: str, parameters: Parameters, several: bool) -> None:
        self.protocol = protocol
        self.name = name
        self.qualified_name = f"{namespace}.{name}"
        self.node_name = "".join(part.capitalize() for part in name.split("_")) + "Backward"
        self.parameters = parameters
        self.several = several
        self.rules = Rules()
        self.trusted = namespace.partition(".")[0] == "dispatchkit"
        self._plan: VjpPlan | None = None
        self.pull_raw: Callable[[Any, Any], Sequence[Any]] = self._first_pull

    def forget_plan(self) -> None:
        """Read the rules anew for the calls to come."""
        self._plan = None
        self.pull_raw = self._first_pull

    def _first_pull(self, node: Any, g: Any) -> Sequence[Any]:
        """Compile the rules when a gradient first flows, since most programs differentiate few operations."""
        self.pull_raw = self.plan.pull_raw
        return self.pull_raw(node, g)

    @property
    def plan(self) -> VjpPlan:
        """What follows from the rules, read once."""
        if self._plan is None:
            self._plan = VjpPlan(self.qualified_name, self.parameters, self.rules, self.several)
        return self._plan

    @property
    def keeps_output(self) -> bool:
        """Whether a rule reads the output."""
        return self.plan.keeps_output

    def save_call(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], tracked: Sequence[bool]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a call as the rules of the tracked parameters need them."""
        saved, keywords = list(args), dict(kwargs)
        for p, keep in zip(self.parameters.arrays, self.plan.needs(tracked), strict=True):
            if keep:
                continue
            if p.form is Form.STAR and p.position is not None:
                saved[p.position :] = [spec_of(value) for value in args[p.position :]]
            elif p.position is not None and p.position < len(args):
                saved[p.position] = spec_of(args[p.position])
            elif p.name in keywords:
                keywords[p.name] = spec_of(keywords[p.name])
        return tuple(saved), keywords

    def pull_live(self, node: Node, g: Any) -> list[Any]:
        """Return the cotangents of the inputs of a recorded call as tensors."""
        if not foreign:
            return self._pull_live(node, g)
        arrived = next(one for one in g if one is not None) if type(g) is list else g
        with making_with(namespace_of(arrived._innermost().array)):
            return self._pull_live(node, g)

    def _pull_live(self, node: Node, g: Any) -> list[Any]:
        node.check_versions()
        y = self._outputs_of(node, node.output) if self.keeps_output else None
        kwargs = node.keywords if isinstance(node, CallNode) else {}
        if isinstance(node, CallNode) and node.outputs is not None:
            g = all_cotangents(tensor_namespace, node, g)
        return self.plan.pull_all(node, tensor_namespace, g, y, node.saved or (), kwargs)

    def _outputs_of(self, node: Node, y: Any) -> Any:
        """Return the output of a recorded call as a tensor of the graph."""
        base = self.protocol.types.base
        assert base is not None
        if isinstance(y, tuple):
            ys = [wrapped(base, one, Output(node.original, i, one.shape, one.dtype)) for i, one in enumerate(y)]
            return with_members(y, ys)
        return wrapped(base, y, node.original)
