"""What computes a call on tensors where no type overrides it: a function for each form and each mix of types.

It takes the raw arrays, computes, wraps the result in the class that it was made for, and records the call where
gradients flow. Nothing that the types alone decide is asked again when it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import PLAIN, is_inexact, namespace_of
from dispatchkit.declare.call_errors import BACKEND_ERRORS, check_numbers, numbers_only, raise_with_context
from dispatchkit.declare.compiled.template import (
    BOTH,
    PYTHON_SCALARS,
    Function,
    compiled_later,
    compute_lines,
    fill_template,
    indent,
    recorder,
    tuple_of,
    unpack_lines,
)
from dispatchkit.declare.kernels import has_own_flow, through_kernels
from dispatchkit.declare.libraries import library_of_call, same_library
from dispatchkit.declare.operation import LEAF, LIKE, DeclaredOperation
from dispatchkit.declare.outputs import finalize_all, is_held, node_of_call, node_of_sequence
from dispatchkit.declare.random_state import overseen
from dispatchkit.declare.wrapping import make_leaf, taking_nothing
from dispatchkit.graph.recording import is_grad_enabled
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.kinds import CreationKind, kinds
from dispatchkit.protocol.parameters import Key, flatten
from dispatchkit.tree import Item, map_leaves, sequence_items

# Parameters of functions that make arrays, which the general form looks at.
MAKING = frozenset({"requires_grad", "dtype"})

CHECK = "    _check_numbers(_operation, _r, "
# Of arrays given by place, first.
BY_PLACE = """
def call(<taken>):
    <?by_name>if not _names.isdisjoint(_keywords) and not _PLAIN.issuperset(map(type, _keywords.values())):
    <?by_name>    return _general(<passed>)
    <?by_name><values>, *_rest = _args
    <arrays>
    _xp = None
    <?known>if _foreign and not (<known>):
    <?known>    <elsewhere>
    <compute>
"""
# Of any arguments.
ANY = """
def call(*_args, **_keywords):
    <?leaf>_requires_grad = _keywords.pop('requires_grad', False)
    <?like>_like = _keywords.pop('like', None)
    _run = _compute
    if _foreign<elsewhere>:
        _xp, _args, _keywords = _library_of_call(_operation, _args, _keywords<with_like>)
        _run = _operation.implementation.on(_xp)
    _tensors = []
    _raw = [_x if type(_x) in _PLAIN else _take_arrays(_x, _tensors) for _x in _args]
    _named = _keywords
    if _keywords and not _PLAIN.issuperset(map(type, _keywords.values())):
        _named = {_name: _take_arrays(_x, _tensors) for _name, _x in _keywords.items()}
    _tracked = <tracked>
    <?composite>if _tracked:
    <?composite>    return _through_body(_operation, _cls, <call>, _tensors)
    <compute>
"""
# Of a sequence of arrays, given first, with parameters.
SEQUENCE = """
def call(_arrays, /, *_rest, **_keywords):
    _raw, _tensors = _raw_arrays(_operation, _arrays)
    _run = _compute
    if _foreign and {*map(type, _raw)} != _ARRAY:
        _plain = _raw and not _rest and _PLAIN.issuperset(map(type, _keywords.values()))
        _xp = _same_library(*_raw) if _plain else None
        if _xp is None:
            return _general(_arrays, *_rest, **_keywords)
        _run = _by_library.get(_xp) or _on(_xp)
    _tracked = <tracked>
    <compute>
"""


def default_implementation(operation: DeclaredOperation, key: Key, cls: type) -> Function:
    """Return what computes a call on the base type and its subclasses.

    Parameters
    ----------
    operation : to compute
    key : types of the array arguments
    cls : of the result
    """
    parameters = operation.parameters
    places = [_place(entry) for entry in key]
    making = not MAKING.isdisjoint(parameters.signature.parameters)
    general = implementation = _make(operation, cls, partial(_general, operation))
    if operation.composite or operation.several or not key:
        pass
    elif operation.implementation.arrays_only:
        implementation = _by_place(operation, cls, general, places)
    elif parameters.leading and not isinstance(operation.kind, CreationKind):
        implementation = general
        if places == ["tensor"]:
            implementation = _by_place(operation, cls, general, places)
    elif parameters.gathering and not making:
        implementation = _make(operation, cls, partial(_general, operation, sequence=True), _general=general)
    elif parameters.positional > 1 and "tensor" in places and not making:
        last = max(i for i, place in enumerate(places) if place != "scalar")
        implementation = _by_place(operation, cls, general, places[: last + 1])
    if _takes_numbers_as_arrays(operation, key):
        implementation = _on_arrays(operation, implementation)
    if has_own_flow(operation):
        implementation = through_kernels(operation, cls, implementation)
    if operation.kind is kinds.random:
        implementation = overseen(operation, implementation)
    return numbers_only(operation, implementation, key)


def _takes_numbers_as_arrays(operation: DeclaredOperation, key: Key) -> bool:
    """Return whether numbers of a call become arrays: where the first argument is one, or they are indices."""
    asked = operation.asks_arrays
    entries = [entry for p, entry in zip(operation.parameters.arrays, key, strict=True) if p.name in asked]
    if operation.kind in (kinds.indexing, kinds.assignment):
        return not PYTHON_SCALARS.isdisjoint(flatten(tuple(entries)))
    return not PYTHON_SCALARS.isdisjoint(flatten(tuple(entries[:1])))


def _on_arrays(operation: DeclaredOperation, handler: Function) -> Function:
    """Return a handler of numbers: of arrays without axes, in the dtype that numbers have beside those of the call."""
    asked = operation.asks_arrays
    apart = operation.kind in (kinds.indexing, kinds.assignment)

    def of_numbers(*args: Any, **kwargs: Any) -> Any:
        values = [value for p, value in operation.parameters.values(args, kwargs) if p.name in asked]
        dtypes = [value.dtype for value in values if hasattr(value, "dtype")]
        if apart:
            dtypes = []
        if any(not isinstance(dtype, np.dtype) for dtype in dtypes):
            return handler(*args, **kwargs)

        def array_of(name: str, value: Any) -> Any:
            if name in asked and type(value) in PYTHON_SCALARS:
                return np.asarray(value, dtype=np.result_type(value, *dtypes))
            return value

        args, kwargs = operation.parameters.replace(args, kwargs, array_of)
        return handler(*args, **kwargs)

    return of_numbers


def _place(cls: Any) -> str:
    """Return what the argument of an array parameter is, by its type."""
    if isinstance(cls, type) and issubclass(cls, Storage):
        return "tensor"
    if cls in PLAIN:
        return "scalar"
    return "array"


def _make(operation: DeclaredOperation, cls: Any, source: Callable[..., list[str]], **names: Any) -> Function:
    """Return a function that is compiled at its first call."""
    finalize = None
    if cls is not operation.protocol.types.base and cls not in taking_nothing:
        finalize = cls.__tensor_finalize__

    def build(_: object) -> tuple[str, Mapping[str, Any]]:
        names_of_function = {
            **NAMES,
            "_cls": cls,
            "_compute": operation.implementation.on_numpy,
            "_finalize": finalize,
            "_function": operation.function,
            "_operation": operation,
            "_views": operation.gives_views,
            "_kernel": operation.implementation.kernel,
            "_by_library": operation.implementation.by_library,
            "_on": operation.implementation.on,
            **names,
        }
        return "\n".join(source(finalize is not None)), names_of_function

    return compiled_later(build)


def _by_place(operation: DeclaredOperation, cls: type, general: Function, places: Sequence[str]) -> Function:
    """Return what computes an operation whose arrays are given by place, first.

    Parameters
    ----------
    operation, cls : to compute, and the class of the result
    general : computes arrays of other libraries, and arrays that are given by name
    places : for each array argument that is not left out, whether it is a ``"tensor"``, ``"array"`` or ``"scalar"``
    """
    source = partial(_text_by_place, operation, places)
    record = recorder(operation, [place == "tensor" for place in places])
    names = frozenset(p.name for p in operation.parameters.arrays)
    return _make(operation, cls, source, _general=general, _record=record, _names=names)


def _text_by_place(operation: DeclaredOperation, places: Sequence[str], finalizes: bool) -> list[str]:
    values = [f"_x{i}" for i in range(len(places))]
    tensors = [x for x, place in zip(values, places, strict=True) if place == "tensor"]
    raw = [f"_a{i}" if place == "tensor" else f"_x{i}" for i, place in enumerate(places)]
    parameters = operation.parameters
    signature = parameters.signature.parameters
    by_name = len(parameters.arrays) > 1 and any(signature[p.name].kind is BOTH for p in parameters.arrays)
    rest = []
    if not operation.implementation.arrays_only:
        rest = ["*_rest", "**_keywords"]
    passed = ", ".join([*values, *rest])
    taken = passed.replace(", *_rest", ", /, *_rest")
    call = f"{tuple_of([*values, *rest[:1]])}, {'_keywords' if rest else '{}'}"
    if by_name:
        taken, passed, call = "*_args, **_keywords", "*_args, **_keywords", "_args, _keywords"
    compute = [f"_r = {'_compute' if rest else '_kernel'}({', '.join([*raw, *rest])})"]
    if parameters.leading and rest:
        check = ["    if _rest or 'dtype' in _keywords:", f"    {CHECK}_keywords.get('dtype'))"]
        compute = ["if _rest or _keywords:", f"    {compute[0]}", *(check if "dtype" in signature else []), "else:"]
        compute += ["    _r = _kernel(_a0)"]
    elsewhere = [f"return _general({passed})"]
    whole = len(places) == len(signature) and not by_name
    if "array" not in places:
        arrays = [a for a, place in zip(raw, places, strict=True) if place == "tensor"]
        search, several = f"_same_library({', '.join(arrays)})", ["if _xp is None:", f"    {elsewhere[0]}"]
        if rest and not (parameters.leading or whole):
            # Other arguments may hold arrays, too: those that are left out here, and members of lists.
            search = f"_are_plain(_rest, _keywords) and {search} or None"
        elsewhere = [f"_xp = {search}", *several]
        if len(arrays) == 1 and "_are_plain" not in search:
            elsewhere = [f"_xp = _namespace_of({arrays[0]})"]
        run = f"    _r = (_by_library.get(_xp) or _on(_xp))({', '.join([*raw, *rest])})"
        compute = ["if _xp is None:", *indent(compute), "else:", run]
    flows = " or ".join(f"{x}._node is not None" for x in tensors)
    recorded = ", ".join([*values, *(["_rest", "_keywords"] if rest else [])])
    record = [f"if {flows}:", f"    _y._node = _record(_r, {recorded})"]
    sources = tuple_of(tensors)
    if len(tensors) == 1:
        share = f"_note_view(_y, {tensors[0]}, _views)"
    else:
        share = f"_note_sharing(_y, {sources}, _views)"
    return fill_template(
        BY_PLACE,
        taken=taken,
        by_name=by_name,
        passed=passed,
        values=", ".join(values),
        arrays=[f"{a} = {x}.array" for a, x in zip(raw, values, strict=True) if a != x],
        known=" and ".join(f"type({a}) is _ndarray" for a, p in zip(raw, places, strict=True) if p != "scalar"),
        elsewhere=elsewhere,
        compute=compute_lines(
            compute,
            call,
            unpack=unpack_lines(sources, call, flows) if rest else [],
            record=record if tensors and operation.differentiable else [],
            share=share if rest else "",
            same=[f"_r is {a}" for a, place in zip(raw, places, strict=True) if place == "tensor"],
            apart=operation.gives_new_memory,
            finish=[f"_finalize(_y, _function, {sources})"] if finalizes else [],
        ),
    )


def _general(operation: DeclaredOperation, finalizes: bool, *, sequence: bool = False) -> list[str]:
    """Return the text of what computes any signature: several arrays, sequences, none at all.

    Parameters
    ----------
    operation : to compute
    finalizes : whether results are given the tensors that they come from
    sequence : whether it is of a sequence of arrays, given first, with parameters
    """
    names = operation.parameters.signature.parameters
    call = "_args, _keywords"
    node = f"_node_of_call(_operation, {call}, _r)"
    if sequence:
        call = "(_arrays, *_rest), _keywords"
        node = "_node_of_sequence(_operation, _arrays, _rest, _keywords, _r)"
    record = ["if _tracked and _is_inexact(_r.dtype):", f"    _y._node = {node}"]
    if LEAF in names:
        record += ["elif _requires_grad:", "    _y._node = _make_leaf(_r)"]
    return fill_template(
        SEQUENCE if sequence else ANY,
        leaf=LEAF in names,
        like=LIKE in names,
        elsewhere=" or _like is not None or 'device' in _keywords" if LIKE in names else "",
        with_like=", _like" if LIKE in names else "",
        tracked="_any_tracked(_tensors)" if operation.differentiable else "False",
        composite=operation.composite,
        call=call,
        compute=compute_lines(
            ["_r = _run(_raw, *_rest, **_keywords)" if sequence else "_r = _run(*_raw, **_named)"],
            call,
            check=["if 'dtype' in _keywords:", f"{CHECK}_keywords['dtype'])"] if "dtype" in names else [],
            unpack=unpack_lines("_tensors", call, "_tracked"),
            record=record,
            share="" if operation.implementation.arrays_only else "_note_sharing(_y, _tensors, _views)",
            same=["_is_held(_r, _raw)"] + ([] if sequence else ["_is_held(_r, _named.values())"]),
            apart=operation.gives_new_memory,
            finish=["_finalize(_y, _function, tuple(_tensors))"] if finalizes else [],
        ),
    )


def _are_plain(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Return whether arguments hold neither arrays nor tensors."""
    return PLAIN.issuperset(map(type, args)) and (not kwargs or PLAIN.issuperset(map(type, kwargs.values())))


def _any_tracked(tensors: Sequence[Storage]) -> bool:
    for t in tensors:
        if t._node is not None:
            return bool(is_grad_enabled())
    return False


def _take_arrays(value: Any, tensors: list[Storage]) -> Any:
    """Return an argument with raw arrays for its tensors, which are put on the list."""
    if isinstance(value, Storage):
        tensors.append(value)
        return value.array
    if isinstance(value, (tuple, list)):
        return map_leaves(
            _members, lambda leaf: _take_arrays(leaf, tensors) if isinstance(leaf, Storage) else leaf, value, share=True
        )
    return value


def _members(value: Any) -> list[Item] | None:
    """Return the members of a sequence, but for one of plain values alone."""
    sequence = isinstance(value, (tuple, list)) and not PLAIN.issuperset(map(type, value))
    if sequence:
        return sequence_items(value)
    return None


def _raw_arrays(operation: DeclaredOperation, values: Any) -> tuple[list[Any], list[Storage]]:
    """Return the members of a sequence with raw arrays for its tensors, and these.

    Raises
    ------
    TypeError : for a number in the place of a sequence
    """
    if type(values) in PYTHON_SCALARS:
        name = operation.parameters.names[0]
        raise TypeError(f"{operation.qualified_name}: {name} must be a sequence of arrays, found {values!r}")
    raw: list[Any] = []
    tensors: list[Storage] = []
    for x in values:
        if isinstance(x, Storage):
            tensors.append(x)
            raw.append(x.array)
        else:
            raw.append(x)
    return raw, tensors


def _through_body(
    operation: DeclaredOperation, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any], tensors: Sequence[Storage]
) -> Any:
    """Compute a call on tracked tensors by way of the operations that the body calls."""
    try:
        result = operation.decompose(*args, **kwargs)
    except BACKEND_ERRORS as error:
        raise_with_context(operation, error, args, kwargs, inner=True)
    # An argument that is returned itself becomes a new tensor, as it does outside the graph.
    if is_held(result, tensors):
        result = result[...]
    finalize_all(operation, cls, result, tensors)
    return result


NAMES: Mapping[str, Any] = {
    "_ARRAY": frozenset({np.ndarray}),
    "_PLAIN": PLAIN,
    "_any_tracked": _any_tracked,
    "_are_plain": _are_plain,
    "_check_numbers": check_numbers,
    "_is_held": is_held,
    "_is_inexact": is_inexact,
    "_library_of_call": library_of_call,
    "_make_leaf": make_leaf,
    "_namespace_of": namespace_of,
    "_node_of_call": node_of_call,
    "_node_of_sequence": node_of_sequence,
    "_take_arrays": _take_arrays,
    "_raw_arrays": _raw_arrays,
    "_same_library": same_library,
    "_through_body": _through_body,
}
