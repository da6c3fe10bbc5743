"""`Module`: a function with parameters, made of other modules; and modules that call one function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np

from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.declare.docs import EXAMPLES_IMPORT, entries, join_sections, split_sections
from dispatchkit.declare.variables import is_floating
from dispatchkit.fields import declare_fields
from dispatchkit.func.containers import map_container, with_constants
from dispatchkit.graph.recording import no_grad
from dispatchkit.marks import override
from dispatchkit.nn.hooks import HookMethods, at_first_registration, call_with_hooks, everywhere
from dispatchkit.nn.parameter import is_declared, summary
from dispatchkit.protocol.frames import hide_frames
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.conversion import parse_to


class Module(HookMethods["Module"]):
    """Base of everything that has parameters and is called.

    A class derived from it calls ``super().__init__()`` first, assigns parameters and modules to attributes, which
    registers them, and writes `forward`.

    Attributes
    ----------
    training : whether the module is in training mode

    Notes
    -----
    A call runs the forward pre-hooks, those of all modules first, then `forward`, then the forward hooks; in the
    backward pass full backward pre-hooks and hooks follow. An error raised in `forward` is given a note that says in
    which module it was raised. Source: PyTorch, `torch.nn.Module`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> class Line(dk.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.slope = dk.nn.Parameter(dk.tensor(2.0))
    ...
    ...     def forward(self, x):
    ...         return self.slope * x
    >>> line = Line()
    >>> line(dk.tensor([1.0, 2.0])).sum().backward()
    >>> [(name, p.grad) for name, p in line.named_parameters()]
    [('slope', tensor(3.))]
    """

    _shown: ClassVar[str] = ""  # format of what is printed of an instance

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor:
        """Run the hooks and `forward`."""
        try:
            if self._hooks:
                return call_with_hooks(self, args, kwargs)  # type: ignore[no-any-return]
            return self.forward(*args, **kwargs)  # type: ignore[no-any-return]  # most give one tensor
        except Exception as error:
            _note_place(self, error)
            hide_frames(error)
            raise

    if TYPE_CHECKING:
        # Subclasses choose their own parameters.
        forward: Callable[..., Any]
    else:

        def forward(self, *args: Any) -> Any:
            """Compute the output; every module writes its own.

            Parameters
            ----------
            *args : what the module is called with

            Returns
            -------
            Any
                The output, which the call of the module returns.

            Raises
            ------
            NotImplementedError : where a module has not written it
            """
            raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    # Modes.

    def train(self, mode: bool = True) -> Self:
        """Put this module and those below in training mode.

        Parameters
        ----------
        mode : False for evaluation mode

        Returns
        -------
        Module
            The module itself.

        Raises
        ------
        ValueError : if `mode` is no boolean
        """
        if not isinstance(mode, bool):
            raise ValueError(f"train: training mode is expected to be boolean, found {mode!r}")  # noqa: TRY004  # PyTorch's
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Put this module and those below in evaluation mode.

        Returns
        -------
        Module
            The module itself.
        """
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Say whether gradients are to be collected in the parameters.

        Parameters
        ----------
        requires_grad : whether they are

        Returns
        -------
        Module
            The module itself.
        """
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of the parameters.

        Parameters
        ----------
        set_to_none : otherwise they become zero, in place
        """
        for parameter in self.parameters():
            if set_to_none or parameter.grad is None:
                parameter.grad = None
            else:
                parameter.grad.detach_().zero_()

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Call a function with each module below this one, children first, and with this one.

        Parameters
        ----------
        fn : takes a module; what it returns is not used

        Returns
        -------
        Module
            The module itself.
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # Conversion.

    def _apply(self, fn: Callable[[Any], Any]) -> Self:
        """Replace every parameter, its gradient, every constant inside and every buffer by a function of it."""
        with no_grad():
            # All is computed before anything is changed.
            new = []
            for parameter in self.parameters():
                data, grad = fn(parameter.data), None
                if parameter.grad is not None:
                    grad = fn(parameter.grad.data)
                new.append((parameter, data, grad))
            constants = {id(p): with_constants(fn, p) for m in self.modules() for p in m._parameters.values()}
            others: list[tuple[Module, str, Any]] = []
            for module in self.modules():
                others += [(module, name, map_container(fn, value)) for name, value in module._buffers.items()]
                others += [(module, name, constants[id(p)]) for name, p in module._parameters.items()]
        for parameter, data, grad in new:
            old = parameter.grad
            parameter.data = data
            if grad is not None:
                old.data = grad
        for module, name, value in others:
            module.__dict__[name] = value
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert the floating-point parameters and buffers in place.

        Parameters
        ----------
        *args, **kwargs : a dtype, a device or sharding, or a tensor whose dtype is meant; ``like=`` an array of the
            library that all are to be of; as for `Tensor.to`

        Returns
        -------
        Module
            The module itself.

        Raises
        ------
        TypeError : for a dtype of integers or booleans
        ValueError : for a device that the arrays' library does not have
        """
        dtype, device, _ = parse_to(args, kwargs)
        if dtype is not None and numpy_dtype(dtype).kind not in "fc":
            raise TypeError(
                f"{type(self).__name__}: Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={numpy_dtype(dtype)}"
            )
        like = kwargs.get("like")
        return self._apply(lambda x: x.to(dtype=dtype if is_floating(x) else None, device=device, like=like))

    def double(self) -> Self:
        """Convert the floating-point parameters and buffers to double precision.

        Returns
        -------
        Module
            The module itself.
        """
        return self.to(np.float64)

    def float(self) -> Self:
        """Convert the floating-point parameters and buffers to single precision.

        Returns
        -------
        Module
            The module itself.
        """
        return self.to(np.float32)

    def half(self) -> Self:
        """Convert the floating-point parameters and buffers to half precision.

        Returns
        -------
        Module
            The module itself.
        """
        return self.to(np.float16)

    def cpu(self) -> Self:
        """Move the parameters and buffers to main memory.

        Returns
        -------
        Module
            The module itself.
        """
        return self.to("cpu")

    # Printing.

    def extra_repr(self) -> str:
        """Return what stands between the parentheses when the module is printed."""
        return self._shown.format(self)

    def _get_name(self) -> str:
        return type(self).__name__

    @override
    def __repr__(self) -> str:
        return self._drawn([f"({name}): {module!r}" for name, module in self._modules.items()])

    def _drawn(self, children: list[str]) -> str:
        """Return the class, and between parentheses `extra_repr`, array types of parameters, a line for each child."""
        structured = [f"{name}={summary(p)}" for name, p in self._parameters.items() if is_declared(p)]
        extra = ", ".join([*filter(None, [self.extra_repr()]), *structured])
        lines = list(map(indented, children))
        if extra:
            lines[:0] = extra.split("\n")
        if not children and len(lines) <= 1:
            return f"{self._get_name()}({extra})"
        return "\n  ".join([f"{self._get_name()}(", *lines]) + "\n)"


def _call_and_look(self: Module, *args: Any, **kwargs: Any) -> Any:
    """Run the hooks, those of all modules too, and `forward`."""
    try:
        if self._hooks or everywhere:
            return call_with_hooks(self, args, kwargs)
        return self.forward(*args, **kwargs)
    except Exception as error:
        _note_place(self, error)
        hide_frames(error)
        raise


def _look_everywhere() -> None:
    """Have calls look for hooks of all modules, which would cost each call something in programs that use none."""
    Module.__call__ = _call_and_look  # type: ignore[method-assign]


at_first_registration.append(_look_everywhere)


def indented(text: str) -> str:
    """Return a text with all lines but the first moved two places to the right."""
    return text.replace("\n", "\n  ")


class _Place(str):
    """A note of the module in which an error was raised."""

    __slots__ = ("module",)
    module: Module

    @override
    def __reduce__(self) -> Any:
        return str, (str(self),)


def _note_place(module: Module, error: Exception) -> None:
    """Add to an error a note of the module that raised it and the path from the outermost module called."""
    notes: list[str] = getattr(error, "__notes__", [])
    before = next((note for note in notes if isinstance(note, _Place)), None)
    inner = module
    if before is not None:
        inner = before.module
    path = next((name for name, part in module.named_modules() if part is inner), "")
    where = ""
    if path:
        where = f", module '{path}' of {type(module).__name__}"
    place = _Place(_describe(inner) + where)
    place.module = inner
    if before is None:
        error.add_note(place)
    else:
        notes[notes.index(before)] = place


def _describe(module: Module) -> str:
    """Return the class of a module, with its `extra_repr` where that fits into a line."""
    try:
        extra = module.extra_repr()
    except Exception:  # noqa: BLE001  # the error in progress is the one to report
        extra = ""
    options = ""
    if extra and "\n" not in extra:
        options = f"({extra})"
    return f"in {type(module).__name__}" + options


D = TypeVar("D", bound="DeclaredModule")

# Texts of options that mean the same everywhere.
STANDARD = {
    "dim": "the axis",
    "ignore_index": "number in the target whose places do not count",
    "inplace": "whether the input is overwritten with the result",
    "reduction": '``"mean"`` or ``"sum"`` of all losses, or ``"none"``',
}


class DeclaredModule(Module):
    """What modules made by `declared` share.

    Attributes
    ----------
    function : that `forward` calls
    options : names of the fields, in order
    raised : the docstring's section on exceptions, where the source has none
    shown : how many of the options `repr` shows, None for all
    """

    function: ClassVar[Callable[..., Any]]
    options: ClassVar[tuple[str, ...]] = ()
    raised: ClassVar[str] = ""
    shown: ClassVar[int | None] = None

    def _set_options(self, options: dict[str, Any]) -> None:
        """Take in the options that the constructor was given, defaults for the others."""
        for name, value in options.items():
            setattr(self, name, value)

    def _values(self) -> dict[str, Any]:
        """Return the present values of the options."""
        return {name: self.__dict__[name] for name in self.options}

    def forward(self, x: Any) -> Any:
        """Apply the function.

        Parameters
        ----------
        x : array, as the function takes it

        Returns
        -------
        Array
            What the function gives.
        """
        return self.function(x, **self._values())

    @override
    def extra_repr(self) -> str:
        """Return the options, as PyTorch shows them."""
        options = list(self._values().items())[: self.shown]
        return ", ".join(f"{name}={value!r}" for name, value in options if name != "inplace" or value)


@dataclass_transform()
def declared(function: Callable[..., Any] | None) -> Callable[[type[D]], type[D]]:
    """Return a decorator of a module's class, which makes the constructor of its fields.

    Parameters
    ----------
    function : that the module calls; None for a class whose fields others inherit
    """

    def decorate(cls: type[D]) -> type[D]:
        cls.options = tuple(declare_fields(cls, _begin))
        if function is not None:
            cls.function = staticmethod(function)
            cls.__doc__ = cls.__doc__ and _class_docstring(cls, cls.__doc__)
        return cls

    return decorate


def _begin(self: DeclaredModule, values: dict[str, Any]) -> None:
    Module.__init__(self)
    self._set_options(values)


def _class_docstring(cls: type[DeclaredModule], text: str) -> str:
    """Return the docstring of a class: what its source says, the standard texts, and where its function is."""
    head, sections = split_sections(text)
    texts = entries(sections.pop("Parameters", ""))
    parts = {
        "Parameters": "\n".join(f"{name} : {texts.get(name) or STANDARD[name]}" for name in cls.options),
        "Raises": cls.raised,
        "Notes": f"See `dispatchkit.nn.functional.{cls.function.__name__}`. "
        f"Source: PyTorch, `torch.nn.{cls.__name__}`.",
    } | sections
    parts["Examples"] = EXAMPLES_IMPORT + parts["Examples"]
    return join_sections(head, parts)
