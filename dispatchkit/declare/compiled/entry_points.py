"""The public functions of operations: plain tensors at once, all else by the table of who answers.

There are four forms of them: of one or two arrays alone, of one array with parameters, of a sequence of arrays with
parameters, and of several arrays or none with parameters. A call that a form does not compute itself goes by the table
or, with its arguments as they came, to the general function of the protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from dispatchkit.backends.arrays import in_own_graph, namespace_of
from dispatchkit.declare.call_errors import NUMBERS, check_numbers
from dispatchkit.declare.compiled.template import (
    NAMED,
    ONLY,
    STAR,
    Function,
    SpelledOut,
    can_be_spelled,
    compiled_later,
    compute_lines,
    fill_template,
    indent,
    passed_arguments,
    recompile,
    recorder,
    tuple_of,
    unpack_lines,
)
from dispatchkit.declare.kernels import ByKernel, has_own_flow
from dispatchkit.declare.operation import AROUND, DeclaredOperation
from dispatchkit.declare.outputs import is_held
from dispatchkit.declare.random_state import drawer
from dispatchkit.declare.wrapping import taking_nothing, wrap_array
from dispatchkit.graph.recording import is_grad_enabled
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.callers import continue_chain, decide
from dispatchkit.protocol.kinds import CreationKind, kinds
from dispatchkit.protocol.modes import ask_modes, current, is_asked, wait_again
from dispatchkit.protocol.observers import live
from dispatchkit.protocol.parameters import Form

Source = Callable[[DeclaredOperation, SpelledOut], list[str]]

ENTRY = """
def call(<taken>):
    try:
        <body>
    except Exception as _error:
        _hide_frames(_error, _operation)
        raise
"""
BY_TABLE = """
try:
    _first = <found>
except KeyError:
    <?reflected>if _operation.protocol.types.leaves(type(<last>), _reflected):
    <?reflected>    return NotImplemented
    _first = _decide(_operation, <arguments>, _table, <types>)
<answer>
if _result is NotImplemented or _result is None:
    return _continue_chain(_operation, _first, <arguments>, _result)
return _result
"""
# Of one or two arrays and nothing else.
PLAIN = f"""
if _live and (_answer := _ask_modes(_operation, <arguments>)) is not NotImplemented:
    return _answer
_type = type(<first>)
<?computes>if _type is _cls<alike> and not _foreign:
<?computes>    <compute>
{BY_TABLE.strip()}
"""
# Of an array, or of a sequence of arrays, given first, with parameters.
LEADING = f"""
if _live and _is_asked(_operation):
    return _ask(<given>)
<find>
<?single>_type = type(<first>)
<?single>_to = _cls if _type is _cls else isinstance(<first>, _Storage) and getattr(_table.get(_type), 'gives', None)
<?single>if _to and <fits>:
<?single>    _array = <first>.array
<?sequence>_type = _type_of_members(<first>)
<?sequence>_to = _cls if _type is _cls else getattr(_table.get(_type), 'gives', None)
<?sequence>if _to and <fits> and (_array := _arrays_of(<first>)):
    <compute>
if <wrong>:
    return _rest(<given>)
<gather>
{BY_TABLE.strip()}
"""
# Of several arrays, or of none, with parameters, outside the graph or by a kernel that says how gradients flow. Beside
# plain tensors there may be others: instances of subclasses alone (1), which are taken as plain tensors where what
# computes those is known to answer for these very types, or anything else (2).
SEVERAL = """
<?returns_itself>if <left_out> and not (_live or _star or _unknown):
<?returns_itself>    if type(<value>) is _cls:
<?returns_itself>        return <value>
<?returns_itself>    if type(<value>) in _foreign and not _in_own_graph(<value>):
<?returns_itself>        _namespace_of(<value>)
<?returns_itself>        return _wrap_array(_cls, <value>)
if _live and _is_asked(_operation):
    return _ask(<given>)
if <apart>:
    return _rest(<given>)
<?kept>_others, _tracked, _to = 0, False, _cls
<find>
<?kept>if _others or _tracked or _foreign:
<?rules>    if _tracked and _is_grad_enabled():
<?rules>        _others = 2
<?kept>    if _others == 1 and (_to := getattr(_operation.decisions.get(<key>), 'gives', None)):
<?kept>        _others = 0
<?kept>        <take>
<?flows>    if _tracked and not _others and _is_grad_enabled():
<?flows>        _y = _by_kernel(_to, <leaves>, <args>, <keywords>)
<?flows>        if _y is not NotImplemented:
<?flows>            return _y
<?flows>        _others = 2
<?kept>    if _others or _foreign:
<?kept>        try:
<?kept>            _first = _operation.decisions[<key>]
<?kept>        except KeyError:
<?kept>            return _rest(<given>)
<?kept>        <gather>
<?kept>        _result = _first(<passed>)
<?kept>        if _result is NotImplemented or _result is None:
<?kept>            return _continue_chain(_operation, _first, <arguments>, _result)
<?kept>        return _result
<compute>
"""
CHECK = "    _check_numbers(_operation, _r, None)"


def _arrays_of(tensors: Sequence[Any]) -> list[Any] | None:
    """Return the arrays of some tensors that nothing records; None of anything else."""
    recorded = is_grad_enabled()
    arrays = []
    for x in tensors:
        if not isinstance(x, Storage) or (recorded and x._node is not None):
            return None
        arrays.append(x.array)
    return arrays


def _type_of_members(tensors: Any) -> type | tuple[type, ...] | None:
    """Return the one type of the members of a list or tuple; the types, in order, where there are several.

    Where there is none, who answers is decided each time.
    """
    if type(tensors) is not list and type(tensors) is not tuple:
        return None
    cls = None
    for x in tensors:  # takes half the time of a set of the types
        if type(x) is not cls:
            if cls is not None:
                return tuple(dict.fromkeys(map(type, tensors)))
            cls = type(x)
    return cls


NAMES: Mapping[str, Any] = {
    "_NUMBERS": NUMBERS,
    "_arrays_of": _arrays_of,
    "_ask_modes": ask_modes,
    "_continue_chain": continue_chain,
    "_check_numbers": check_numbers,
    "_decide": decide,
    "_drawer": drawer.get,
    "_passed_arguments": passed_arguments,
    "_is_asked": is_asked,
    "_is_grad_enabled": is_grad_enabled,
    "_in_own_graph": in_own_graph,
    "_is_held": is_held,
    "_live": live,
    "_namespace_of": namespace_of,
    "_taking_nothing": taking_nothing,
    "_type_of_members": _type_of_members,
    "_wrap_array": wrap_array,
}


def entry_point(operation: DeclaredOperation, *, returns_itself: bool = False) -> Function:
    """Return the public function of an operation.

    Parameters
    ----------
    operation : to compute
    returns_itself : whether a tensor of which nothing is asked is given back itself
    """
    if not (operation.implementation.trusted or can_be_spelled(operation.parameters)):
        return operation.make_general()
    return _make(operation, partial(_form, returns_itself=True) if returns_itself else _form)


def _form(operation: DeclaredOperation, *, returns_itself: bool = False) -> tuple[Source, dict[str, Any]]:
    """Return what writes the text of a public function, and names in it."""
    parameters = operation.parameters
    if operation.implementation.arrays_only:
        return _plain, {}
    general = operation.make_general()

    def ask(*pieces: Any) -> Any:
        args, kwargs = passed_arguments(*pieces)
        # Observers alone are asked here; a mode that declined would be asked again.
        if current() is None and (answer := ask_modes(operation, args, kwargs)) is not NotImplemented:
            return answer
        return general(*args, **kwargs)

    def rest(*pieces: Any) -> Any:
        args, kwargs = passed_arguments(*pieces)
        if live:
            wait_again(operation)
        return general(*args, **kwargs)

    if parameters.gathering or (parameters.leading and not isinstance(operation.kind, CreationKind)):
        return _leading, {"_ask": ask, "_rest": rest}
    return partial(_several, returns_itself=returns_itself), {"_ask": ask, "_rest": rest}


def operator_entry_point(operation: DeclaredOperation, reflected: str) -> Function:
    """Return the method behind the operator of an operation of two arrays.

    Parameters
    ----------
    operation : to compute
    reflected : the method that Python asks next
    """
    return _make(operation, lambda _: (partial(_plain, reflected=True), {"_reflected": reflected}))


def _make(operation: DeclaredOperation, form: Callable[[DeclaredOperation], tuple[Source, dict[str, Any]]]) -> Function:
    """Return a function that is compiled at its first call, and anew once rules or base type have changed."""
    function = compiled_later(_text, _operation=operation, _form=form)
    operation.on_change[function] = recompile
    return function


def _text(known: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    operation: DeclaredOperation = known["_operation"]
    source, names = known["_form"](operation)
    spelled = SpelledOut(operation)
    names_of_function = {
        **NAMES,
        **spelled.names,
        "_cls": operation.protocol.types.base,
        "_by_kernel": ByKernel(operation.derivative, operation).record,
        "_compute": operation.implementation.on_numpy,
        "_record": recorder(operation, [True] * len(operation.parameters.arrays)),
        "_table": operation.table,
        "_kernel": operation.implementation.kernel,
        **names,
    }
    return "\n".join(source(operation, spelled)), names_of_function


def _entry(taken: str, template: str, **parts: object) -> list[str]:
    return fill_template(ENTRY, taken=taken, body=fill_template(template, **parts))


def _plain(operation: DeclaredOperation, spelled: SpelledOut, *, reflected: bool = False) -> list[str]:
    """Return the text of a function of one or two arrays."""
    values, (first, *others) = spelled.values, spelled.values
    call, types = ", ".join(values), [f"type({x})" for x in others]
    arguments = f"{tuple_of(values)}, {{}}"
    flows = " or ".join(f"{x}._node is not None" for x in values)
    record = []
    if operation.differentiable:
        record = [f"if {flows}:", f"    _y._node = _record(_r, {call})"]
    return _entry(
        f"{call}, /",
        PLAIN,
        arguments=arguments,
        first=first,
        last=values[-1],
        computes=not (operation.composite or operation.several),
        alike="".join(f" and {cls} is _type" for cls in types),
        compute=compute_lines([f"_r = _kernel({', '.join(f'{x}.array' for x in values)})"], arguments, record=record),
        found="_table[_type]" + "".join(f"[{cls}]" for cls in types),
        reflected=reflected,
        types=", ".join(["_type", *types]),
        answer=[f"_result = _first({call})"],
    )


def _leading(operation: DeclaredOperation, spelled: SpelledOut) -> list[str]:
    """Return the text of a function of an array, or of a sequence of arrays, given first, with parameters."""
    (first, *values), others = spelled.values, spelled.parameters[1:]
    sequence = spelled.forms[spelled.parameters[0].name] is Form.SEQUENCE
    beyond = ["_unknown", *([] if spelled.spread else ["_star"])]
    needed = [x for x, p in zip(values, others, strict=True) if p.default is p.empty and p.kind is not STAR]
    more = ""
    if spelled.positional[1:] or spelled.spread:
        more = ", *_args"
    arguments = f"({first}{more or ','}), _unknown"
    fits = ["not _foreign", *(f"not {x}" for x in beyond), *(f"{x} is not _MISSING" for x in needed)]
    compute = [f"_r = _compute({spelled.passed_on('_array')})"]
    if not needed and not sequence:
        left_out = [f"{x} is _MISSING" if x != "_star" else "not _star" for x in values]
        whole = "_r = _kernel(_array)"
        if values:
            compute = [f"if {' and '.join(left_out)}:", f"    {whole}", "else:", f"    {compute[0]}"]
        else:
            compute = [whole]
    record: list[str] = []
    cls, finish = "_to", _finish_lines(f"tuple({first})" if sequence else f"({first},)")
    if sequence:
        flows, same, share = "False", "_is_held(_r, _array)", f"_note_sharing(_y, {first})"
    else:
        flows, same, share = f"{first}._node is not None", "_r is _array", f"_note_view(_y, {first})"
        if operation.composite:
            fits += [f"{first}._node is None", *map(spelled.untracked_condition, others)]
        elif has_own_flow(operation):
            fits += [f"{first}._node is None"]
        elif operation.differentiable:
            node = [*spelled.gather_lines(), f"_y._node = _record(_r, {first}, _args, _unknown)"]
            record = [f"if {flows}:", *indent(node)]
    return _entry(
        spelled.taken,
        LEADING,
        given=spelled.given,
        first=first,
        single=not sequence,
        sequence=sequence,
        find=[line for p in others for line in spelled.either(p, f"return _rest({spelled.given})")],
        fits=" and ".join(fits),
        compute=compute_lines(
            compute,
            f"*_passed_arguments({spelled.given})",
            check=spelled.check(),
            unpack=unpack_lines(f"({first},)", arguments, flows, spelled.gather_lines(), cls=cls),
            record=record,
            same=[same],
            share=share,
            finish=finish,
            cls=cls,
        ),
        wrong=" or ".join([*beyond, *(f"{x} is _MISSING" for x in (first, *needed))]),
        gather=spelled.gather_lines(),
        found="_table[_type]",
        reflected=False,
        arguments=arguments,
        types="*([] if _type is None else [_type])" if sequence else "_type",
        answer=_answer_lines(first, more),
    )


def _finish_lines(tensors: str) -> list[str]:
    """Return the lines that give a result of a subclass the tensors that it comes from."""
    condition = "if _to is not _cls and _to not in _taking_nothing:"
    return [condition, f"    _to.__tensor_finalize__(_y, _operation.function, {tensors})"]


def _answer_lines(first: str, more: str) -> list[str]:
    """Return the lines that call who answers: without keywords no dictionary of them is made, which takes as long."""
    lines = [f"_result = _first({first})"]
    if more:
        lines = ["if _args:", f"    _result = _first({first}{more})", "else:", *indent(lines)]
    return ["if _unknown:", f"    _result = _first({first}{more}, **_unknown)", "else:", *indent(lines)]


def _several(operation: DeclaredOperation, spelled: SpelledOut, *, returns_itself: bool) -> list[str]:
    """Return the text of a function of several arrays, or of none, with parameters, outside the graph."""
    rest = f"return _rest({spelled.given})"
    arrays = [p for p in spelled.parameters if p.name in spelled.forms]
    # Each array decides by its type alone, so that who answered is found without asking what holds several.
    kept = set(spelled.forms.values()) == {Form.ONE} and not spelled.spread and operation.kind is not kinds.random
    flows = kept and has_own_flow(operation)
    cls = "_cls"
    if kept:
        cls = "_to"
    apart = ["_unknown", *([] if kept else ["_foreign"]), *([] if spelled.spread else ["_star"])]
    if operation.kind is kinds.random:
        apart += ["_drawer() is not None"]
    apart += [f"{name} is not _MISSING" for name in AROUND if name in spelled.named]
    sources = tuple_of(["*_star" if p.kind is STAR else spelled.value_of(p) for p in arrays])
    tensors = f"[_one for _one in {sources} if isinstance(_one, _Storage)]"
    same = []
    for p in arrays:
        if p.kind is STAR:
            same.append(f"_is_held(_r, _array_{p.name})")
        else:
            same.append(f"_r is _array_{p.name}")
    if arrays:
        check = spelled.check()
    else:
        check = ["if type(_r) is _ndarray and _r.dtype.kind not in _NUMBERS:", CHECK]
    value = ""
    if spelled.values:
        value = spelled.values[0]
    gather, passed, arguments = spelled.gather_lines(), f"{value}, *_args, **_unknown", f"({value}, *_args), _unknown"
    if not spelled.parameters or spelled.parameters[0].kind is not ONLY:
        # The first may be given by its name, as the others.
        gather = [f"_args, _unknown = _passed_arguments({spelled.given})"]
        passed, arguments = "*_args, **_unknown", "_args, _unknown"
    if returns_itself:
        check += [f"if {same[0]} and _r is not {value}:", f"    return {value}"]
    return _entry(
        spelled.taken,
        SEVERAL,
        returns_itself=returns_itself,
        value=value,
        left_out=" and ".join(f"{name} is _MISSING" for name in spelled.named) or "True",
        given=spelled.given,
        apart=" or ".join(apart),
        find=[
            line
            for p in spelled.parameters
            for line in (*spelled.either(p, rest), *spelled.looked_at(p, rest, noted=kept))
        ],
        kept=kept,
        take=[line for p in arrays for line in spelled.taken_as_plain(p)] if kept else [],
        gather=gather,
        key=tuple_of([f"type({spelled.leaf(p)})" for p in arrays]),
        passed=passed,
        arguments=arguments,
        flows=flows,
        rules=kept and not flows,
        leaves=tuple_of([spelled.leaf(p) for p in arrays]),
        args=tuple_of([spelled.leaf(p) for p in spelled.parameters if p.kind is not NAMED]),
        keywords=f"{{{', '.join(f'{p.name!r}: {spelled.leaf(p)}' for p in spelled.parameters if p.kind is NAMED)}}}",
        compute=compute_lines(
            [f"_r = _compute({spelled.passed_on()})"],
            f"*_passed_arguments({spelled.given})",
            check=check,
            unpack=unpack_lines(tensors, "(), {}", "False", cls=cls),
            same=same,
            share=f"_note_sharing(_y, {sources})" if arrays else "",
            finish=_finish_lines(f"(*{tensors},)") if kept else [],
            cls=cls,
        ),
    )
