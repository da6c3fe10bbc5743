"""Modules of dispatchkit, compiled as they stand; dispatchkit loads them itself where this package is installed."""

from __future__ import annotations

import os
import re
import sys
import zlib
from collections.abc import Sequence
from functools import cache, partial
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec
from importlib.util import spec_from_file_location
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from dispatchkit_accelerator.built import FOLLOWED, MODULES, VERSION

__all__ = [
    "MODULES",
    "__version__",
    "asking",
    "attach",
    "by_pointer",
    "first",
    "flows",
    "indexer",
    "install",
    "reducer",
    "rows",
    "spelled",
]
__version__ = VERSION

FOLDER = os.path.dirname(__file__)
ENTRY, LOOPS, ROWS = "_entry", "_loops", "_rows"
# Python 3.11 runs a function that another one calls by its code alone, whatever pointer calls of it go through.
INLINED = sys.version_info < (3, 12)
# Where the body of a public function of one or two arrays, and nothing else, begins.
BODY = re.compile(r"^def call\((\w+(?:, \w+)?), /\):\n    try:\n")

# Where a public function asks who answers calls of the types of its one array, or of both; and where it leaves a call
# to the general one, of an array with parameters that may all be left out.
BY_TYPES = re.compile(r"^ *_first = _table\[_type\](\[type\(\w+\)\])?$", re.MULTILINE)
TYPE = re.compile(r"^ *_type = type\(\w+\)$", re.MULTILINE)
LEFT = re.compile(r"^ *if _unknown or _star or \w+ is _MISSING:$", re.MULTILINE)

# Where a public function of one array takes that of a plain tensor, and where it makes a tensor of the result.
FIRST_ARRAY = re.compile(r"^ *_array = (\w+)\.array$", re.MULTILINE)
RESULT = re.compile(r"^( *)_y = _new\(_to\)\n", re.MULTILINE)

# Where a public function has the node of a call with parameters made.
RECORDED = re.compile(r"\b_record\((?=_r, [^()\n]*\b(?:_unknown|_keywords)\))")


def install(package: str, version: str) -> str:
    """Have the compiled modules loaded when dispatchkit imports them.

    Parameters
    ----------
    package, version : folder and version of dispatchkit

    Returns
    -------
    why they cannot be, "" where they will be
    """
    if version != VERSION:
        return f"it is of version {VERSION}; run pip install dispatchkit-accelerator=={version}"
    if any(_file_of(module) is None for module in (ENTRY, LOOPS, ROWS, *MODULES)):
        python = ".".join(map(str, sys.version_info[:2]))
        return f"it was built for another Python than {python} of this machine; install it again, by this Python's pip"
    for module, checksum in FOLLOWED.items():
        try:
            with open(_source_of(module, package), "rb") as file:
                same = zlib.crc32(file.read()) == checksum
        except OSError:
            same = False
        if not same:
            return f"{module} is not as it was when the accelerator was built; build the accelerator again"
    entry = import_module(f"{__name__}.{ENTRY}")
    globals().update({name: getattr(entry, name) for name in ("advance", "passed_on", "reach")})
    sys.meta_path.insert(0, _Finder(package))
    return ""


def asking(text: str, names: dict[str, Any]) -> str:
    """Return the text of a function as it is to be compiled.

    Where Python would not go through the compiled entry point, a public function of arrays alone asks first what makes
    its calls there.

    Parameters
    ----------
    text : that `dispatchkit.declare.compiled` compiles a function from
    names : of the function
    """
    text = _recording_at_once(_wrapping_at_once(text, names), names)
    names["_asked_by_types"] = _asked_by_types(text)
    if not INLINED or "_live" not in names or "_reflected" in names or BODY.match(text) is None:
        return text
    members = _members(names) or _members_to_ask(names)
    if members is None:
        return text
    names["_caller"], names["_left"] = _started().caller((None, *members)), _started().left
    return BODY.sub(r"\g<0>        if (_y := _caller(\1)) is not _left:\n            return _y\n", text)


def _asked_by_types(text: str) -> int:
    """Return how many arrays, and nothing else, a call has of which a public function finds who answers; or 0."""
    asked = BY_TYPES.search(text)
    if asked is None or TYPE.search(text) is None or ("**_unknown" in text and LEFT.search(text) is None):
        return 0
    return 1 if asked[1] is None else 2


def _wrapping_at_once(text: str, names: dict[str, Any]) -> str:
    """Return the text of a function of one plain tensor that has its result wrapped here, outside the graph."""
    first = FIRST_ARRAY.search(text)
    if first is None:
        return text
    names["_wrapped"], names["_note_view"] = _wrapper()
    x = first[1]
    plain = f"type(_r) is _ndarray and {x}._node is None and (_to is _cls or _to in _taking_nothing)"
    return RESULT.sub(rf"\1if {plain}:\n\1    return _wrapped(_r, {x}, _to)\n\g<0>", text)


def _recording_at_once(text: str, names: dict[str, Any]) -> str:
    """Return the text of a function with parameters that has the nodes of its calls made here."""
    record = names.get("_record")
    if type(record) is not FunctionType or RECORDED.search(text) is None:
        return text
    names["_noted"] = _started().noter(record)
    return RECORDED.sub("_noted(", text)


@cache
def _wrapper() -> Any:
    """Return what makes tensors of results of one plain tensor, and what notes which of them are views."""
    storage, outputs = (sys.modules[f"dispatchkit.{name}"] for name in ("graph.storage", "declare.outputs"))
    return _started().wrapper(storage.share_memory, outputs.note_view)


def attach(function: FunctionType, code: CodeType) -> None:
    """Let calls of a function go through the compiled entry point, if it computes arrays alone by a function of NumPy.

    Parameters
    ----------
    function : compiled by `dispatchkit.declare.compiled`; its names say what it computes, or notes
    code : that the function is about to get; with any other, the entry point leaves it to Python
    """
    names = function.__globals__
    if "_tensors" in names:
        _say_what_is_noted(names, code, names["_plan_of_rules"], names["_tensors"])
        return
    members = _members(names) or _members_to_ask(names)
    if members is not None:
        _started().attach(function, (code, *members))


def by_pointer(function: Any) -> Any:
    """Return a function that is called by its pointer, also by Python 3.11."""
    if INLINED:
        return partial(function)
    return function


def flows(plain: frozenset[type], saved: type, snapshot: Any) -> Any:
    """Return what makes calls by kernels that say how gradients flow, and the nodes of these.

    It gives what the kernel gave for what Python is to go on with, and None for what Python is to call.

    Parameters
    ----------
    plain : types of which nothing holds arrays
    saved : class of what nodes keep of a call
    snapshot : notes the versions of what a node keeps
    """
    return _started().flows((plain, saved, snapshot))


def indexer(members: tuple[Any, ...], *, writes: bool) -> Any:
    """Return what reads elements of tensors by an index, or writes them, and gives None for what it leaves to Python.

    Parameters
    ----------
    members : the class of plain tensors; the answers by types; what is live; the libraries beside NumPy; what notes
        that memory is shared; what goes on after an answer that declined, called with the answer, its result and the
        arguments; the public function, which instances of subclasses are told of; the classes that take over nothing;
        the derivative, where nodes keep the index alone, and what says whether they are recorded
    writes : whether it writes
    """
    return _started().indexer(members, writes)


def reducer(function: Any) -> Any:
    """Return the reduction of a universal function, called as NumPy's, which computes small arrays by its loop.

    NumPy begins with the first element, or with zero: what gives the same bits is taken, and NumPy's own where neither
    does.
    """
    entry = import_module(f"{__name__}.{ENTRY}")
    known = [np.full((1,), -0.0), np.reciprocal(np.arange(2.0, 402.0)).reshape(20, 20), np.full((3, 3), -0.0)]
    known += [array.astype(np.float32) for array in known]
    for from_first in (True, False):
        reduce = entry.reducer(function, from_first)
        calls = [(array, axis) for array in known for axis in (None, 0, -1)]
        if all(reduce(*call).tobytes() == function.reduce(*call).tobytes() for call in calls):
            return reduce
    return function.reduce


def first(loop: str, function: Any) -> Any:
    """Return what computes by a loop over arrays first, and by a function of Python what the loop does not take."""
    loops = _started_loops()
    return function if loops is None else loops.first(loop, function)


@cache
def _started_loops() -> Any:
    """Return the loops, None where NumPy's exponential function is none that they can go through."""
    loops = import_module(f"{__name__}.{LOOPS}")
    return loops if loops.start(np.exp, np.tanh) else None


def rows() -> ModuleType:
    """Return what computes norms, softmax and cross entropy of NumPy's arrays, and gives None for what it leaves."""
    return import_module(f"{__name__}.{ROWS}")


def spelled(members: tuple[Any, ...]) -> Any:
    """Return what carries out calls by what is known of their types, given the first argument, the rest and a dict.

    From Python 3.12 on the function itself goes through it, and None is returned.

    Parameters
    ----------
    members : as `_spelled.h` names them; the last one is the function
    """
    if INLINED:
        return _started().speller(members)
    _started().spell(members)
    return None


def _members(names: dict[str, Any]) -> tuple[Any, ...] | None:
    """Return what the entry point is to know of a function, None of one that it does not compute."""
    operation, kernel, record = (names.get(name) for name in ("_operation", "_kernel", "_record"))
    # Only texts of calls record them; those of subclasses finalize their results.
    if record is None or kernel is None or names.get("_finalize") is not None:
        return None
    # What others than NumPy and the library compute by might not bear a second call, where the first one raised.
    if not (type(kernel) is np.ufunc or operation.implementation.trusted):
        return None
    if not operation.implementation.arrays_only or operation.composite or operation.several:
        return None
    return _plan(names, kernel, record if operation.differentiable else None, operation.parameters.positional)


def _members_to_ask(names: dict[str, Any]) -> tuple[Any, ...] | None:
    """Return what the entry point is to know of a function that only asks there who answers; None of any other."""
    asked = names.get("_asked_by_types")
    return _plan(names, None, None, asked) if asked else None


def _plan(names: dict[str, Any], kernel: Any, record: Any, count: int) -> tuple[Any, ...]:
    """Return the members of a plan, in their order."""
    asks = names.get("_asked_by_types") == count
    return (
        names["_cls"],
        kernel,
        names.get("_table", _NO_TABLE),
        names.get("_live", _NEVER_LIVE),
        names["_foreign"],
        record,
        names["_raw_array"],
        count,
        *((names["_operation"], names["_continue_chain"], names["_hide_frames"]) if asks else (None, None, None)),
    )


def _say_what_is_noted(names: dict[str, Any], code: CodeType, rules: Any, tensors: Sequence[bool]) -> None:
    """Leave a plan with a function that makes nodes: which arguments are tensors, and which rules read each of them."""
    places = [i for i, tensor in enumerate(tensors) if tensor]
    readers = tuple(sum(1 << j for j in places if rules.reads[j][i]) for i in range(len(tensors)))
    mask = sum(1 << i for i in places)
    node = names["_CallNode" if "_rest" in code.co_varnames else "_Node"]
    operation, enabled, snapshot = (names[name] for name in ("_operation", "_is_grad_enabled", "_snapshot_versions"))
    of_rules = (rules.keeps_output, mask, readers, snapshot, rules.saves_specs)
    names["_plan"] = (code, node, operation, enabled, *of_rules, names["_edges"])


@cache
def _started() -> Any:
    """Return the entry point, which knows what it needs of the library."""
    entry = import_module(f"{__name__}.{ENTRY}")
    storage, node, sweep = (sys.modules[f"dispatchkit.graph.{name}"] for name in ("storage", "node", "sweep"))
    derivative = sys.modules["dispatchkit.declare.derivative"].Derivative
    any_function = _file_of
    classes = (
        *(storage.Storage, np.ndarray, np.ufunc, node.Node, node.CallNode, node.Leaf, storage.VertexExtras),
        *(sys.modules["dispatchkit.backends.arrays"].Spec, derivative, storage.Memory),
    )
    entry.start(any_function, sweep._deposit, np.add, *classes)
    return entry


_NO_TABLE: dict[type, object] = {}
_NEVER_LIVE: set[object] = set()


class _Finder:
    """Finds the compiled modules under the names of those that they were compiled from.

    Parameters
    ----------
    package : folder of dispatchkit
    """

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a module is loaded from, None for one that is not compiled."""
        file = _file_of(fullname) if fullname in MODULES else None
        if file is None:
            return None
        return spec_from_file_location(fullname, file, loader=_Loader(fullname, file, self.package))


class _Loader(ExtensionFileLoader):
    """Loads a compiled module, which says that its file is the source, as what it compiles at run time is of that."""

    def __init__(self, name: str, path: str, package: str) -> None:
        super().__init__(name, path)
        self.source = _source_of(name, package)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module."""
        module.__file__ = self.source
        super().exec_module(module)


def _source_of(module: str, package: str) -> str:
    """Return the file that a module was compiled from."""
    return os.path.join(package, *module.split(".")[1:]) + ".py"


def _file_of(module: str) -> str | None:
    """Return the file of a compiled module, None where there is none for this Python."""
    files = [os.path.join(FOLDER, module + suffix) for suffix in EXTENSION_SUFFIXES]
    return next((file for file in files if os.path.isfile(file)), None)
