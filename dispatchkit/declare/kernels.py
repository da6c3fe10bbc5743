"""Kernels: what computes an operation on the arrays of one library in place of its body, and how gradients flow."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from dispatchkit.accelerator import core
from dispatchkit.backends.arrays import (
    PLAIN,
    arrivals,
    computes_alone,
    engines,
    is_inexact,
    is_plain,
    kernels_of,
    namespace_of,
    raw_array,
)
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.backends.tracing import is_traced
from dispatchkit.declare.call_errors import BACKEND_ERRORS, raise_with_context
from dispatchkit.declare.derivative import Derivative, all_cotangents, raw_values
from dispatchkit.declare.implementation import Kernel
from dispatchkit.declare.libraries import library_of_call
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.operation import AROUND, DeclaredOperation
from dispatchkit.declare.outputs import finalize_all, node_of_call, note_sharing, several_results, wrap_several
from dispatchkit.declare.rules import Rule, Rules
from dispatchkit.declare.wrapping import taking_nothing, wrap_array
from dispatchkit.errors import RegistrationError
from dispatchkit.graph.node import CallNode, NodeWrapper, Output, snapshot_versions
from dispatchkit.graph.recording import enable_grad, is_grad_enabled
from dispatchkit.graph.storage import Storage, vertex_of
from dispatchkit.graph.sweep import sweep
from dispatchkit.protocol.fallbacks.base import map_members
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.parameters import MISSING, Form, signature_of
from dispatchkit.signatures import module_of

Function: TypeAlias = Callable[..., Any]
Gradients: TypeAlias = Function | Mapping[str, Function]
# Gives cotangents of the arrays, of those of the results.
Pull: TypeAlias = Callable[[list[Any]], Sequence[Any]]

# Who has kernels for the library's own operations; each is loaded when an array of the library is first met.
SHIPPED = {"torch": "dispatchkit.kernels.torch", "jax": "dispatchkit.kernels.jax", "numba": "dispatchkit.kernels.numba"}

# Who computes NumPy's arrays in its place, where that is asked for.
ENGINES = ("numba",)


def define_kernel(
    entry: DeclaredOperation,
    library: str,
    forward: Function | None = None,
    /,
    gradients: Gradients | None = None,
    shapes: Sequence[str] = (),
    flow: Function | None = None,
    reads: Sequence[str] = (),
    fewest: int = 0,
) -> Any:
    """Compute the arrays of a library by a function that takes what the body takes, without the namespace."""
    if forward is None:
        return lambda function: define_kernel(entry, library, function, gradients, shapes, flow, reads, fewest)
    for function in (forward, flow):
        if function is not None and module_of(function).partition(".")[0] != "dispatchkit":  # those are read by a test
            check_kernel(entry, library, function)
    rules = _rules(entry, gradients, shapes)
    entry.implementation.add_kernel(
        library, Kernel(forward, rules, gradients, tuple(shapes), flow, tuple(reads), fewest)
    )
    with_rules = {other: kept for other, kept in entry.derivative.kernels.items() if other != library}
    if rules is not None:
        with_rules[library] = rules
    entry.derivative.kernels = with_rules
    entry.rules_changed()
    return forward


def check_kernel(entry: DeclaredOperation, library: str, forward: Function) -> None:
    """Raise if a kernel does not take what the body takes, without the namespace."""
    wanted = [p for p in entry.parameters.signature.parameters.values() if p.name not in AROUND]
    actual = signature_of(forward, "def_kernel").parameters.values()
    if [(p.name, p.kind, p.default) for p in actual] != [(p.name, p.kind, p.default) for p in wanted]:
        right = str(inspect.Signature([p.replace(annotation=p.empty) for p in wanted]))
        raise RegistrationError(
            f"def_kernel: {forward.__name__} cannot compute {entry.qualified_name} on the arrays of {library}: write "
            f"def {forward.__name__}{right}"
        )


def _rules(entry: DeclaredOperation, gradients: Gradients | None, shapes: Sequence[str]) -> Rules | None:
    """Return the rules that a kernel's gradients are, None where it has none of its own.

    Of the array parameters in `shapes` they read shape and dtype alone.

    Raises
    ------
    RegistrationError : for a name that no array parameter has, or a rule that can never be called
    """
    if gradients is None:
        return None
    names = tuple(p.name for p in entry.parameters.arrays if p.form is not Form.INDEX)
    declared: Any = {names: gradients}
    if isinstance(gradients, Mapping):
        declared = {(name,): rule for name, rule in gradients.items()}
    rules = Rules()
    for name in (*(name for of in declared for name in of), *shapes):
        if name not in names:
            raise RegistrationError(
                f"def_kernel: {entry.qualified_name} has no array parameter {name!r}; it has {', '.join(names)}"
            )
    for of, function in declared.items():
        rule = Rule("vjp", of, function, entry.qualified_name, entry.parameters, shapes)
        rule.check()
        rules.add(rule)
    return rules


def load_kernels(library: str) -> None:
    """Load the kernels for the arrays of another library that come with this one."""
    if library in SHIPPED:
        import_module(SHIPPED[library])


arrivals.append(load_kernels)


def use_engine(engine: str) -> None:
    """Have the kernels of an engine compute NumPy's arrays, where it has some, in all threads."""
    load_kernels(engine)
    engines[:] = dict.fromkeys([engine, "numpy"])
    for entry in tensor_protocol.operations.values():
        if isinstance(entry, DeclaredOperation) and not entry.implementation.kernels.keys().isdisjoint(ENGINES):
            entry.implementation.choose_again()
            entry.rules_changed()


def by_torch(function: Function, arrays: Sequence[Any]) -> tuple[Any, Pull]:
    """Return what a function gives of PyTorch's arrays, and what takes cotangents back by PyTorch's own graph."""
    import torch  # noqa: PLC0415  # optional dependency

    fresh = [x.detach().requires_grad_() for x in arrays]
    with nullcontext() if torch.is_grad_enabled() else torch.enable_grad():
        y = function(*fresh)
    if y is NotImplemented:
        return y, list
    if not isinstance(y, (tuple, list)):
        return y.detach(), partial(_pull_through, (y,), fresh)
    return _of_form(y, [r.detach() for r in y]), partial(_pull_through, y, fresh)


def _of_form(y: Any, members: list[Any]) -> Any:
    """Return a list or tuple of a class, which may have named fields, with other members."""
    if hasattr(y, "_fields"):
        return tuple.__new__(type(y), members)
    return type(y)(members)


def _pull_through(ys: Sequence[Any], fresh: Sequence[Any], g: Sequence[Any]) -> Sequence[Any]:
    """Return what PyTorch's graph makes of the cotangents of results.

    Where the graph is a line of nodes they are called one after another, in half the time of PyTorch's own pass.
    """
    import torch  # noqa: PLC0415  # optional dependency

    roots = [y for y in ys if y.requires_grad]
    flowing = [part for y, part in zip(ys, g, strict=True) if y.requires_grad]
    ahead: Any = [(y.grad_fn, y.output_nr) for y in roots]
    reached: Any = flowing
    try:
        with torch.set_grad_enabled(False):  # takes half the time of `no_grad`
            while len(ahead) == 1 and ahead[0][1] == 0 and not hasattr(ahead[0][0], "variable"):
                node = ahead[0][0]
                others = [None] * (len(node._input_metadata) - len(reached))  # results that nobody sees
                passed, ahead = node(*reached, *others), node.next_functions
                reached = passed
                if not isinstance(passed, tuple):
                    reached = (passed,)
        by_leaf: dict[int, Any] = {}
        for (n, _), part in zip(ahead, reached, strict=True):
            if n is not None:
                key = id(n.variable)
                by_leaf[key] = part if by_leaf.get(key) is None else by_leaf[key] + part
        if len(roots) == 1:
            return [by_leaf.get(id(x)) for x in fresh]
    except (TypeError, AttributeError):  # of nodes that are written in Python, and of several results
        pass
    grads: Sequence[Any] = torch.autograd.grad(roots, fresh, flowing, retain_graph=True, allow_unused=True)
    return grads


class _Declined(Exception):  # noqa: N818  # is caught at once
    """A kernel leaves a call to the body."""


def by_jax(function: Function, arrays: Sequence[Any]) -> tuple[Any, Pull]:
    """Return what a function gives of JAX's arrays, and what takes cotangents back by JAX's own derivative.

    Calls outside of a trace are left, since JAX would trace the function at each.
    """
    import jax  # noqa: PLC0415  # optional dependency

    def computed(*arrays: Any) -> Any:
        y = function(*arrays)
        if y is NotImplemented:
            raise _Declined
        return y

    if not any(map(is_traced, arrays)):
        return NotImplemented, list
    try:
        y, pull = jax.vjp(computed, *arrays)
    except _Declined:
        return NotImplemented, list

    def pull_conjugated(g: list[Any]) -> Sequence[Any]:
        # JAX's cotangents of complex numbers are the conjugates of PyTorch's.
        g = [jax.numpy.conj(part) for part in g]
        grads = pull(_of_form(y, g) if isinstance(y, (tuple, list)) else g[0])
        return [jax.numpy.conj(part) for part in grads]

    return y, pull_conjugated


# How a library differentiates a function itself.
DIFFERENTIATED = {"torch": by_torch, "jax": by_jax}


def through_kernels(operation: DeclaredOperation, cls: type, otherwise: Function) -> Function:
    """Return what computes the calls through which gradients flow by kernels that say themselves how they flow.

    Parameters
    ----------
    operation, cls : to compute, and the class of the result
    otherwise : computes all other calls
    """
    by_kernel = ByKernel(operation.derivative, operation)
    alone = [p.form for p in operation.parameters.arrays] == [Form.ONE]
    kernel = operation.implementation.kernels.get("numpy")
    fewest = kernel.fewest if kernel is not None else 0

    def call(*args: Any, **kwargs: Any) -> Any:
        if alone and args:
            x = args[0]
            if getattr(x, "_node", MISSING) is None:  # nothing flows, nor is there more to look at
                return otherwise(*args, **kwargs)
            if fewest and _is_few(x, fewest):
                return otherwise(*args, **kwargs)
        if is_grad_enabled():
            y = by_kernel.record(cls, _leaves(operation, args, kwargs), args, kwargs)
            if y is not NotImplemented:
                return y
        return otherwise(*args, **kwargs)

    return call


def _is_few(x: Any, fewest: int) -> bool:
    """Return whether a tensor has fewer elements in NumPy's memory, which no other engine computes."""
    if not isinstance(x, Storage) or x.is_tracer or type(x.array) is not np.ndarray:
        return False
    return x.array.size < fewest and computes_alone("numpy")


def has_own_flow(operation: DeclaredOperation) -> bool:
    """Return whether gradients flow through calls of an operation by a kernel rather than by the operation's rules."""
    kernels = operation.implementation.kernels.items()
    return operation.differentiable and any(
        kernel.flow or (operation.composite if kernel.rules else library in DIFFERENTIATED)
        for library, kernel in kernels
    )


def _leaves(operation: DeclaredOperation, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
    """Return the array arguments of a call, in the order of its edges."""
    leaves: list[Any] = []
    for p in operation.parameters.arrays:
        if p.form is Form.ONE:
            leaves.append(p.find(args, kwargs))
        elif p.form is not Form.INDEX:
            leaves += p.members(p.find(args, kwargs))
    return leaves


def _raw_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a call with raw arrays for the tensors in them."""
    raw = list(args)
    for place, x in enumerate(args):
        if isinstance(x, Storage):
            raw[place] = x.array
        elif type(x) not in PLAIN and not is_plain(x):
            raw[place] = raw_values(x)
    if kwargs:
        kwargs = {name: x if type(x) in PLAIN else raw_values(x) for name, x in kwargs.items()}
    return raw, kwargs


def _flows_on_numpy(leaves: Sequence[Any]) -> bool:
    """Return whether all arguments that are given are tensors of NumPy's arrays, to one of which gradients flow."""
    flows = False
    for x in leaves:
        if x is None:
            continue
        if not isinstance(x, Storage) or type(x.array) is not np.ndarray:
            return False
        if x._node is not None and x.array.dtype.kind in "fc":
            flows = True
    return flows


def _tensors_of(leaves: Sequence[Any]) -> tuple[list[Any], dict[int, Any]]:
    """Return the tensors among arguments, and the arrays of those that gradients flow to, by what tells them apart."""
    tensors = [x for x in leaves if isinstance(x, Storage)]
    return tensors, {id(x): x.array for x in tensors if x._node is not None and is_inexact(x.array.dtype)}


def _by_edges(pull: Pull, leaves: Sequence[int], flowing: Sequence[int], g: list[Any]) -> list[Any]:
    """Return a cotangent for each argument, for one that is given twice in the first place alone."""
    cotangents = dict(zip(flowing, pull(g), strict=True))
    return [cotangents.pop(leaf, None) for leaf in leaves]


class SavedCall(tuple[Any, ...]):  # noqa: SLOT001  # a tuple has no slots of its own
    """The saved arguments of a call, and what takes cotangents back, which goes when they go.

    Attributes
    ----------
    pull : gives a cotangent for each argument, of a list of those of the results
    kernel : that gave it with the result, and says which arguments it depends on; None for another, which all may
    """

    pull: Callable[..., Sequence[Any]] | None = None
    kernel: Kernel | None = None


# Makes a call and its node in less time; gives what the kernel gave, or None, where that is left to Python.
by_flow = None
if core is not None:
    by_flow = core.flows(PLAIN, SavedCall, snapshot_versions)


class ByKernel(NodeWrapper):
    """The derivative of a call that a kernel computed, which may have no other rule.

    Parameters
    ----------
    inner : the operation's own derivative
    declared : the operation
    """

    __slots__ = ("declared",)
    inner: Derivative

    def __init__(self, inner: Derivative, declared: DeclaredOperation) -> None:
        super().__init__(inner)
        self.declared = declared

    def record(self, cls: type, leaves: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a call by a kernel, with its node; NotImplemented where that is left to others.

        Parameters
        ----------
        cls : class of the result
        leaves : the array arguments of the call, in the order of its edges
        args, kwargs : the call
        """
        operation = self.declared
        if _flows_on_numpy(leaves):  # as in most calls, which are looked at no further
            xp = numpy_namespace
        else:
            tensors, flowing = _tensors_of(leaves)
            if not flowing:
                return NotImplemented
            xp, *further = {namespace_of(x.array) for x in tensors}
            if further or len(tensors) < len([x for x in leaves if x is not None]):
                xp, moved, named = library_of_call(operation, args, kwargs)
                if moved is not args or named is not kwargs:
                    leaves, args, kwargs = _leaves(operation, moved, named), moved, named
        kernels = operation.implementation.kernels
        for library in kernels_of(xp):
            if library not in kernels:
                continue
            kernel = kernels[library]
            if kernel.flow is not None:
                y = self._record_flow(kernel, cls, leaves, args, kwargs)
                if y is not NotImplemented:
                    return y
            if operation.composite if kernel.rules else library in DIFFERENTIATED:
                tensors, flowing = _tensors_of(leaves)
                r, pull = self._run_kernel(library, flowing, args, kwargs)
                if r is NotImplemented:
                    continue
                y, node = self._wrap(cls, r, tensors, args, kwargs)
                if node is not None and pull is not None:
                    node.saved = SavedCall(node.saved)
                    node.saved.pull = partial(_by_edges, pull, [id(x) for x in leaves], list(flowing))
                return y
        return NotImplemented

    def _record_flow(
        self, kernel: Kernel, cls: type, leaves: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Return the result of a call by a kernel that gives what takes cotangents back; else NotImplemented."""
        answer: Any = None
        takes_nothing = cls is self.declared.protocol.types.base or cls in taking_nothing
        try:
            if by_flow is not None and takes_nothing and "y" not in kernel.reads and not self.inner.keeps_output:
                answer = by_flow(self, kernel, kernel.flow, cls, leaves, args, kwargs)
            if answer is None:
                raw, named = _raw_call(args, kwargs)
                answer = kernel.flow(*raw, **named)  # type: ignore[misc]  # is there
        except BACKEND_ERRORS as error:
            raise_with_context(self.declared, error, args, kwargs)
        if answer is NotImplemented or type(answer) is cls:
            return answer
        r, pull = answer
        if type(r) is np.ndarray and r.dtype.kind in "fc":
            vertex = self._node_of(leaves, args, kwargs)
            vertex.shape, vertex.dtype = r.shape, r.dtype
            self._give_pull(vertex, kernel, pull, r)
            if takes_nothing:
                return wrap_array(cls, r, vertex)
            y = wrap_array(cls, r, vertex)
            finalize_all(self.declared, cls, y, [x for x in leaves if isinstance(x, Storage)])
            return y
        node: CallNode | None = None
        tensors = [x for x in leaves if isinstance(x, Storage)]
        if isinstance(r, (tuple, list)):
            if any(is_inexact(part.dtype) for part in r):
                node = self._node_of(leaves, args, kwargs)
            y = wrap_several(self.declared, cls, type(r), r, tensors, node)
        else:
            y = wrap_array(cls, r)
            if is_inexact(r.dtype):
                node = y._node = self._node_of(leaves, args, kwargs)
                node.shape, node.dtype = r.shape, r.dtype
            finalize_all(self.declared, cls, y, tensors)
        if node is not None:
            self._give_pull(node, kernel, pull, r)
        return y

    def _node_of(self, leaves: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> CallNode:
        """Return the node of a call of which all arguments are saved, for rules that may read any of them."""
        node = CallNode()
        node.operation, node.saved, node.keywords = self, args, kwargs
        node.edges = tuple([vertex_of(x) if isinstance(x, Storage) else None for x in leaves])
        node.outputs = node.extras = node.output = None
        return node

    def _give_pull(self, node: Any, kernel: Kernel, pull: Function, r: Any) -> None:
        """Let a node take cotangents back by what a kernel gave, and note what that must find unchanged."""
        if "y" in kernel.reads or self.inner.keeps_output:
            if "y" in kernel.reads:
                node.operation = ByOutput(self.inner, self.declared)
            node.output = tuple(r) if isinstance(r, list) else r
        saved = node.saved = SavedCall(node.saved)
        saved.pull, saved.kernel = pull, kernel
        snapshot_versions(node)

    def _run_kernel(
        self, library: str, flowing: Mapping[int, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, Pull | None]:
        """Return what a kernel gives, and what takes cotangents back, None where that are its own rules."""
        kernel = self.declared.implementation.kernels[library]

        def run(*arrays: Any) -> Any:
            others = dict(zip(flowing, arrays, strict=True))
            raw = [x if type(x) in PLAIN else raw_values(x, others) for x in args]
            named = {name: x if type(x) in PLAIN else raw_values(x, others) for name, x in kwargs.items()}
            return kernel.forward(*raw, **named)

        try:
            if kernel.rules is not None:
                return run(*flowing.values()), None
            return DIFFERENTIATED[library](run, list(flowing.values()))
        except BACKEND_ERRORS as error:
            raise_with_context(self.declared, error, args, kwargs)

    def _wrap(
        self, cls: type, r: Any, tensors: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, Any]:
        """Return the tensors of what a kernel gave, and the node of the call, None where it has none."""
        operation, node = self.declared, None
        if isinstance(r, (tuple, list)):
            y = several_results(operation, cls, r, tensors, args, kwargs, True)
            node = next((part._node.main for part in y if isinstance(part._node, Output)), None)
        else:
            y = wrap_array(cls, raw_array(r))
            if is_inexact(y.array.dtype):
                node = y._node = node_of_call(operation, args, kwargs, y.array)
            if not operation.implementation.trusted:  # those of this library give new arrays
                note_sharing(y, tensors, operation.gives_views)
            finalize_all(operation, cls, y, tensors)
        if node is not None:
            node.operation = self
        return y, node

    def pull_raw(self, node: Any, g: Any) -> Sequence[Any]:
        """Return the raw cotangents of a node's inputs: by the kernel, else by the operation's rules, or its body."""
        pull = getattr(node.saved, "pull", None)
        if pull is not None:
            if node.saved.kernel is not None:
                leaves, reads = _leaves(self.declared, node.saved, node.keywords), node.saved.kernel.reads
                names = self.declared.parameters.names
                looked_at = [x for name, x in zip(names, leaves, strict=True) if name in reads]
                node.check_versions(looked_at, output="y" in reads)
                pull = partial(pull, wanted=[edge is not None for edge in node.edges])
            elif self.inner.rules:
                node.check_versions()  # else all arguments are saved, also those that are not read
            if type(g) is list:
                xp = namespace_of(next(part for part in g if part is not None))
                g = all_cotangents(xp, node, g)
            by_itself: list[Any] = pull(g if type(g) is list else [g])
            return by_itself
        node.saved = tuple(node.saved)  # values that were packed come without the kernel's own
        if self.inner.rules:
            return self.inner.pull_raw(node, g)
        by_rules = self.inner.kernel_cotangents(node, g)
        if by_rules is not None:
            return by_rules
        live = map_members(g, lambda part: part if part is None else wrap_array(self.declared.base, part))
        cotangents = self._through_body(node, live)
        return [cotangent if cotangent is None else cotangent.array for cotangent in cotangents]

    def pull_live(self, node: Any, g: Any) -> Sequence[Any]:
        """Return the cotangents of a node's inputs as tensors, by the operation's rules or its body."""
        if self.inner.rules:
            return self.inner.pull_live(node, g)
        return self._through_body(node, g)

    def _through_body(self, node: Any, g: Any) -> list[Any]:
        """Return the cotangents of a call that is made again, by way of the operations that the body calls."""
        node.check_versions()
        twins: dict[int, Any] = {}

        def twin(value: Any) -> Any:
            # Apart from the argument, which may be computed from another one.
            if not isinstance(value, Storage) or value._node is None:
                return value
            return twins.setdefault(id(value), tensor_namespace.positive(value))

        with enable_grad():
            args, kwargs = map_members(tuple(node.saved), twin), map_members(dict(node.keywords), twin)
            y = self.declared.decompose(*args, **kwargs)
        if isinstance(y, (tuple, list)):
            ys, gs = y, g
        else:
            ys, gs = [y], [g]
        pairs = [(vertex_of(part), cotangent) for part, cotangent in zip(ys, gs, strict=True)]
        roots = [(vertex, cotangent) for vertex, cotangent in pairs if vertex is not None and cotangent is not None]
        vertices = {key: vertex for key, tensor in twins.items() if (vertex := vertex_of(tensor)) is not None}
        inputs = list(vertices.values())
        grads = sweep(roots, None, inputs=inputs, retain_graph=True, create_graph=True, accumulate=False)
        leaves = _leaves(self.declared, node.saved, node.keywords)
        return [grads.pop(vertices[id(x)], None) if id(x) in vertices else None for x in leaves]


class ByOutput(ByKernel):
    """The derivative of a call whose cotangents depend on its result, by what the kernel gave that takes them back."""

    __slots__ = ()
    keeps_output = True
