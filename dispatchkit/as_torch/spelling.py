"""How the functions, methods and modules of `dispatchkit.as_torch` are made of operations and the table."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from numbers import Number
from types import FunctionType, ModuleType
from typing import Any, NoReturn

import numpy as np

from dispatchkit import autograd, data, fft, func, linalg, nn, optim, random, special
from dispatchkit.as_torch import (  # noqa: F401  # they enter functions
    draws,
    formulas,
    further_functions,
    indefinite,
    integers,
    jacobians,
    networks,
    places,
    ranges,
    segments,
    signals,
    strided,
    table,
)
from dispatchkit.as_torch.attributes.devices import device
from dispatchkit.as_torch.attributes.dtypes import dtype_of_array, plain_dtype, spelled_dtype
from dispatchkit.as_torch.attributes.shapes import Shape, Size, lengths_in
from dispatchkit.as_torch.calling import indices
from dispatchkit.as_torch.calling.allowed import allowed_names
from dispatchkit.as_torch.calling.arguments import ARGUMENTS_OF, parameters_of, shown_as_named
from dispatchkit.as_torch.calling.caller import FunctionCaller
from dispatchkit.as_torch.calling.number_checks import numbers_in
from dispatchkit.as_torch.calling.quick import quick
from dispatchkit.as_torch.calling.raised import as_raised_by_pytorch, raising_as_it_is, raising_as_pytorch
from dispatchkit.as_torch.masking import masked_functions
from dispatchkit.as_torch.network_functions import attention, grids, largest, native, norms, weighted_losses  # noqa: F401
from dispatchkit.as_torch.operators import converting, give_operators, in_place, spreading, where_asked
from dispatchkit.as_torch.shared import SPELLED, changeable, copying, forward_of, in_shape, rounded_to_dtype_of
from dispatchkit.as_torch.special_functions import OPERATIONS
from dispatchkit.backends.arrays import PLAIN, dtype_name
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.wrapping import taking_nothing
from dispatchkit.marks import override
from dispatchkit.protocol.overridable import Overridable, of
from dispatchkit.protocol.surface import Property
from dispatchkit.tensor import Tensor as PlainTensor
from dispatchkit.tensor import set_printoptions
from dispatchkit.tensor.gradients import keep_gradient, like_tensor
from dispatchkit.transforms import Batched, Dual
from dispatchkit.tree import container_items, map_leaves
from dispatchkit.wording import nearest

Call = Callable[..., Any]
HOME = "dispatchkit.as_torch"
CLASSES = {name: getattr(xp, dtype) for dtype, name in table.CLASSES.items()}
TYPES = {name: getattr(xp, dtype) for dtype, name in table.TYPES.items()}
GRADIENT: Any = PlainTensor.grad


# Tensors.


def missing(place: str, name: str) -> NoReturn:
    """Raise for a name that is not there.

    Raises
    ------
    AttributeError : saying what to write instead, if the table knows
    """
    if place == "Tensor":
        path, where = name, f"'{HOME}.Tensor' object"
    else:
        path, where = f"{place}.{name}".lstrip("."), f"module '{f'{HOME}.{place}'.rstrip('.')}'"
    text = f"{where} has no attribute {name!r}"
    if not name.startswith("_"):
        near = nearest(path, FUNCTIONS, 0.8)
        elsewhere = places_of(name)
        advice = "dispatchkit has nothing of that name"
        if path in table.INSTEAD:
            advice = f"write {table.INSTEAD[path]}"
        elif elsewhere:
            advice = f"write {' or '.join(elsewhere)}"
        elif near:
            advice += f"; there is {near[0]}"
        text += f": {advice}"
    raise AttributeError(text)


def places_of(name: str) -> list[str]:
    """Return where a name is that is missing in one place: in other modules of this spelling, or in dispatchkit."""
    found = [f"torch.{path}" for path in FUNCTIONS if path.rpartition(".")[2] == name and path not in table.METHODS]
    if hasattr(xp, name):
        found.append(f"dk.{name}")
    modules = (linalg, fft, special, nn, nn.functional, optim, func, autograd, random)
    holders = [module.__name__ for module in modules if name in getattr(module, "__all__", dir(module))]
    found += [f"dk.{holder.removeprefix('dispatchkit.')}.{name}" for holder in holders]
    return found[:2]


class Tensor(PlainTensor):
    """A tensor whose methods have PyTorch's names, arguments and results.

    Parameters
    ----------
    *data : elements, of which numbers get the default dtype, or the lengths of the axes of a tensor that is not filled
    **options : of `dispatchkit.Tensor`

    Notes
    -----
    `size` is both the array API's number of elements and PyTorch's method.

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> x = torch.ones(2, 6)
    >>> x.size(), x.view(-1, 3).size(0), x.std(dim=1, keepdim=True).shape
    (torch.Size([2, 6]), 4, torch.Size([2, 1]))
    """

    __module__ = HOME
    __dispatch_plain__ = True
    persistent = None  # of an `nn.Buffer`, whether it is saved
    _dtype_module = "torch."
    __dispatch_error__ = staticmethod(as_raised_by_pytorch)
    dtype = property(dtype_of_array)

    def __init__(self, *data: Any, **options: Any) -> None:
        if type(self).__new__ is not Tensor.__new__ and hasattr(self, "array"):
            return  # `__new__` of a subclass took it from another tensor
        if (lengths := lengths_in(data)) is not None:
            data = (xp.empty(lengths),)
        if not isinstance(data[0], PlainTensor):
            data = (numbers_in(data[0], options.setdefault("dtype", xp.get_default_dtype())), *data[1:])
        super().__init__(*data, **options)

    @property
    @override
    def size(self) -> Any:
        """The number of elements; called, the lengths of the axes or of one."""
        count = Size(super().size)
        count.shape = self.shape
        return count

    @property
    @override
    def shape(self) -> Any:
        """Lengths of the axes."""
        return Shape(super().shape)

    @property
    @override
    def device(self) -> Any:
        """Where the data is."""
        place = super().device
        if isinstance(place, str):
            return device(place)
        return place

    def _gradient(self) -> Any:
        """Return the gradient that backward passes have accumulated, None before the first."""
        gradient = super().grad
        kept = gradient
        if isinstance(gradient, PlainTensor) and not gradient.requires_grad:
            kept = changeable(gradient)
        if type(kept) is PlainTensor:
            kept = adopt(kept)
        if kept is not gradient:
            keep_gradient(self, kept)
        return kept

    def _data(self) -> Any:
        """Return the tensor outside the graph, with the same memory, whose changes are not counted, as in PyTorch."""
        y = self.detach()
        if not self.is_tracer:
            y._memory = None
        return y

    data = PlainTensor.data.getter(_data)  # type: ignore[attr-defined]  # a property, by its class
    grad = property(_gradient, raising_as_pytorch(GRADIENT.__set__), GRADIENT.__delete__)

    @override
    def register_hook(self, hook: Call) -> Any:
        """Call a function with each gradient that reaches this tensor.

        Parameters
        ----------
        hook : returns another gradient, or None
        """
        return super().register_hook(spelling_results(hook, arguments=True))

    @override
    def __getitem__(self, key: Any, /) -> Any:
        if type(key) is not int and not indices.is_basic(key):
            key = indices.index_like_pytorch(key, self)
            if indices.mixes(key):
                part, rest = indices.selected_first(self, key)
                return PlainTensor.__getitem__(part, rest)
        return PlainTensor.__getitem__(self, key)

    @override
    def __setitem__(self, key: Any, value: Any, /) -> None:
        if isinstance(value, Number):
            value = rounded_to_dtype_of(self, value)
        part: Any = self
        if type(key) is not int and not indices.is_basic(key):
            key = indices.index_like_pytorch(key, self)
            if indices.mixes(key):
                part, key = indices.selected_first(self, key)
        indices.check_dtype_of_places(self, key, value)
        value = indices.without_leading_ones(value)
        try:
            PlainTensor.__setitem__(part, key, value)
        except ValueError as error:
            raise as_raised_by_pytorch(error) from error.__cause__

    def __pos__(self) -> Any:
        return FUNCTIONS["positive"](self)

    view_as = PlainTensor.reshape_as

    @override
    def contiguous(self, *, memory_format: Any = None) -> Any:
        """Return the tensor with its elements in order in memory; a layout changes nothing here."""
        if not self.is_tracer and type(self.array) is np.ndarray and self.array.flags.c_contiguous:
            return self
        return super().contiguous()

    __rdiv__ = PlainTensor.__rtruediv__

    def type(self, dtype: Any = None) -> Any:
        """Return the tensor in another dtype; without one, the name of PyTorch's class for its own.

        Parameters
        ----------
        dtype : a dtype, or such a name
        """
        if dtype is None:
            return f"torch.{table.TYPES[dtype_name(self.dtype)]}"
        if dtype is Tensor:
            dtype = xp.get_default_dtype()
        dtype = getattr(plain_dtype(dtype), "of_dtype", dtype)
        if isinstance(dtype, str):
            dtype = TYPES.get(dtype.removeprefix("torch."), dtype)
        return self.to(dtype)

    @override
    def to(self, *args: Any, non_blocking: bool = False, memory_format: Any = None, **options: Any) -> Any:
        """Return the tensor in another dtype, that of another tensor, or on a device.

        Parameters
        ----------
        *args : a dtype, a device, or a tensor, then whether not to wait, and whether to copy at any rate
        non_blocking, memory_format : which change nothing here
        **options : of `dispatchkit.Tensor.to`
        """
        flags = [value for value in args if isinstance(value, bool)]
        if len(flags) > 1:
            options["copy"] = flags[1]
        if "dtype" in options:
            options["dtype"] = plain_dtype(options["dtype"])
        return super().to(*(plain_dtype(value) for value in args if not isinstance(value, bool)), **options)

    @override
    def __tensor_finalize__(self, op: Any, sources: tuple[Any, ...]) -> None:
        """Take over attributes: there are none but in subclasses."""
        if type(self) is not Tensor:
            super().__tensor_finalize__(op, sources)

    def __getattr__(self, name: str) -> NoReturn:
        missing("Tensor", name)

    @override
    def __dir__(self) -> list[str]:
        allowed = allowed_names("Tensor") or frozenset()
        held = vars(self) if hasattr(self, "__dict__") else ()
        return [name for name in object.__dir__(self) if name in allowed or name in held or name.startswith("__")]


taking_nothing.add(Tensor)


class Traced(Tensor):
    """What transformations put in the place of tensors, with PyTorch's methods."""

    __slots__ = ()
    is_tracer = True
    dtype = property(lambda self: spelled_dtype(super(Tensor, self).dtype), doc="Type of the elements.")

    @classmethod
    @override
    def __tensor_function__(cls, *call: Any) -> Any:
        """Answer as the transformation does, with results that have PyTorch's methods."""
        return spell(super().__tensor_function__(*call))


TRACED: dict[Any, Any] = {
    cls: type(cls.__name__, (Traced, cls), {"__slots__": (), "__module__": HOME, "__init__": cls.__init__})
    for cls in (Dual, Batched)
}


def adopt(value: Any) -> Any:
    """Return a plain tensor or parameter as one of PyTorch's spelling, in its memory and graph; all else as it is."""
    cls = type(value)
    if cls is PlainTensor:
        adopted = value.as_subclass(Tensor)
        adopted._memory.give_root(value, adopted)  # the plain one is given up
        return adopted
    if cls in TRACED:
        return TRACED[cls](value.value, *((value.tangent,) if cls is Dual else ()), value.level)
    if cls is nn.Parameter:
        return value.as_subclass(PARAMETER)
    return value


def spell(value: Any) -> Any:
    """Return results with the plain tensors in them adopted."""
    if isinstance(value, PlainTensor):
        return adopt(value)
    if type(value) in PLAIN or (isinstance(value, (tuple, list)) and ALIKE.issuperset(map(type, value))):
        return value
    return map_leaves(container_items, adopt, value)


PARAMETER = type(nn.Parameter(PlainTensor([0.0]).as_subclass(Tensor)))
ALIKE: frozenset[type] = frozenset({Tensor, PARAMETER})  # which operations compute alike
UNCHANGED = ALIKE | {autograd.function.FunctionCtx}  # in which nothing is to be adopted
SPELLED.update(ALIKE)


# Functions.


def spelling_results(function: Call, *, arguments: bool = False) -> Call:
    """Return a function whose results, or whose `arguments` instead, are adopted."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if arguments:
            return function(*(args if UNCHANGED.issuperset(map(type, args)) else map(spell, args)), **kwargs)
        return spell(function(*args, **kwargs))

    return call


def spelling_calls(function: Call) -> Call:
    """Return a function whose results are adopted, functions among them, too, and the arguments of what it takes."""

    def spelled(argument: Any) -> Any:
        return raising_as_it_is(spelling_results(argument, arguments=True)) if callable(argument) else argument

    def spelled_result(value: Any) -> Any:
        if isinstance(value, FunctionType):
            return raising_as_pytorch(spelling_results(value))
        return adopt(value)

    @raising_as_pytorch
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        y = function(*map(spelled, args), **{name: spelled(value) for name, value in kwargs.items()})
        return map_leaves(container_items, spelled_result, y)

    return call


def caller(path: str, function: Call, names: Any, targets: Any, shown: Any, operation: Any, count: int) -> Call:
    """Return the function of PyTorch that calls another, by a `FunctionCaller`.

    Parameters
    ----------
    path, function : of the function inside PyTorch, and the other
    names, targets : what arguments are called by position, and which parameters take them
    shown : the parameters that it shows
    operation : which the other belongs to, or None
    count : how many parameters of an operation are by position alone
    """
    whole = FunctionCaller(path, function, names, targets, shown, count, spell, Tensor)
    shown = shown_as_named(whole.names, shown)
    most = len(names) if operation is None else count
    answer: Call = whole.__call__
    if "inplace" in whole.names:
        answer = where_asked(path.rpartition(".")[2], list(whole.names).index("inplace"), answer, whole.ask)
    call = whole.public = show(quick(whole, answer, most, ALIKE, whole.plans), path, shown, operation)
    call.check = whole.check_in_place  # type: ignore[attr-defined]
    method = quick(whole, whole.as_method, most, ALIKE, whole.plans_of_method)
    call.as_method = whole.method = show(method, path, shown, operation)  # type: ignore[attr-defined]
    return call


def by_operation(path: str, operation: Overridable) -> Call:
    """Return the function of PyTorch that calls an operation."""
    targets, parameters = parameters_of(path, operation), operation.parameters.signature.parameters
    names = ARGUMENTS_OF.get(path) or list(targets)
    first = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)
    count = sum(parameters[targets[name]].kind in first for name in names)
    shown = [parameters[targets[name]].replace(name=name, kind=inspect.Parameter.KEYWORD_ONLY) for name in targets]
    shown = [p.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) if p.name in names else p for p in shown]
    return caller(path, operation.function, names, targets, shown, operation, count)


def by_translation(path: str, function: Call) -> Call:
    """Return the function of PyTorch that is put in terms of operations."""
    shown = list(inspect.signature(function).parameters.values())
    names = [p.name for p in shown if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    return caller(path, function, names, {p.name: p.name for p in shown}, shown, None, 0)


def show(call: Any, path: str, parameters: Sequence[inspect.Parameter], operation: Overridable | None) -> Call:
    """Give a function the names, signature, docstring and operation that it shows."""
    place, _, name = f"{HOME}.{path}".rpartition(".")
    call.__module__, call.__name__, call.__qualname__ = place, name, name
    call.__doc__, result = f"Compute `torch.{path}` of PyTorch by operations of dispatchkit.", Any
    if operation is not None:
        call.__doc__, call.__overridable__ = operation.function.__doc__, operation
        result = operation.parameters.signature.return_annotation
    call.__signature__ = inspect.Signature(
        sorted(parameters, key=lambda p: p.kind), return_annotation=result, __validate_parameters__=False
    )
    return call  # type: ignore[no-any-return]


def every_function() -> dict[str, Call]:
    """Return the functions of PyTorch by their paths inside it, such as ``"linalg.inv"``."""
    translations = table.TRANSLATIONS | table.ALONE
    entered = {path: by_translation(path, f) for path, f in translations.items() if not path.startswith("__")}
    paths = dict(vars(xp))
    for place, module in {"fft": fft, "linalg": linalg, "nn.functional": nn.functional, "special": special}.items():
        paths |= {f"{place}.{name}": getattr(module, name) for name in dir(module)}
    names = table.NAMES | table.CREATION
    named = {path: functools.reduce(getattr, name.split("."), xp) for path, name in names.items()}
    known = {path: value for path, value in paths.items() if path not in table.OTHERS} | named | OPERATIONS
    for path in entered.keys() & known.keys():
        for function in (entered[path], entered[path].as_method):  # type: ignore[attr-defined]
            function.__overridable__ = of(known[path])  # type: ignore[union-attr]  # a public function
    for path, value in known.items():
        operation = of(value)
        if operation is not None and path not in entered and path not in table.INSTEAD.keys() - table.METHODS:
            entered[path] = by_operation(path, operation)
    viewed = {path: entered[path] for path in table.COPIED} | {"view": in_shape}
    entered |= {f"{path}_copy": by_translation(f"{path}_copy", copying(f)) for path, f in viewed.items()}
    masked = {f"masked.{name}": function for name, function in masked_functions(entered).items()}
    return entered | {path: by_translation(path, function) for path, function in masked.items()}


FUNCTIONS = every_function()


def new_method(name: str) -> Call:
    """Return the method that makes a tensor of the class and dtype of another."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        options = {"dtype": self.dtype, "device": self.device} | kwargs
        return spell(like_tensor(self, FUNCTIONS[name](*args, **options)))

    method.__name__ = method.__qualname__ = f"new_{name}"
    method.__doc__ = f"Return what `{name}` makes, in the class and dtype of this tensor and on its device."
    return method


def not_there(name: str, x: Any) -> NoReturn:
    """Raise for a method of `dispatchkit.Tensor` that PyTorch's tensors have not."""
    missing("Tensor", name)


def give_form_in_place(path: str, function: Call) -> None:
    """Give `Tensor` the method that writes the result of a function into its tensor, if PyTorch has one."""
    if f"{path}_" not in (allowed_names("Tensor") or ()):
        return
    plain = getattr(PlainTensor, f"{path}_", None)
    if path in table.OF_OTHER_VALUES:
        plain = None
    setattr(Tensor, f"{path}_", in_place(ALIKE, path, function, plain))


def give_methods() -> None:
    """Give `Tensor` the functions whose first argument is a tensor, their forms in place, and what makes others."""
    for path, function in FUNCTIONS.items():
        first = next(iter(inspect.signature(function).parameters), "")
        is_method = path not in table.NO_METHODS and not path.endswith("_like")
        if "." not in path and first in ("input", "tensor") and is_method:
            is_property = isinstance(getattr(PlainTensor, path, None), Property)
            check: Any = getattr(function, "check", None)
            method: Any = getattr(function, "as_method", function)
            if check is not None:
                method.check = check
            function = method
            if is_property:
                setattr(Tensor, path, property(function))
            elif path in table.SPREAD_METHODS:
                setattr(Tensor, path, spreading(ALIKE, path, function))
            else:
                setattr(Tensor, path, function)
            give_form_in_place(path, function)
    give_form_in_place("fill", FUNCTIONS["fill"])
    give_operators(Tensor, ALIKE, FUNCTIONS)
    for name in set(dir(PlainTensor)) - (allowed_names("Tensor") or set()) - table.OF_THE_LIBRARY:
        if name[0] != "_":
            setattr(Tensor, name, property(functools.partial(not_there, name)))
    for kind in ("cpu", "cuda", "mps", "xpu"):
        held = property(lambda self, kind=kind: str(self.device).startswith(kind))  # type: ignore[misc]
        setattr(Tensor, f"is_{kind}", held)
    for name in ("empty", "full", "ones", "tensor", "zeros"):
        setattr(Tensor, f"new_{name}", new_method(name))
    for dtype, name in {**table.CLASSES, "complex64": "CFloat", "complex128": "CDouble"}.items():
        setattr(Tensor, name.removesuffix("Tensor").lower(), converting(dtype))


# Modules.


class Module(nn.Module):
    """A `dispatchkit.nn.Module` whose parameters and buffers have PyTorch's methods."""

    __module__ = f"{HOME}.nn"

    @override
    def __setattr__(self, name: str, value: Any) -> None:
        persistent = getattr(value, "persistent", None) if isinstance(value, Tensor) else None
        if persistent is None:
            super().__setattr__(name, value)
        else:
            self.register_buffer(name, value, persistent)

    @override
    def _enter(self, table: str, name: str, value: Any, note: Any = None) -> None:
        super()._enter(table, name, adopt(value), note)


class Function(autograd.Function):
    """A `dispatchkit.autograd.Function` whose rules get tensors with PyTorch's methods."""

    __module__ = f"{HOME}.autograd"
    _cotangents_in = Tensor

    def __init_subclass__(cls, **kwargs: Any) -> None:
        for name in ("backward", "jvp", "vjp", "vmap"):
            rule = vars(cls).get(name)
            if isinstance(rule, (staticmethod, classmethod)):
                setattr(cls, name, type(rule)(spelling_results(rule.__func__, arguments=True)))
        super().__init_subclass__(**kwargs)


class DataLoader(data.DataLoader):
    """A `dispatchkit.data.DataLoader` whose batches have PyTorch's methods.

    What PyTorch does for GPUs, or to start workers once, changes nothing here; batches come in their order.
    """

    __module__ = f"{HOME}.utils.data"

    def __init__(
        self,
        *args: Any,
        pin_memory: bool = False,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self.pin_memory, self.persistent_workers, self._iterator = pin_memory, persistent_workers, None
        self.pin_memory_device, self.in_order = pin_memory_device, in_order

    @override
    def __iter__(self) -> Any:
        return map(spell, super().__iter__())


SUBCLASSES: dict[Any, Any] = {nn.Module: Module, autograd.Function: Function, data.DataLoader: DataLoader}


def enter_module(path: str, members: Mapping[str, Any]) -> None:
    """Let a module be imported by its name in PyTorch, and say what to write for what it has not."""
    home = f"{HOME}.{path}".rstrip(".")
    allowed = allowed_names(path)
    if allowed is not None:
        members = {name: value for name, value in members.items() if name in allowed}
    module: Any = sys.modules.setdefault(home, ModuleType(home, f"`torch.{path}` of PyTorch in terms of dispatchkit."))
    vars(module).update(members)
    module.__getattr__ = functools.partial(missing, path)
    module.__all__ = sorted(members)
    module.__dir__ = lambda: [*module.__all__, *(name for name in vars(module) if name.startswith("__"))]
    outer, _, name = home.rpartition(".")
    # A function of the name of the module that holds it, such as `nn.utils.weight_norm`, hides it in PyTorch, too.
    if path and not isinstance(vars(sys.modules[outer]).get(name), FunctionType):
        setattr(sys.modules[outer], name, module)
        vars(sys.modules[outer])["__all__"] = sorted({*vars(sys.modules[outer])["__all__"], name})


def members_of(module: ModuleType) -> dict[str, Any]:
    """Return what a module of dispatchkit has, layers and results of functions with PyTorch's methods."""
    members, home = dict[str, Any](), module.__name__.replace("dispatchkit", HOME)
    for name in vars(module)["__all__"]:
        value = getattr(module, name)
        if isinstance(value, FunctionType):
            if module in (autograd, func, jacobians, autograd.forward_ad):
                value = spelling_calls(value)
            else:
                value = spelling_results(value)
        elif value in SUBCLASSES:
            value = SUBCLASSES[value]
        elif isinstance(value, type) and issubclass(value, nn.Module):
            value = type(name, (value, Module), {"__module__": home, "__doc__": value.__doc__} | forward_of(value))
        members[name] = value
    return members


def enter_modules() -> None:
    """Enter the modules of PyTorch, the outermost first."""
    members = {name: value for name, value in vars(xp).items() if name[0] != "_" and name not in table.INSTEAD}
    members |= {name: spelled_dtype(value) for name, value in members.items() if isinstance(value, np.dtype)}
    members |= {path: function for path, function in FUNCTIONS.items() if "." not in path and path not in table.METHODS}
    members |= {name: functools.partial(Tensor, dtype=dtype) for dtype, name in table.CLASSES.items()}
    members |= {name: name for name in table.LAYOUTS}
    modes = (autograd.enable_grad, autograd.is_grad_enabled, autograd.no_grad, autograd.set_grad_enabled)
    for each in (Tensor, device, set_printoptions, *modes):
        members[each.__name__] = each
    members |= {"is_tensor": table.is_array, "zero_": lambda input: input.zero_()}
    enter_module("", members | {"Size": tuple})
    of_autograd = (autograd, autograd.forward_ad, autograd.function, autograd.graph)
    for module in (nn, nn.init, nn.utils, optim, optim.lr_scheduler, optim.swa_utils, *of_autograd, func):
        more = {}
        if module is autograd:
            more = {"Variable": Tensor}
        enter_module(module.__name__.removeprefix("dispatchkit."), members_of(module) | more)
    enter_module("autograd.functional", members_of(jacobians))
    for path in ("backends", "signal", "utils"):
        enter_module(path, {})
    enter_module("utils.data", members_of(data))
    enter_module("utils.checkpoint", {})
    for place in ("fft", "linalg", "masked", "nn.functional", "signal.windows", "special"):
        functions = {path.removeprefix(f"{place}."): f for path, f in FUNCTIONS.items() if path.startswith(f"{place}.")}
        enter_module(place, functions)
    enter_module("random", {"manual_seed": random.manual_seed})
    absent = {"is_available": lambda: False, "device_count": lambda: 0, "empty_cache": lambda: None}
    enter_module("cuda", {**absent, **dict.fromkeys(("manual_seed", "manual_seed_all"), random.manual_seed)})
    for path in ("accelerator", "backends.cuda", "backends.cudnn", "backends.mps", "mps", "xpu"):
        enter_module(path, absent)
    for alias, path in table.ALIASES.items():
        module = sys.modules[f"{HOME}.{path}"]
        enter_module(alias, {name: getattr(module, name) for name in vars(module)["__all__"]})


give_methods()
