"""The derivative of an operation: what its rules need a node to save, and how they are applied in both directions.

Forward, a partial derivative multiplies the tangent; an operation that is linear in an argument is applied to the
tangent in its place; anything else has a rule of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import foreign, is_inexact, kernels_of, making_with, namespace_of
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.declare.following import following, forget
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.rules import ArgumentRule, Rule, Rules
from dispatchkit.declare.wrapping import spec_of, wrap_array
from dispatchkit.errors import AutogradError, MissingRuleError
from dispatchkit.graph.node import CallNode, Node, Output
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.overridable import Dispatcher
from dispatchkit.protocol.parameters import ArrayParameter, Form, Parameters
from dispatchkit.tree import with_members

Pull = Callable[..., Any]
PullNode = Callable[[Any, Any], Sequence[Any]]
Slope = complex | Callable[..., Any]
ndarray = np.ndarray


class VjpPlan:
    """What an operation's rules ask of a recorded call.

    Attributes
    ----------
    keeps : for each array parameter, whether a rule reads its value
    reads : for each array parameter, which array arguments its rule reads
    keeps_output : whether a rule reads the output
    saves_specs : whether a rule reads shape and dtype of an argument alone
    """

    def __init__(
        self, name: str, parameters: Parameters, derivatives: Rules, several: bool, others: Sequence[Rules] = ()
    ) -> None:
        """Read rules.

        Parameters
        ----------
        name, parameters, several : of the operation
        derivatives : its rules
        others : further rules for the same calls, those of its kernels, for which a call is saved as well
        """
        names = [p.name for p in parameters.arrays]
        rules = [derivatives.for_argument(parameter) for parameter in names]
        reads_of_each, specs = [], frozenset[str]()
        for parameter in names:
            of_argument = _rules_for(parameter, (derivatives, *others))
            reads_of_each.append(frozenset[str]().union(*[rule.reads for rule in of_argument]))
            specs = specs.union(*[rule.specs for rule in of_argument])
        read = frozenset[str]().union(*reads_of_each)
        self.keeps = _are_in(read, names)
        self.reads = tuple([_are_in(reads, names) for reads in reads_of_each])
        self.keeps_output = "y" in read
        self._needs: dict[tuple[bool, ...], tuple[bool, ...]] = {}
        self.saves_specs = bool(specs)
        self._of_all = derivatives.of_all()
        self._name, self._parameters, self._rules, self._several = name, parameters, rules, several

    @cached_property
    def pulls(self) -> tuple[Pull, ...]:
        """What computes the cotangent of each array parameter; compiled when a gradient first flows."""
        names = [p.name for p in self._parameters.arrays]
        return tuple(
            _without_rule(self._name, parameter) if rule is None else rule.pull()
            for parameter, rule in zip(names, self._rules, strict=True)
        )

    def needs(self, tracked: Sequence[bool]) -> tuple[bool, ...]:
        """Return for each array argument whether it is read where gradients flow to the tracked ones alone."""
        asked = tuple(tracked)
        needs = self._needs.get(asked)
        if needs is None:
            reads = [rule for rule, wanted in zip(self.reads, asked, strict=True) if wanted]
            none = [False] * len(self.keeps)
            needs = self._needs[asked] = tuple(map(any, zip(none, *reads, strict=True)))
        return needs

    @cached_property
    def pull_raw(self) -> PullNode:
        """What computes the raw cotangents of a node's inputs."""
        parameters, rules, keeps_output = self._parameters, self._rules, self.keeps_output
        if self._of_all is not None:
            return self._pull_call
        if parameters.unary and not self._several:
            return _unary(self.pulls[0], self.keeps[0], keeps_output)
        if parameters.binary and not self._several:
            factors = [rule.factor if rule is not None else None for rule in rules]
            if factors in ([1, 1], [1, -1]):
                return _sum(negated=factors[1] == -1)
            return _binary(self.pulls, self.keeps, keeps_output)
        if parameters.leading:
            return _leading(self.pulls[0], keeps_output)
        if parameters.positional > 1:
            return _arrays(parameters, self.pulls, keeps_output)
        if [p.form for p in parameters.arrays] == [Form.ONE, Form.INDEX] and not self._several:
            return _selecting(self.pulls[0], keeps_output)
        return self._pull_call

    def _pull_call(self, node: Node, g: Any) -> Sequence[Any]:
        node.check_versions()
        xp = namespace_of(_first_of(g))
        if isinstance(node, CallNode) and node.outputs is not None:
            g = all_cotangents(xp, node, g)
        y = None
        if self.keeps_output:
            y = node.output
        given_by_name = {}
        if isinstance(node, CallNode):
            given_by_name = node.keywords
        keywords = {name: raw_values(value) for name, value in given_by_name.items()}
        return self.pull_all(node, xp, g, y, raw_values(node.saved), keywords)

    def pull_all(
        self, node: Node, xp: Any, g: Any, y: Any, saved: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> list[Any]:
        """Return the cotangents of all edges of a call with any signature.

        Parameters
        ----------
        node : recorded call
        xp : namespace to compute with
        g, y : cotangent and output, lists of them for several outputs
        saved, kwargs : arguments of the call
        """
        arrays = self._parameters.arrays
        if self._of_all is not None:
            of_all = self._of_all.pull(xp, g, y, *saved, **kwargs)
            if of_all is NotImplemented:
                return [of_all]
            by_name = dict(zip(self._of_all.of, of_all, strict=True))
            return [by_name[p.name] for p in arrays]
        cotangents: list[Any] = []
        for p, pull in zip(arrays, self.pulls, strict=True):
            if p.form is Form.INDEX:
                continue
            value = p.find(saved, kwargs)
            count = 1
            if p.form is not Form.ONE:
                count = len(list(p.members(value)))
            if all(edge is None for edge in node.edges[len(cotangents) : len(cotangents) + count]):
                cotangents += [None] * count
                continue
            grads = pull(xp, g, y, *saved, **kwargs)
            several = p.form is Form.STAR or (p.form is not Form.ONE and isinstance(value, (list, tuple)))
            if several:
                cotangents += grads
            else:
                cotangents += [grads]
        return cotangents


def _first_of(g: Any) -> Any:
    """Return the first cotangent that arrived, where there are several outputs."""
    if type(g) is list:
        return next(cotangent for cotangent in g if cotangent is not None)
    return g


def _without_rule(operation: str, name: str) -> Pull:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AutogradError(f"{operation} has no derivative with respect to '{name}'")

    return refuse


def _sum(*, negated: bool) -> PullNode:
    """Return the pull of a sum, or of a difference, whose second argument is negated."""

    def pull_raw(node: Node, g: Any) -> Sequence[Any]:
        first_edge, second_edge = node.edges
        if second_edge is None:
            other = None
        elif negated:
            other = -g
        else:
            other = g
        return (None if first_edge is None else g, other)

    return pull_raw


def _unary(pull: Pull, keeps: bool, keeps_output: bool) -> PullNode:
    def pull_raw(node: Node, g: Any) -> Sequence[Any]:
        x = node.saved[0]  # type: ignore[index]  # a graph that was freed does not come here
        if node.extras is not None or (keeps and x._memory is not None):
            node.check_versions()
        xp = numpy_namespace
        if type(g) is not ndarray:
            xp = namespace_of(g)
        return (pull(xp, g, node.output if keeps_output else None, x.array if keeps else x),)

    return pull_raw


def _binary(pulls: Sequence[Pull], keeps: Sequence[bool], keeps_output: bool) -> PullNode:
    pull_1, pull_2 = pulls
    keeps_any = any(keeps)

    def pull_raw(node: Node, g: Any) -> Sequence[Any]:
        x1, x2 = node.saved  # type: ignore[misc]
        if keeps_any:
            if isinstance(x1, Storage):
                if x1._memory is not None:
                    node.check_versions()
                x1 = x1.array
            if isinstance(x2, Storage):
                if x2._memory is not None:
                    node.check_versions()
                x2 = x2.array
        y = None
        if keeps_output:
            y = node.output
            if node.extras is not None:
                node.check_versions()
        xp = numpy_namespace
        if type(g) is not ndarray:
            xp = namespace_of(g)
        e1, e2 = node.edges
        if e1 is None:
            return (None, pull_2(xp, g, y, x1, x2))
        return (pull_1(xp, g, y, x1, x2), None if e2 is None else pull_2(xp, g, y, x1, x2))

    return pull_raw


def _leading(pull: Pull, keeps_output: bool) -> PullNode:
    def pull_raw(node: CallNode, g: Any) -> Sequence[Any]:
        x, *args = node.saved  # type: ignore[misc]
        if isinstance(x, Storage):
            if x._memory is not None:
                node.check_versions()
            x = x.array
        if node.extras is not None:
            node.check_versions()
        xp = numpy_namespace
        if type(g) is not ndarray:
            xp = namespace_of(_first_of(g))
        if node.outputs is not None:
            g = all_cotangents(xp, node, g)
        return (pull(xp, g, node.output if keeps_output else None, x, *args, **node.keywords),)

    return pull_raw


def _selecting(pull: Pull, keeps_output: bool) -> PullNode:
    """Return the pull of an array that an index selects from."""

    def pull_raw(node: CallNode, g: Any) -> Sequence[Any]:
        saved = node.saved
        assert saved is not None  # a graph that was freed does not come here
        if node.extras is not None or type(saved[1]) is not int or isinstance(saved[0], Storage):
            node.check_versions()
            saved = raw_values(saved)
        xp = numpy_namespace
        if type(g) is not ndarray:
            xp = namespace_of(g)
        return (pull(xp, g, node.output if keeps_output else None, *saved, **node.keywords),)

    return pull_raw


def _arrays(parameters: Parameters, pulls: Sequence[Pull], keeps_output: bool) -> PullNode:
    """Return the pull of several arrays, given first, with parameters."""
    count, names = parameters.positional, frozenset(p.name for p in parameters.arrays)

    def pull_raw(node: CallNode, g: Any) -> Sequence[Any]:
        args: list[Any] = list(node.saved)  # type: ignore[arg-type]  # a graph that was freed does not come here
        shared = node.extras is not None
        for i, x in enumerate(args[:count]):
            if isinstance(x, Storage):
                shared = shared or x._memory is not None
                args[i] = x.array
        if shared:
            node.check_versions()
        keywords = node.keywords
        if not names.isdisjoint(keywords):
            keywords = {name: raw_values(value) for name, value in keywords.items()}
        xp = numpy_namespace
        if type(g) is not ndarray:
            xp = namespace_of(_first_of(g))
        if node.outputs is not None:
            g = all_cotangents(xp, node, g)
        y = None
        if keeps_output:
            y = node.output
        return [
            None if edge is None else pull(xp, g, y, *args, **keywords)
            for edge, pull in zip(node.edges, pulls, strict=True)
        ]

    return pull_raw


def raw_values(value: Any, others: Mapping[int, Any] = MappingProxyType({})) -> Any:
    """Return an argument with raw arrays for its tensors: their own, or others by what tells the tensors apart."""
    if isinstance(value, Storage):
        return others.get(id(value), value.array)
    if type(value) is list:
        return [raw_values(member, others) for member in value]
    if type(value) is tuple:
        return tuple([raw_values(member, others) for member in value])
    return value


def all_cotangents(xp: Any, node: CallNode, g: Sequence[Any]) -> list[Any]:
    """Return the cotangent of each of several outputs, zeros where none arrived."""
    assert node.outputs is not None
    return [
        xp.zeros(shape, dtype=dtype) if cotangent is None else cotangent
        for cotangent, (shape, dtype) in zip(g, node.outputs, strict=True)
    ]


def _place_of(value: Any) -> Any:
    """Return what stands for arrays that no rule reads: as many None."""
    if isinstance(value, (list, tuple)):
        return [None] * len(value)
    return None


def _add(before: Any, part: Any) -> Any:
    if before is None:
        return part
    if part is None:
        return before
    return before + part


def _fit_to_output(xp: Any, t: Any, y: Any) -> Any:
    """Return a tangent in the shape and dtype of its output; None where that has no derivative."""
    if t is None or not is_inexact(y.dtype):
        return None
    t = xp.asarray(t)
    if t.dtype != y.dtype:
        t = xp.astype(t, y.dtype)
    if t.shape != y.shape:
        return xp.broadcast_to(t, y.shape)
    return t


def _rules_for(parameter: str, of_operation: Sequence[Rules]) -> list[ArgumentRule]:
    """Return the rules for one argument, of an operation and of its kernels."""
    rules = [rules.for_argument(parameter) for rules in of_operation]
    return [rule for rule in rules if rule is not None]


def _are_in(read: frozenset[str], names: Sequence[str]) -> tuple[bool, ...]:
    """Return of each array parameter whether it is among those that rules read."""
    return tuple([name in read for name in names])


class Derivative:
    """The derivative of an operation; the nodes of its calls refer to it.

    Parameters
    ----------
    protocol, namespace, name, parameters : of the operation

    Attributes
    ----------
    rules : as they were declared
    kernels : those of kernels, by the library whose raw arrays they are for
    trusted : whether the rules are of this library, which tests that they keep no gradient, and that what they give is
        new or shows the cotangent's memory
    """

    def __init__(self, protocol: Dispatcher, namespace: str, name: str, parameters: Parameters) -> None:
        self.protocol = protocol
        self.name = name
        self.qualified_name = f"{namespace}.{name}"
        self.node_name = "".join(part.capitalize() for part in name.split("_")) + "Backward"
        self.parameters = parameters
        self.rules = Rules()
        self.kernels: dict[str, Rules] = {}
        self.trusted = namespace.partition(".")[0] == "dispatchkit"

    def forget_plan(self) -> None:
        """Read the rules anew for the calls to come."""
        forget(self, "keeps_output", "kernel_plans", "plan", "pull_raw", "repeats", "slopes")

    @following
    def pull_raw(self) -> PullNode:
        """What computes the raw cotangents of a recorded call's inputs; compiled when a gradient first flows."""
        if self.kernels:
            return self._pull_by_kernel
        return self.plan.pull_raw

    @following
    def repeats(self) -> bool:
        """Whether there are rules and none reads a value, so that the graph of a call need not be freed."""
        return bool(self.rules) and not (self.keeps_output or any(self.plan.keeps))

    @following
    def slopes(self) -> tuple[Slope | None, ...]:
        """How fast the elements of an elementwise operation's real result change with those of each array argument.

        A number, or ``slope(xp, y, *args)`` of arguments of one shape; None where no rule says it.
        """
        return tuple([self._slope(p.name) for p in self.parameters.arrays])

    def _slope(self, name: str) -> Slope | None:
        partial = self.rules.partials.get(name)
        if isinstance(partial, Rule):
            return partial.slope
        if partial is not None:
            return partial
        rule = self.rules.for_argument(name)
        if rule is None:
            return None
        pull = rule.pull()
        return lambda xp, y, *args: pull(xp, xp.ones(y.shape, dtype=y.dtype), y, *args)

    def _pull_by_kernel(self, node: Any, g: Any) -> Sequence[Any]:
        """Return the raw cotangents by the rules of a kernel, by those of the operation where it leaves a call."""
        cotangents = self.kernel_cotangents(node, g)
        if cotangents is None:
            return self.plan.pull_raw(node, g)
        return cotangents

    def kernel_cotangents(self, node: Any, g: Any) -> Sequence[Any] | None:
        """Return the raw cotangents by the rules of a kernel, None where none is for this call."""
        plans, kernels = self.kernel_plans, self.kernels
        for library in kernels_of(namespace_of(_first_of(g))):
            if library in kernels:
                plan = plans.get(library)
                if plan is None:
                    plan = plans[library] = self._read(kernels[library].over(self.rules))
                cotangents = plan.pull_raw(node, g)
                if not any(cotangent is NotImplemented for cotangent in cotangents):
                    return cotangents
        return None

    @following
    def plan(self) -> VjpPlan:
        """What follows from the rules."""
        return self._read(self.rules)

    @following
    def kernel_plans(self) -> dict[str, VjpPlan]:
        """What follows from the rules of kernels, as far as they were asked, by the library."""
        return {}

    def _read(self, rules: Rules) -> VjpPlan:
        every = [self.rules, *self.kernels.values()]
        return VjpPlan(self.qualified_name, self.parameters, rules, self.parameters.several, every)

    @following
    def keeps_output(self) -> bool:
        """Whether a rule reads the output."""
        return self.plan.keeps_output

    def save_call(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], tracked: Sequence[bool]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a call as the rules of the tracked parameters need them; all where there is none."""
        if not self.rules:
            return args, dict(kwargs)
        saved, keywords, plan = list(args), dict(kwargs), self.plan
        left = _place_of
        if plan.saves_specs:
            left = spec_of
        for p, keep in zip(self.parameters.arrays, plan.needs(tracked), strict=True):
            if keep:
                continue
            if p.form is Form.STAR and p.position is not None:
                saved[p.position :] = [left(value) for value in args[p.position :]]
            elif p.position is not None and p.position < len(args):
                saved[p.position] = left(args[p.position])
            elif p.name in keywords:
                keywords[p.name] = left(keywords[p.name])
        return tuple(saved), keywords

    def pull_live(self, node: Node, g: Any) -> list[Any]:
        """Return the cotangents of the inputs of a recorded call as tensors."""
        if not foreign:
            return self._pull_live(node, g)
        with making_with(namespace_of(_first_of(g)._innermost().array)):
            return self._pull_live(node, g)

    def _pull_live(self, node: Node, g: Any) -> list[Any]:
        node.check_versions()
        y = None
        if self.keeps_output:
            y = self._outputs_of(node, node.output)
        kwargs = {}
        if isinstance(node, CallNode):
            kwargs = node.keywords
        if isinstance(node, CallNode) and node.outputs is not None:
            g = all_cotangents(tensor_namespace, node, g)
        return self.plan.pull_all(node, tensor_namespace, g, y, node.saved or (), kwargs)

    def _outputs_of(self, node: Node, y: Any) -> Any:
        """Return the output of a recorded call as a tensor of the graph."""
        base = self.protocol.types.base
        assert base is not None
        if isinstance(y, tuple):
            ys = [
                wrap_array(base, array, Output(node.original, i, array.shape, array.dtype)) for i, array in enumerate(y)
            ]
            return with_members(y, ys)
        return wrap_array(base, y, node.original)

    def push(
        self,
        call: Callable[..., Any],
        xp: Any,
        y: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        tangents: Sequence[tuple[ArrayParameter, Any]],
    ) -> Any:
        """Return the tangent of a call's output, None where none flows; a list of them for several outputs.

        Parameters
        ----------
        call : computes the operation on arrays of the namespace
        xp : namespace that the rules compute with
        y : the output
        args, kwargs : of the call
        tangents : array parameters with the tangents of their arguments, a list of them (None where there is none) for
            a parameter that takes several

        Raises
        ------
        TransformError : where there is no rule for one of the arguments
        """
        several = isinstance(y, (tuple, list))
        total: Any = None
        if several:
            total = [None] * len(y)
        for p, t in tangents:
            part = self._push_from(p, t, call, xp, y, args, kwargs)
            if several:
                total = [_add(before, t) for before, t in zip(total, part or [None] * len(y), strict=True)]
            else:
                total = _add(total, part)
        if several:
            return [_fit_to_output(xp, t, output) for t, output in zip(total, y, strict=True)]
        return _fit_to_output(xp, total, y)

    def _push_from(
        self, p: ArrayParameter, t: Any, call: Any, xp: Any, y: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Return the tangent that comes of that of one argument."""
        rules, name = self.rules, p.name
        if name in rules.jvps:
            return rules.jvps[name].forward(xp, t, y, *args, **kwargs)
        if name in rules.partials:
            factor = rules.partials[name]
            if isinstance(factor, Rule):
                factor = factor.forward(xp, t, y, *args, **kwargs)
            if type(factor) in (int, float):
                if factor == 1:
                    return t
                if factor == -1:
                    return -t
                if factor == 0:
                    return None
                return t * factor
            return t * factor
        if name not in rules.transposes:
            raise MissingRuleError(
                f"jvp: {self.qualified_name} has no rule for tangents of '{name}'; declare one with def_jvp"
            )
        if p.form is not Form.ONE:
            members = p.members(p.find(args, kwargs))
            pairs = zip(members, t, strict=True)
            t = [xp.zeros_like(xp.asarray(x)) if tangent is None else tangent for x, tangent in pairs]
        if p.position is None or p.position >= len(args):
            return call(*args, **{**kwargs, name: t})
        after = ()
        if p.form is not Form.STAR:
            after = args[p.position + 1 :]
        return call(*args[: p.position], *(t if p.form is Form.STAR else (t,)), *after, **kwargs)
