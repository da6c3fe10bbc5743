"""Indexing: `getitem`, `setitem`, and `index_put`, which is assignment as a function."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, TypeVar
from weakref import ref

import numpy as np

from dispatchkit.accelerator import core
from dispatchkit.backends.arrays import advice_for_subclass, foreign, is_inexact, namespace_of, raw_array
from dispatchkit.backends.foreign import BASIC
from dispatchkit.backends.numpy import numpy_namespace, rows_added, selects_once
from dispatchkit.declare.call_errors import BACKEND_ERRORS, raise_with_context
from dispatchkit.declare.decorators import assignment, indexing
from dispatchkit.declare.inplace import (
    check_may_change,
    check_writeable,
    in_graph,
    is_alone,
    put_elements,
    write_back,
)
from dispatchkit.declare.libraries import as_python, common_library, own_index
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.outputs import node_of_call, note_view
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Index, Namespace
from dispatchkit.declare.wrapping import spec_of, taking_nothing, wrap_array
from dispatchkit.errors import ForeignArgumentError
from dispatchkit.graph.node import CallNode
from dispatchkit.graph.recording import is_grad_enabled
from dispatchkit.graph.storage import Storage, memory_of, share_memory, vertex_of
from dispatchkit.marks import override
from dispatchkit.protocol.callers import continue_chain, decide
from dispatchkit.protocol.frames import hide_frames
from dispatchkit.protocol.modes import is_asked, wait_again
from dispatchkit.protocol.observers import live
from dispatchkit.protocol.parameters import Key

F = TypeVar("F", bound=Callable[..., Any])
new: Callable[[Any], Any] = object.__new__
ndarray, generic = np.ndarray, np.generic
SELECTING = BASIC | {ndarray}
INTEGERS = frozenset({int, bool})
# Of values that are assigned as they are.
NUMBERS = frozenset({int, float, complex, bool, ndarray})


class Indexing(DeclaredOperation):
    """An operation that takes an index, which no compiled text spells."""

    @override
    def make_function(self) -> Callable[..., Any]:
        return self.make_general()

    def compiled(self, base: type | None) -> Any:
        """Return what the compiled core has for calls on plain tensors and by known answers; None without one."""
        make = getattr(core, "indexer", None)
        if make is None or base is None:
            return None

        def go_on(first: Any, result: Any, *args: Any) -> Any:
            return continue_chain(self, first, args, {}, result)

        derivative: Any = self.derivative
        if self.changes or derivative.plan.keeps[0] or derivative.plan.keeps_output:
            derivative = None  # whose nodes keep more than the index
        told = (self.function, taking_nothing, derivative, is_grad_enabled)
        members = (base, self.by_call, live, foreign, share_memory, go_on, *told)
        return make(members, writes=bool(self.changes))


class Selection(Indexing):
    """`getitem`: indices without arrays, and single plain tensors, are dealt with at once."""

    # Written out: each call in it would cost a tenth of an index.
    def make_function(self) -> Callable[..., Any]:  # noqa: C901
        """Return the public function; plain tensors with the commonest indices do not go by the table."""
        general, by_call = super().make_function(), self.by_call
        base: Any = None
        compiled: Any = None

        def call(x: Any, key: Any, /) -> Any:  # noqa: C901
            try:
                if compiled is not None and (y := compiled(x, key)) is not None:
                    return y
                cls = type(x)
                to: Any = cls
                if live and (cls is not base or is_asked(self)):
                    return general(x, key)
                if cls is not base:
                    path = cls, (type(key) if type(key) is not tuple else tuple(map(type, key)))
                    first = by_call.get(path) or _decide(self, x, key, path)
                    to = getattr(first, "gives", None)
                    if to is not cls and (to is None or not isinstance(x, Storage)):
                        result = first(x, key)
                        if result is NotImplemented or result is None:
                            return continue_chain(self, first, (x, key), {}, result)
                        return result
                if not (basic := type(key) in BASIC or (type(key) is tuple and BASIC.issuperset(map(type, key)))):
                    y = _by_arrays(self, x, key, to)
                    if y is None:
                        return general(x, key)
                elif type(a := x.array) is not ndarray:
                    y = _of_library(self, x, key, to)
                else:
                    try:
                        r = a[key, ...] if type(key) is int else a[key]
                    except BACKEND_ERRORS as error:
                        raise_with_context(self, error, (x, key), {})
                    if type(r) is not ndarray:
                        r = a[(*key, ...)] if isinstance(r, generic) else raw_array(r)
                    y = new(to)
                    y.array = r
                    y._node = y._memory = None
                    memory = x._memory
                    if memory is not None and x._node is None and len(memory.views) < memory.full:
                        # As `share_memory` does, in less time.
                        y._memory = memory
                        memory.views.append(ref(y))
                    else:
                        if x._node is not None and is_grad_enabled():
                            y._node = _node_of(self, x, key, r)
                        share_memory(y, x)
                if to is base or to in taking_nothing:
                    return y
                if (basic or type(key) is ndarray or type(key) is base) and _takes_nothing(base, to, x):
                    return y
                return _finalize(self, y, x, key)
            except Exception as error:
                hide_frames(error, self)
                raise

        def refresh(_: object) -> None:
            nonlocal base, compiled
            base = self.protocol.types.base
            compiled = self.compiled(base)

        self.on_change[call] = refresh
        return call


def _node_of(operation: DeclaredOperation, x: Any, key: Any, r: Any) -> CallNode:
    """Return the node of a selection by an index without arrays, of which only the index is read."""
    plan = operation.derivative.plan
    if plan.keeps[0] or plan.keeps_output:
        return node_of_call(operation, (x, key), {}, r)
    n = CallNode()
    n.operation = operation.derivative
    n.edges = (vertex_of(x),)
    n.saved, n.keywords = (spec_of(x), key), {}
    n.output = n.outputs = n.extras = None
    n.shape, n.dtype = r.shape, r.dtype
    return n


def _finalize(operation: DeclaredOperation, y: Any, x: Any, key: Any) -> Any:
    """Return a result of a subclass with what it takes over from its sources."""
    sources = (x,)
    if type(key) not in BASIC:
        sources = (x, *[part for part in (key if type(key) is tuple else (key,)) if isinstance(part, Storage)])
    type(y).__tensor_finalize__(y, operation.function, sources)
    return y


def _of_library(operation: DeclaredOperation, x: Any, key: Any, to: Any) -> Any:
    """Select from a tensor around another library's array, by an index without arrays, as an instance of a class."""
    a = x.array
    try:
        r = namespace_of(a).getitem(a, key)
    except BACKEND_ERRORS as error:
        raise_with_context(operation, error, (x, key), {})
    y = wrap_array(to, raw_array(r))
    if x._node is not None and is_grad_enabled() and is_inexact(r.dtype):
        y._node = node_of_call(operation, (x, key), {}, r)
    note_view(y, x, views=True)
    return y


def _by_arrays(operation: DeclaredOperation, x: Any, key: Any, to: Any) -> Any:
    """Select from a tensor outside the graph by NumPy's arrays of integers or booleans; None of anything else.

    The result is an instance of a class.
    """
    raw = None
    if not foreign and x._node is None:
        raw = _raw_selection(type(x), key)
    if raw is None:
        if live:
            wait_again(operation)
        return None
    try:
        r = x.array[raw]
    except BACKEND_ERRORS as error:
        raise_with_context(operation, error, (x, key), {})
    y = wrap_array(to, r if type(r) is ndarray else raw_array(_as_view(x.array, raw, r)))
    if y.array.base is not None:
        note_view(y, x)
    return y


def _is_basic(key: Any) -> bool:
    return type(key) is tuple and BASIC.issuperset(map(type, key))


def _raw_selection(cls: Any, key: Any) -> Any:
    """Return an index with NumPy's arrays for tensors of a class; None where there is more than basic indices."""
    if type(key) is cls:
        return key.array
    if type(key) is ndarray or (type(key) is list and INTEGERS.issuperset(map(type, key))):
        return key
    if type(key) is not tuple:
        return None
    raw = [part.array if type(part) is cls else part for part in key]
    if SELECTING.issuperset(map(type, raw)):
        return tuple(raw)
    return None


def _as_view(a: Any, key: Any, r: Any) -> Any:
    """Return what indexing gave: a view also where one element is left, of which NumPy makes a scalar."""
    if isinstance(r, np.generic):
        return a[(*key, ...) if type(key) is tuple else (key, ...)]
    return r


@indexing(
    passthrough=True,
    operator="__getitem__",
    record=Selection,
    decomposes=False,
    samples=lambda: [
        sample(draw(3, 2), 1),
        sample(draw(3, 2), (slice(None), -1)),
        sample(draw(4), slice(None, None, 2)),
        sample(draw(3, 2), (Ellipsis, None)),
        sample(draw(4), [0, 2, 0]),
    ],
)
def getitem(xp: Namespace, x: Array, key: Index, /) -> Array:
    """Select elements: ``x[key]``.

    Parameters
    ----------
    key : integers, slices, ``...``, None, and integer or boolean arrays, or a tuple of them

    Returns
    -------
    a view for integers and slices, 0-D where one element is left; a copy for arrays

    Raises
    ------
    IndexError : if an index is out of range or too many are given

    Notes
    -----
    The gradient is added up at the selected elements. Source: array API standard, "Indexing".

    Examples
    --------
    >>> dk.getitem(dk.asarray([1.0, 2.0, 3.0]), slice(1, None))
    tensor([2., 3.])
    """
    return _as_view(x, key, xp.getitem(x, key))


@getitem.def_transpose("x")
def getitem_transpose(xp, g, x, key):
    if type(g) is ndarray and selects_once(key):
        of_x = np.zeros(x.shape, g.dtype)
        of_x[key] = g
        return of_x
    if type(g) is type(key) is ndarray and key.dtype.kind in "iu":
        return rows_added(g, key, x.shape)
    # A stretched zero takes no memory: what is put into is copied once.
    nothing = xp.broadcast_to(xp.zeros((), dtype=g.dtype), x.shape)
    return xp.index_put(nothing, key, g, accumulate=True)


# By type the rule of `getitem` for it, and what selects by an index without arrays as that rule does, in less time.
_parts: dict[type, tuple[Callable[..., Any], Callable[[Any, Any], Any]]] = {}


def parts_by(cls: type, rule: Callable[..., Any]) -> Callable[[F], F]:
    """Return a decorator of what selects from arrays of a type by integers, slices, ``...`` and None.

    It is asked where a rule answers their `getitem`, and takes the place of the rule: it declines nothing.

    Parameters
    ----------
    cls, rule : the type, which no subclass counts as, and its rule
    """

    def register(select: F) -> F:
        _parts[cls] = rule, select
        return select

    return register


def _decide(operation: DeclaredOperation, x: Any, key: Any, path: Any) -> Any:
    """Decide who answers calls of these types; what selects in less time than a rule answers in its place."""
    protocol = operation.protocol
    generation = protocol.journal.generation
    first = decide(operation, (x, key), {}, operation.by_call, path)
    rule, select = _parts.get(type(x), (None, None))
    if select is None or rule is not first or not (type(key) in BASIC or _is_basic(key)):
        return first
    protocol.journal.keep(operation, generation, operation.by_call, (path,), select)
    return select


def part_of(base: Any, x: Any, key: Any) -> Any:
    """Return what `getitem` selects by an index without arrays, of a plain tensor outside the graph in less time.

    Parameters
    ----------
    base, x, key : the class of plain tensors, the array, and the index
    """
    if type(x) is not base or live or x._node is not None or type(a := x.array) is not ndarray:
        return x[key]
    try:
        r = a[key, ...] if type(key) is int else a[key]
        if type(r) is not ndarray:
            r = a[(*key, ...)]  # one element
    except BACKEND_ERRORS:
        return x[key]  # which says what does not fit
    y = new(base)
    y.array = r
    y._node = None
    memory = x._memory
    if memory is not None and len(memory.views) < memory.full:
        # As `share_memory` does, in less time.
        y._memory = memory
        memory.views.append(ref(y))
    else:
        y._memory = None
        share_memory(y, x)
    return y


# By type the rule of `getitem` for it, and what gives the parts along the first axis as that rule does, in less time.
_rows: dict[type, tuple[Callable[..., Any], Callable[[Any], Iterator[Any]]]] = {}


def rows_by(cls: type, rule: Callable[..., Any]) -> Callable[[F], F]:
    """Return a decorator of what iterates over arrays of a type, as long as a rule answers their `getitem`."""

    def register(rows: F) -> F:
        _rows[cls] = rule, rows
        return rows

    return register


def rows_of(x: Any) -> Iterator[Any]:
    """Return the parts of an array along its first axis, one after the other, as `getitem` gives them.

    Raises
    ------
    TypeError : if it has no axes
    """
    count, cls = len(x), type(x)
    operation: Any = getitem.__overridable__  # type: ignore[attr-defined]
    answer, base = operation.by_call.get((cls, int)), operation.protocol.types.base
    to = cls if cls is base else getattr(answer, "gives", None)
    # The compiled core gives elements in less time still.
    if core is None and to is not None:
        return _rows_of_tensor(operation, x, count, to)
    part_rule, select = _parts.get(cls, (None, None))
    if select is not None and select is answer:
        answer = part_rule
    rule, rows = _rows.get(cls, (None, None))
    if rows is not None and rule is answer and not live:
        return rows(x)
    return (x[place] for place in range(count))


def _rows_of_tensor(operation: DeclaredOperation, x: Any, count: int, to: Any) -> Iterator[Any]:
    """Yield the rows of a tensor which nobody overrides, without the steps of `getitem` that are for nothing here.

    They are instances of a class.
    """
    base: Any = operation.protocol.types.base
    plain = to is base or to in taking_nothing
    # As `_takes_nothing` says; the attributes are looked at anew for each row, since a loop may set some.
    by_default = to.__tensor_finalize__ is base.__tensor_finalize__ and not x.__dispatch_slots__
    attributes = getattr(x, "__dict__", None)
    for place in range(count):
        a = x.array
        if live or x._node is not None or type(a) is not ndarray:
            yield x[place]
            continue
        y = new(to)
        y.array = a[place, ...]
        y._node = None
        memory = x._memory
        if memory is not None and len(memory.views) < memory.full:
            # As `share_memory` does, in less time.
            y._memory = memory
            memory.views.append(ref(y))
        else:
            share_memory(y, x)
        if plain or (by_default and not attributes):
            yield y
        else:
            yield _finalize(operation, y, x, place)


def _takes_nothing(base: Any, to: Any, x: Any) -> bool:
    """Return whether an instance of a class takes over nothing from a tensor, which has no attributes."""
    if to.__tensor_finalize__ is not base.__tensor_finalize__ or x.__dispatch_slots__:
        return False
    return not getattr(x, "__dict__", None)


@assignment(
    record=Indexing,
    passthrough=True,
    samples=lambda: [
        sample(draw(3, 2), 1, draw(2)),
        sample(draw(4), slice(1, 3), draw(2), accumulate=True),
        sample(draw(4), [0, 2, 0], draw(3), accumulate=True),
    ],
)
def index_put(xp: Namespace, x: Array, key: Index, value: Array, /, *, accumulate: bool = False) -> Array:
    """Return a copy of `x` in which the selected elements are others.

    Parameters
    ----------
    key : what to replace, as in ``x[key]``
    value : array that broadcasts to the shape of ``x[key]``, or a scalar
    accumulate : add to the elements instead; an element selected twice gets both

    Returns
    -------
    array of the shape and dtype of `x`

    Notes
    -----
    The function behind a differentiable ``x[key] = value``. Source: PyTorch, `torch.index_put`.

    Examples
    --------
    >>> dk.index_put(dk.zeros(3), 1, 5.0)
    tensor([0., 5., 0.])
    """
    return xp.index_put(x, key, value, accumulate=accumulate)


index_put.def_transpose("x")(lambda xp, g, key, accumulate: g if accumulate else xp.index_put(g, key, 0.0))


@index_put.def_transpose("value", shapes=("x",))
def index_put_transpose_value(xp, g, x, key, accumulate):
    cotangent = xp.getitem(g, key)
    if accumulate or type(key) in BASIC or _is_basic(key):
        return cotangent
    # Of several values assigned to one element the last stays, and it alone has a gradient.
    ids = xp.reshape(xp.arange(math.prod(cotangent.shape)), cotangent.shape)
    owner = xp.index_put(xp.zeros(x.shape, dtype=ids.dtype), key, ids)
    return cotangent * (xp.getitem(owner, key) == ids)


index_put.def_jvp("x")(lambda xp, t, key, accumulate: t if accumulate else xp.index_put(t, key, 0.0))


@index_put.def_jvp("value")
def index_put_jvp_value(xp, t, y, key, accumulate):
    return xp.index_put(xp.zeros_like(y), key, t, accumulate=accumulate)


class Assignment(Indexing):
    """`setitem`: the one operation whose result is a change of its argument."""

    changes = "x"
    may_give_none = True

    def make_function(self) -> Callable[..., Any]:
        """Return the public function; plain tensors outside the graph do not go by the table."""
        general, by_call = super().make_function(), self.by_call
        base: Any = None
        compiled: Any = None

        def call(x: Any, key: Any, value: Any, /) -> None:
            try:
                if compiled is not None and compiled(x, key, value) is not None:
                    return
                cls, assign_by = type(x), general
                if cls is not base and not live:
                    path = cls, (type(key) if type(key) is not tuple else tuple(map(type, key))), type(value)
                    assign_by = by_call.get(path) or decide(self, (x, key, value), {}, by_call, path)
                    if getattr(assign_by, "gives", None) is not cls:
                        result = assign_by(x, key, value)
                        if result is NotImplemented:
                            continue_chain(self, assign_by, (x, key, value), {}, result)
                        return
                if live or x._node is not None or foreign or not _write(base, x, key, value):
                    assign_by(x, key, value)
            except Exception as error:
                hide_frames(error, self)
                raise

        def refresh(_: object) -> None:
            nonlocal base, compiled
            base = self.protocol.types.base
            compiled = self.compiled(base)

        self.on_change[call] = refresh
        return call

    def default(self, key: Key, result: type | None) -> Callable[..., Any]:
        def assignment(*args: Any, **kwargs: Any) -> None:
            try:
                assign(self, *args, **kwargs)
            except TypeError:
                self.check_call(args, kwargs)
                raise

        if key[0] is result and not result.is_tracer:
            assignment.gives = result  # type: ignore[attr-defined]  # which short paths know it by
        return assignment


def _write(base: type, x: Any, key: Any, value: Any) -> bool:
    """Write what needs no conversion into a tensor outside the graph; whether it could be done."""
    memory = x._memory
    if memory is None:
        memory = memory_of(x)
    elif not is_alone(x) and in_graph(x):
        return False
    new_elements, cls = value, type(x)
    if type(value) in (base, cls) and value._node is None:
        new_elements = value.array
    raw = key
    if type(key) is cls:
        raw = key.array
    elif type(key) not in SELECTING and not _is_basic(key):
        raw = _raw_selection(cls, key)
    if raw is None or type(new_elements) not in NUMBERS:
        return False
    counter = memory._version or memory  # as `version` gives, in less time
    if counter.watchers is not None:
        counter.tell_watchers()
    try:
        x.array[raw] = new_elements
    except BACKEND_ERRORS:  # said where it is done again
        return False
    counter.changes += 1
    return True


def assign(operation: Assignment, x: Any, key: Any, value: Any, /) -> None:
    """Assign to elements of a tensor, as `setitem` does by default."""
    if in_graph(x, value):
        check_may_change("setitem", x)
        source = wrap_array(type(x), x.array, vertex_of(x))
        write_back("setitem", x, index_put(source, key, value))
        return
    check_writeable("setitem", x)
    raw = _raw_key(key)
    new = value
    if isinstance(value, Storage):
        new = value.array
    if advice := advice_for_subclass(type(new)):
        raise ForeignArgumentError("dispatchkit.setitem", "value", type(new).__name__, advice)
    a = x.array
    xp: Any = numpy_namespace
    if foreign:
        new = as_python(new)
        parts = key
        if not isinstance(key, tuple):
            parts = (key,)
        xp = common_library("dispatchkit.setitem", (x, value, *(part for part in parts if type(part) is not ndarray)))
        # NumPy takes the values of other libraries itself.
        if type(a) is ndarray:
            xp = numpy_namespace
        raw = own_index(xp, raw)
    counter = memory_of(x).version
    if counter.watchers is not None:
        counter.tell_watchers()
    try:
        put_elements(x, xp, raw, new)
        counter.changes += 1
    except ValueError as error:
        raise ValueError(
            f"setitem: a value of shape {getattr(new, 'shape', ())} does not broadcast to the selected elements, of "
            f"shape {raw_array(xp.getitem(a, raw)).shape}"
        ) from error
    except BACKEND_ERRORS as error:
        raise_with_context(operation, error, (x, key, value), {})
    except BaseException:  # an interrupt, before which it may have been written
        counter.changes += 1
        raise


def _raw_key(key: Any) -> Any:
    if isinstance(key, tuple):
        return tuple(_raw_key(part) for part in key)
    if isinstance(key, Storage):
        return key.array
    return key


@assignment(operator="__setitem__", differentiable=False, decomposes=False, record=Assignment)
def setitem(xp: Namespace, x: Array, key: Index, value: Array, /) -> None:
    """Assign to elements in place: ``x[key] = value``.

    Parameters
    ----------
    x : array of shape (...), which is changed
    key : what to assign to, as in ``x[key]``
    value : array that broadcasts to the shape of ``x[key]``, or a scalar

    Raises
    ------
    IndexError : if an index is out of range
    ValueError : if `value` does not broadcast to the selected elements
    AutogradError : if `x` is a leaf that requires a gradient, or a view of one or its base

    Notes
    -----
    Gradients flow to `value` and to the elements of `x` that stay. Source: array API standard, "Indexing".

    Examples
    --------
    >>> x = dk.zeros(3)
    >>> x[1] = 5.0
    >>> x
    tensor([0., 5., 0.])
    """
    raise AssertionError("assignment has its own implementation")
