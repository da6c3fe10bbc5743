"""The declaration form: one decorated body makes the function, the operators, the methods and the aliases.

::

    @exponential
    def log(xp, x, /):
        '''Natural logarithm of each element.'''
        return xp.log(x)

    @log.def_partial
    def log_partial(x):
        return 1 / x
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from inspect import Parameter, Signature
from types import MethodType
from typing import Any, Concatenate, ParamSpec, TypedDict, TypeVar, Unpack, overload

from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.declare.axes import Axes
from dispatchkit.declare.compiled.default_implementations import default_implementation
from dispatchkit.declare.compiled.entry_points import entry_point, operator_entry_point
from dispatchkit.declare.defining import DEFINING, store
from dispatchkit.declare.docs import Gives, compose_docstring
from dispatchkit.declare.kernels import define_kernel
from dispatchkit.declare.namespace import enter
from dispatchkit.declare.operation import LEAF, LIKE, Compiler, DeclaredOperation, OperationOptions
from dispatchkit.declare.samples import Content, Sample
from dispatchkit.declare.typing import Creation, CreationDeclarer, Operation
from dispatchkit.errors import RegistrationError
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import CreationKind, Kind, kinds
from dispatchkit.protocol.operations import check_operands
from dispatchkit.protocol.parameters import Form, LaterSignature, Parameters, signature_of
from dispatchkit.protocol.registration.annotations import alternatives, is_sequence, known_hint, resolved_hints
from dispatchkit.signatures import annotations_of, module_of
from dispatchkit.versions import is_newer

INSTEAD = "name the array parameters instead: operation(arrays=('x', ...))"
# The first that a union allows: it takes what the others take, too.
WIDEST = (Form.INDEX, Form.LOOSE, Form.SEQUENCE, Form.ONE)


def array_forms(body: Callable[..., Any], signature: Signature, arrays: Collection[str] | None) -> dict[str, Form]:
    """Return the array parameters of a body and what they take.

    Parameters
    ----------
    body : of the operation
    signature : of its public function
    arrays : names of the array parameters; by default those that are annotated with arrays, and those without an
        annotation that are positional-only

    Raises
    ------
    RegistrationError : if an annotation cannot be resolved, or there is no parameter of a name
    """
    parameters = signature.parameters
    unknown = [name for name in arrays or () if name not in parameters]
    if unknown:
        raise RegistrationError(
            f"operation: {body.__name__} has no parameter '{unknown[0]}'; it has {', '.join(parameters) or 'none'}"
        )
    if arrays is not None:
        asked = [(name, p) for name, p in parameters.items() if name in arrays]
        return {name: _form_of_parameter(p, _hint(body, name)) or Form.ONE for name, p in asked}
    named = [name for name, p in parameters.items() if p.kind is not p.KEYWORD_ONLY]
    hints = resolved_hints(body, named, INSTEAD) | {
        name: _hint(body, name) for name, p in parameters.items() if p.kind is p.KEYWORD_ONLY
    }
    forms = {name: _form_of_parameter(p, hints.get(name, Any)) for name, p in parameters.items()}
    return {name: form for name, form in forms.items() if form is not None}


def _hint(body: Callable[..., Any], name: str) -> Any:
    """Return one annotation as an object, Any where it is left out, ``...`` where it cannot be resolved."""
    return known_hint(body, name, ...)


def _form_of_parameter(p: Parameter, hint: Any) -> Form | None:
    if hint is Any:
        form = None
        if p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL):
            form = Form.ONE
    else:
        form = _form_of(hint)
    if form is not None and p.kind is p.VAR_POSITIONAL:
        return Form.STAR
    return form


def _form_of(hint: Any) -> Form | None:
    """Return which arrays a parameter of this annotation takes, None where it takes none."""
    forms = [_form_of_one(part) for part in alternatives(hint)]
    if len(forms) == 1:
        return forms[0]
    return next((form for form in WIDEST if form in forms), None)


def _form_of_one(hint: Any) -> Form | None:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return next((note for note in inner[1:] if isinstance(note, Form)), None) or _form_of(inner[0])
    if origin is not None and is_sequence(origin):
        if any(_form_of(part) is not None for part in inner):
            return Form.SEQUENCE
        return None
    cls = origin
    if origin is None:
        cls = hint
    if not isinstance(cls, type):
        return None
    if cls.__module__.startswith("numpy._typing"):
        return Form.LOOSE  # a member of `numpy.typing.ArrayLike`
    takes_part = tensor_protocol.types.participates(cls) or tensor_protocol.types.wrapped_always(cls)
    if takes_part:
        return Form.ONE
    return None


def gives_several(body: Callable[..., Any]) -> bool:
    """Return whether a body may give several arrays: whether its annotation says other than one."""
    hint = _hint(body, "return")
    return not all(part in (Any, None, type(None)) or _form_of_one(part) is Form.ONE for part in alternatives(hint))


P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Operation[..., Any])


class Options(TypedDict, total=False):
    """What the declaration of an operation of some kind may say; see `operation`."""

    arrays: Sequence[str] | None
    operator: str | None
    methods: Sequence[str]
    properties: Sequence[str]
    varargs: str | None
    differentiable: bool
    namespace: str | None
    axis: str | Axes | None
    domain: tuple[float, float]
    content: Content
    samples: Sequence[Sample] | Callable[[], Sequence[Sample]] | None
    record: type[DeclaredOperation]
    decomposes: bool
    passthrough: bool
    commutative: bool
    real: bool
    takes: str | None
    gives: Gives | None
    special: str


@overload
def operation(body: Callable[Concatenate[Any, P], R], /) -> Operation[P, R]: ...
@overload
def operation(
    *, kind: CreationKind, **options: Unpack[Options]
) -> Callable[[Callable[Concatenate[Any, P], R]], Creation[P, R]]: ...
@overload
def operation(
    *, kind: Kind = ..., **options: Unpack[Options]
) -> Callable[[Callable[Concatenate[Any, P], R]], Operation[P, R]]: ...
def operation(
    body: Callable[..., Any] | None = None,
    /,
    **options: Any,
) -> Any:
    """Declare an operation by its body.

    Parameters
    ----------
    body : takes an array namespace ``xp``, then the operation's own parameters
    kind : its family
    arrays : names of the array parameters; by default those annotated with arrays, or positional-only
    operator : name of the operator it is, such as ``"__add__"``; the reflected one follows
    methods, properties : names of the methods and the properties that call it
    varargs : a parameter that the methods also take spread out
    differentiable : whether gradients flow through it
    namespace : printed before its name; operations of this library stand in ``"dispatchkit"`` and below
    axis : name of the parameter that counts axes of the first array; ``"axis"`` in reductions, sorting and transforms
    domain, content : bounds of the elements it is smooth for, and what they are (see `Draw`), for drawn samples
    samples : valid calls, or what returns them, where arity and kind do not say them
    record : the class of its record
    decomposes : whether the body computes it by other operations
    passthrough : whether the body only calls the namespace's function of the same name; it is no decomposition
    commutative : whether its first two arrays may be exchanged, so that one rule can serve both orders
    real : whether it refuses complex numbers with a TypeError, which its body raises
    takes : what its arrays hold: ``"real numbers"``; by default numbers, or what `content` says
    gives : the dtype of an elementwise result: ``"same"``, ``"float"`` also for integers, ``"bool"``, ``"real"``
    special : special values, for the docstring: ``"NaN for negative numbers"``

    Returns
    -------
    function
        The public function; derivatives go through its body unless ``def_partial`` or the like declares a rule.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> @dk.operation(kind=dk.kinds.elementwise)
    ... def cube(xp, x, /):
    ...     return x * x * x
    >>> @cube.def_partial
    ... def cube_partial(x):
    ...     return 3 * x * x
    >>> dk.func.grad(cube)(dk.tensor(2.0))
    tensor(12.)
    """
    unknown = next((name for name in options if name not in OPTIONS), None)
    if unknown is not None:
        raise TypeError(f"operation() got an unexpected keyword argument {unknown!r}; it takes {', '.join(OPTIONS)}")
    stated = OperationOptions(**options)
    if body is None:
        return partial(_enter, stated)
    return _enter(stated, body)


OPTIONS = inspect.signature(OperationOptions).parameters
# What `inspect` and `help` read: every option by its name, with its default.
operation.__signature__ = Signature(  # type: ignore[attr-defined]
    [Parameter("body", Parameter.POSITIONAL_ONLY, default=None), *OPTIONS.values()]
)


def _enter(options: OperationOptions, fn: Callable[..., Any]) -> Any:
    """Make the record of an operation, and enter it; return the public function.

    Parameters
    ----------
    options : of the declaration
    fn : the body
    """
    place = options.namespace or module_of(fn).partition(".")[0]
    parameters = _parameters(fn, options.kind, options.arrays)
    record = options.record or DeclaredOperation
    entry = record(tensor_protocol, fn, place, parameters, options, COMPILER)
    if not entry.implementation.trusted:
        _ = entry.axes  # what is said of them is checked
        check_operands("operation", entry)
    return _publish(entry, fn)


def _restore(entry: DeclaredOperation, state: Mapping[str, Any]) -> None:
    """Fill an empty record by what another process has packed, and enter it.

    Parameters
    ----------
    entry : the record
    state : what `DeclaredOperation.packed_state` gave
    """
    options, body = state["options"], state["body"]
    # Annotations that are text cannot be read here: the names in them have stayed behind.
    parameters = Parameters(
        _public_signature(body, options.kind),
        state["forms"],
        several=state["several"],
        whole=tensor_protocol.types.participates,
    )
    entry.__init__(tensor_protocol, body, state["namespace"], parameters, options, COMPILER)  # type: ignore[misc]
    _publish(entry, body, state["function"])


def _update(entry: DeclaredOperation, state: Mapping[str, Any]) -> None:
    """Give a record the rules and kernels that another process has packed, if these are newer.

    Parameters
    ----------
    entry : the record
    state : what `DeclaredOperation.packed_state` gave
    """
    if state["changed"] is None or not is_newer(state["changed"], entry.changed):
        return
    for kind, of, rule, shapes in state["rules"]:
        if callable(rule):
            store(entry, kind, of, rule, shapes)
        else:
            entry.derivative.rules.partials[of[0]] = rule
    for library, kernel in state["kernels"].items():
        define_kernel(entry, library, *kernel)
    entry.rules_changed()
    entry.changed = state["changed"]


COMPILER = Compiler(entry_point, operator_entry_point, default_implementation, _restore, _update)


def _publish(entry: DeclaredOperation, fn: Callable[..., Any], function: Callable[..., Any] | None = None) -> Any:
    """Make the public function of a record, or take one, and enter it with its operators and methods; return it."""
    function = tensor_protocol.operations.add(entry, function)
    _describe(function, fn, entry)
    surface, options = tensor_protocol.surface, entry.options
    if entry.namespace.partition(".")[0] == "dispatchkit":
        enter(entry.qualified_name.partition(".")[2], function)
    if options.operator is not None:
        surface.add_operator(options.operator, entry)
    for name in options.methods or ():
        surface.add_method(name, entry, options.varargs)
    for name in options.properties:
        surface.add_property(name, entry)
    return function


def _parameters(fn: Callable[..., Any], kind: Kind, arrays: Sequence[str] | None) -> Parameters:
    """Return the parameters of a body's function; where that is of this library they are read at the first look."""
    if not _is_ours(fn):
        return _read(fn, kind, arrays)
    code, names = fn.__code__, fn.__code__.co_varnames
    last = code.co_argcount + code.co_kwonlyargcount
    star = names[last : last + 1] if code.co_flags & inspect.CO_VARARGS else ()
    listed = [*names[1 : code.co_argcount], *star, *names[code.co_argcount : last]]
    known = {}
    if star or code.co_posonlyargcount != last:
        known = {"unary": False, "binary": False}
    elif all(fn.__annotations__.get(name) == "Array" for name in listed):
        known = {"unary": len(listed) == 1, "binary": len(listed) == 2}
    arguments = fn, kind, arrays
    return Parameters.later(
        _read,
        arguments,
        signature=LaterSignature.by(_public_signature, fn, kind),
        listed=(*listed, *_leaf_options(kind, listed)),
        fixed=max(code.co_posonlyargcount - 1, 0),
        placed=code.co_argcount - 1,
        spread=bool(star),
        **known,
    )


def _read(fn: Callable[..., Any], kind: Kind, arrays: Sequence[str] | None) -> Parameters:
    signature, whole = _public_signature(fn, kind), tensor_protocol.types.participates
    return Parameters(signature, array_forms(fn, signature, arrays), several=gives_several(fn), whole=whole)


def _is_ours(fn: Callable[..., Any]) -> bool:
    return module_of(fn).startswith("dispatchkit.") and "<" not in fn.__qualname__


def _leaf_options(kind: Kind, listed: Sequence[str]) -> dict[str, tuple[str, Any]]:
    """Return the types and defaults of what leaves are asked for, by name.

    What is not of the form of an array `x`, and is made on a device, may be like another array.
    """
    if not isinstance(kind, CreationKind):
        return {}
    like = {}
    if "device" in listed and listed[0] != "x":
        like = {LIKE: ("Any", None)}
    return {**like, LEAF: ("bool", False)}


def _public_signature(fn: Callable[..., Any], kind: Kind) -> inspect.Signature:
    """Return the signature of a body's function: without the namespace, and with what is asked of leaves."""
    signature = signature_of(fn, "operation")
    parameters = list(signature.parameters.values())
    if not parameters or parameters[0].kind not in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD):
        raise RegistrationError(
            f"operation: the body of {fn.__name__} must take an array namespace first: def {fn.__name__}(xp, x, /)"
        )
    added = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in _leaf_options(kind, list(signature.parameters)[1:]).items()
    ]
    return signature.replace(parameters=[*parameters[1:], *added])


def _types(fn: Callable[..., Any], kind: Kind, parameters: Parameters) -> dict[str, str]:
    """Return what docstrings say of each parameter's type and default."""
    code, annotations = fn.__code__, fn.__annotations__
    places, added = code.co_varnames[: code.co_argcount], _leaf_options(kind, parameters.listed)
    star = None
    if parameters.spread:
        star = code.co_varnames[code.co_argcount + code.co_kwonlyargcount]
    defaults = dict(zip(reversed(places), reversed(fn.__defaults__ or ()), strict=False)) | (fn.__kwdefaults__ or {})
    types = {}
    for name in parameters.listed:
        annotation, default = added.get(name) or (annotations[name], defaults.get(name, Parameter.empty))
        if default is Parameter.empty:
            types[f"*{name}" if name == star else name] = annotation
        else:
            types[f"*{name}" if name == star else name] = f"{annotation}, default {default!r}"
    return types


def _describe(call: Any, fn: Callable[..., Any], entry: DeclaredOperation) -> None:
    """Give the public function of an operation its name, its docstring and what declares rules."""
    call.__name__ = fn.__name__
    call.__qualname__ = fn.__qualname__
    call.__module__ = fn.__module__
    call.__doc__ = fn.__doc__
    parameters = entry.parameters
    if fn.__doc__ and _is_ours(fn):
        types, result = _types(fn, entry.kind, parameters), fn.__annotations__["return"]
        call.__doc__ = compose_docstring(fn.__doc__, types, result, entry.kind, entry.facts, entry.qualified_name)
    call.__signature__ = parameters.signature
    annotations = annotations_of(fn)
    call.__annotations__ = {k: v for k, v in annotations.items() if k in parameters.listed or k == "return"}
    # Methods are smaller than partials. Some picklers look a method up by its name, which a record does not have.
    bind: Any = partial
    if entry.version is None:
        bind = MethodType
    for kind, declare in DEFINING.items():
        setattr(call, f"def_{kind}", bind(declare, entry))


def body_on_numpy(function: Operation[P, R]) -> Callable[..., Any]:
    """Return what computes NumPy arrays by the body, for a fast path that leaves some calls to it."""
    return partial(tensor_protocol.operation(function).source, numpy_namespace)


def alias(name: str, function: F, *, method: bool = True) -> F:
    """Enter a further name for an operation: the same object.

    Parameters
    ----------
    name : the alias
    function : the operation
    method : whether there is a method of that name, too
    """
    entry = tensor_protocol.operation(function)
    enter(".".join([*entry.namespace.split(".")[1:], name]), function)
    if method:
        tensor_protocol.surface.add_method(name, entry)
    return function


class DeclarerOptions(Options, total=False):
    """What the declaration of an operation may say to the declarer of its kind."""

    method: bool


class _Declarer:
    """A decorator that declares operations of one kind.

    Parameters
    ----------
    kind : their kind
    method : whether each is a method, too, unless its declaration says otherwise
    defaults : what else holds for all of them, as of `operation`
    """

    def __init__(self, kind: Kind, *, method: bool, **defaults: Unpack[Options]) -> None:
        self.kind = kind
        self.method = method
        self.defaults = defaults

    @overload
    def __call__(self, body: Callable[Concatenate[Any, P], R], /) -> Operation[P, R]: ...
    @overload
    def __call__(
        self, **options: Unpack[DeclarerOptions]
    ) -> Callable[[Callable[Concatenate[Any, P], R]], Operation[P, R]]: ...
    def __call__(  # type: ignore[misc]  # mypy does not see that keywords go on to `options`
        self, body: Any = None, /, *, method: bool | None = None, methods: Sequence[str] = (), **options: Any
    ) -> Any:
        """Declare an operation of one kind."""
        has_method = method
        if method is None:
            has_method = self.method

        def make(fn: Callable[..., Any]) -> Any:
            names = methods
            if has_method:
                names = (fn.__name__, *methods)
            every: Any = self.defaults | options
            return operation(kind=self.kind, methods=names, **every)(fn)

        if body is None:
            return make
        return make(body)


arithmetic: _Declarer = _Declarer(kinds.arithmetic, method=True)
additive: _Declarer = _Declarer(kinds.additive, method=True)
multiplicative: _Declarer = _Declarer(kinds.multiplicative, method=True)
bounds: _Declarer = _Declarer(kinds.bounds, method=True)
rounding: _Declarer = _Declarer(kinds.rounding, method=True)
complex_parts: _Declarer = _Declarer(kinds.complex_parts, method=True)
comparison: _Declarer = _Declarer(kinds.comparison, method=True)
predicate: _Declarer = _Declarer(kinds.predicate, method=True)
logical: _Declarer = _Declarer(kinds.logical, method=True)
bitwise: _Declarer = _Declarer(kinds.bitwise, method=True)
exponential: _Declarer = _Declarer(kinds.exponential, method=True)
trigonometric: _Declarer = _Declarer(kinds.trigonometric, method=True)
hyperbolic: _Declarer = _Declarer(kinds.hyperbolic, method=True)
activation: _Declarer = _Declarer(kinds.activation, method=True)
reduction: _Declarer = _Declarer(kinds.reduction, method=True)
manipulation: _Declarer = _Declarer(kinds.manipulation, method=True)
linalg: _Declarer = _Declarer(kinds.linalg, method=False, namespace="dispatchkit.linalg")
product: _Declarer = _Declarer(kinds.product, method=True)
decomposition: _Declarer = _Declarer(kinds.decomposition, method=True, namespace="dispatchkit.linalg")
creation: CreationDeclarer = _Declarer(kinds.creation, method=False)
indexing: _Declarer = _Declarer(kinds.indexing, method=False)
assignment: _Declarer = _Declarer(kinds.assignment, method=False)
searching: _Declarer = _Declarer(kinds.searching, method=True)
conversion: _Declarer = _Declarer(kinds.conversion, method=True)
random: CreationDeclarer = _Declarer(kinds.random, method=False, differentiable=False)
special: _Declarer = _Declarer(
    kinds.special, method=False, namespace="dispatchkit.special", decomposes=False, real=True, gives="float"
)
