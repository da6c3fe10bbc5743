"""What records a call on tensors given by place: a function that makes the node, compiled from the rules' needs."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType

from dispatchkit.backends.arrays import is_inexact
from dispatchkit.backends.numpy import DOUBLE
from dispatchkit.declare.compiled.template import compiled_later, filled, tuple_of
from dispatchkit.declare.declared import Declared
from dispatchkit.declare.wrapping import spec_of
from dispatchkit.graph.node import CallNode, Node, snapshot_versions
from dispatchkit.graph.recording import is_grad_enabled
from dispatchkit.graph.storage import vertex_of

__all__ = ["recorder"]

RECORD = """
def call(_r, <taken>):
    if <off>:
        return None
    _n = _Node()
    _n.operation = _operation
    <vertices>
    _n.edges = <edges>
    _n.saved = <saved>
    _n.output = <output>
    _n.shape = _r.shape
    _n.dtype = _r.dtype
    _n.extras = None
    <keywords>
    <versions>
    return _n
"""
NAMES = {
    "_CallNode": CallNode,
    "_DOUBLE": DOUBLE,
    "_Node": Node,
    "_is_grad_enabled": is_grad_enabled,
    "_is_inexact": is_inexact,
    "_snapshot_versions": snapshot_versions,
    "_spec_of": spec_of,
    "_vertex_of": vertex_of,
}


def recorder(operation: Declared, tensors: Sequence[bool]) -> FunctionType:
    """Return what makes the node of a call on tracked tensors; it gives None where recording is off.

    Parameters
    ----------
    operation : that is called
    tensors : for each array given by place, whether it is a tensor rather than a raw array or a scalar

    Returns
    -------
    function of the raw result and the arrays; where the operation has parameters, also of the other arguments, by place
    and by name
    """
    return compiled_later(lambda: (_source(operation, tensors), {**NAMES, "_operation": operation.derivative}))


def _source(operation: Declared, tensors: Sequence[bool]) -> str:
    parameters = not operation.implementation.arrays_only
    plan = operation.derivative.plan
    places = [i for i, tensor in enumerate(tensors) if tensor]
    arrays = [f"_x{i}" for i in range(len(tensors))]
    edges = [f"_v{i}" if i in places else "None" for i in range(operation.parameters.positional)]
    saved, kept = [], []
    for i, x in enumerate(arrays):
        readers = [j for j in places if plan.reads[j][i]]
        nothing = f"_spec_of({x})" if parameters or plan.saves_specs else "None"
        if readers == places:
            saved.append(x)
        elif readers:
            saved.append(f"{x} if {' or '.join(f'_v{j} is not None' for j in readers)} else {nothing}")
        else:
            saved.append(nothing)
        if readers and i in places:
            kept.append(f"{x}._memory is not None")
    return "\n".join(
        filled(
            RECORD.replace("_Node()", "_CallNode()") if parameters else RECORD,
            taken=", ".join([*arrays, *(["_rest", "_keywords"] if parameters else [])]),
            off="not _is_grad_enabled()"
            + (" or (_r.dtype is not _DOUBLE and not _is_inexact(_r.dtype))" if parameters else ""),
            vertices=[f"_v{i} = _x{i}._node if _x{i}._memory is None else _vertex_of(_x{i})" for i in places],
            edges=tuple_of(edges),
            saved=tuple_of([*saved, *(["*_rest"] if parameters else [])]),
            output="_r" if plan.keeps_output else "None",
            keywords=["_n.keywords = _keywords", "_n.outputs = None"] if parameters else [],
            versions=[f"if {' or '.join(kept)}:", "    _snapshot_versions(_n)"] if kept else [],
        )
    )
