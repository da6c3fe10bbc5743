"""How arrays print: elements as NumPy writes them, and what array types write with each element and around all.

An array type takes part by a method ``__written__(self, inner)``. It gets how the array that it wraps, its first field,
is written, and returns how it is itself written: `Written`. So nestings of any depth print as one array. Types without
that method print as their fields do.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import wraps
from types import SimpleNamespace
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import as_numpy, device_of, dtype_name, without_graph
from dispatchkit.ops.creation.dtypes import default_dtype_of
from dispatchkit.protocol.densify import known_layout

FIRST = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80}
PROFILES: dict[str, dict[str, int]] = {
    "default": FIRST,
    "short": {**FIRST, "precision": 2, "edgeitems": 2},
    "full": {**FIRST, "threshold": sys.maxsize},
}
_options = SimpleNamespace(**FIRST, sci_mode=None)
# What NumPy begins with; an option that a program has changed there counts here, too.
NUMPYS = {"precision": 8, "threshold": 1000, "edgeitems": 3, "linewidth": 75}
FEW = 50  # elements of a field, where what it belongs to is summarised
_threshold: ContextVar[int] = ContextVar("threshold of fields", default=sys.maxsize)
_spec: ContextVar[str] = ContextVar("format of numbers", default="")


def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print.

    Parameters
    ----------
    precision : digits after the point, 4 at first
    threshold : number of elements from which on a tensor is summarised, 1000 at first
    edgeitems : elements shown at each end of a summarised axis, 3 at first
    linewidth : characters to a line, 80 at first
    profile : sets the four options above that are not given: ``"default"`` to what they are at first, ``"short"`` to
        two digits and two elements at each end, ``"full"`` so that no tensor is summarised
    sci_mode : True to print floating-point numbers with exponents, False to print them without, None to print them
        with exponents where they are very large or small, or differ much, as at first. Each call sets it, as in PyTorch

    Raises
    ------
    ValueError : for a negative number, or a profile of another name

    Notes
    -----
    Options that this function has not changed follow those of `numpy.printoptions` and `numpy.set_printoptions`, where
    these were changed.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.set_printoptions(precision=2)
    >>> dk.tensor([3.14159])
    tensor([3.14])
    >>> dk.set_printoptions(precision=4)
    """
    options = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    given = {name: value for name, value in options.items() if value is not None}
    for name, value in given.items():
        if value < 0:
            raise ValueError(f"set_printoptions: {name} is {value}; it cannot be negative")
    if profile is not None and profile not in PROFILES:
        raise ValueError(f"set_printoptions: profile is {profile!r}; it is one of {', '.join(PROFILES)}")
    if profile is not None:
        given = {**PROFILES[profile], **given}
    for name, value in given.items():
        setattr(_options, name, value)
    _options.sci_mode = sci_mode


def option(name: str) -> int:
    """Return an option of printing: the library's, or NumPy's where only that was changed."""
    value: int = getattr(_options, name)
    theirs: Any = np.get_printoptions()[name]  # type: ignore[literal-required]
    if value == FIRST[name] and theirs not in (NUMPYS[name], None):
        value = int(theirs)
    if name == "threshold":
        return min(value, _threshold.get())
    return value


def shape_of(x: Any) -> tuple[int, ...] | None:
    """Return the shape of an array; None where only its dense form would tell, or it is not whole yet."""
    try:
        shape = known_layout(x)[0]
    except Exception:  # noqa: BLE001  # as a debugger sees it inside of a constructor, where a property raises anything
        return None
    return None if shape is None else tuple(shape)


@contextmanager
def fields_of(x: Any) -> Iterator[None]:
    """Have the fields of an array that is too large to be shown as a whole print few elements."""
    few = _threshold.get()
    shape = shape_of(x)
    if shape is None:
        size = _size_of_fields(x)
    else:
        size = math.prod(shape)
    if size > option("threshold"):
        few = min(few, FEW)
    token = _threshold.set(few)
    try:
        yield
    finally:
        _threshold.reset(token)


def _size_of_fields(x: Any) -> int:
    """Return how many elements an array may have whose shape is not known: as many as the product of its fields."""
    sizes = [math.prod(shape_of(value) or ()) for value in getattr(x, "__dict__", {}).values()]
    return math.prod(sizes)


def summarised(method: Callable[[Any], str]) -> Callable[[Any], str]:
    """Return a `__repr__` in which the fields of a large array print few elements."""

    @wraps(method)
    def shown(self: Any) -> str:
        with fields_of(self):
            return method(self)

    return shown


@contextmanager
def formatted(spec: str) -> Iterator[None]:
    """Have numbers print in a format, those of fields, too."""
    token = _spec.set(spec)
    try:
        yield
    finally:
        _spec.reset(token)


def _numpy_options(values: Any, **changed: int) -> AbstractContextManager[Any]:
    """Return the options to print values with: whole numbers as ``2.``, others with all their digits, as PyTorch.

    Parameters
    ----------
    values : the numbers
    **changed : options in the place of those that are set
    """
    shown = values
    if values.dtype.kind in "fc":
        shown = values[np.isfinite(values)]
    whole = values.dtype.kind not in "fc" or bool(np.all(shown == np.round(shown)))
    formatter: Any = None
    if values.dtype.kind == "f" and _options.sci_mode is not None:
        formatter = {"float_kind": _float_format(values, shown, whole)}
    if whole and values.dtype.kind == "f" and shown.size:
        # Where NumPy turns to exponents whole numbers, too, need their digits.
        # As Python's numbers: half precision holds no 1e8.
        largest = float(np.max(np.abs(shown)))
        smallest = float(np.min(np.abs(shown[shown != 0]), initial=np.inf))
        whole = largest < 1e8 and not (math.isfinite(smallest) and largest / smallest > 1000)
    options: dict[str, Any] = {name: option(name) for name in FIRST} | changed
    floatmode: Any = "fixed"
    if whole:
        floatmode = "maxprec_equal"
    return np.printoptions(**options, formatter=formatter, floatmode=floatmode, suppress=False)


def _float_format(values: Any, finite: Any, whole: bool) -> Callable[[Any], str]:
    """Return what writes floating-point numbers with exponents, or without them, as the option `sci_mode` says.

    Parameters
    ----------
    values : the numbers
    finite : those of them that are finite
    whole : whether all of them are whole
    """
    if _options.sci_mode:
        return lambda number: f"{number:.{option('precision')}e}"
    digits, point = option("precision"), ""
    if whole:
        digits, point = 0, "."

    def write(number: Any) -> str:
        if not math.isfinite(number):
            return str(number)
        return f"{number:.{digits}f}{point}"

    longest = [*np.unique(values[~np.isfinite(values)])]
    if finite.size:
        longest += [np.min(finite), np.max(finite)]
    width = max(map(len, map(write, longest)), default=0)
    return lambda number: write(number).rjust(width)


def format_tensor(name: str, array: Any, notes: Sequence[str], spec: str = "") -> str:
    """Return ``name(elements, notes)``, long arrays summarised.

    Parameters
    ----------
    name : such as ``"tensor"``
    array : the raw array
    notes : what is printed after the elements, as `array_notes` has it and further ones
    spec : format of each element, as `format` takes it

    Raises
    ------
    ValueError : if the elements cannot be formatted by `spec`
    """
    spec = spec or _spec.get()
    try:
        values = as_numpy("printing", without_graph(array))
    except TypeError:
        body = f"shape={tuple(array.shape)}, on {device_of(array)}"
    else:
        formatter: Any = None
        if spec:
            formatter = {"all": lambda element: format(element.item(), spec)}
            format(values.dtype.type(0).item(), spec)  # which a tensor without elements would not try
        with _numpy_options(values):
            body = np.array2string(values, separator=", ", prefix=f"{name}(", formatter=formatter)
    return f"{name}({', '.join([body, *notes])})"


def array_notes(array: Any, module: str = "") -> list[str]:
    """Return what is printed of a raw array after its elements: its size where it has none, and its dtype.

    The dtype is left out where the elements alone would give it again: of the default dtypes.

    Parameters
    ----------
    array : the raw array
    module : what stands before the name of the dtype, such as ``"torch."``
    """
    notes = []
    shape = tuple(array.shape)
    if 0 in shape and shape != (0,):
        notes.append(f"size={shape}")
    dtype = dtype_name(array.dtype)
    if dtype not in [default_dtype_of(kind).name for kind in "bifc"]:
        notes.append(f"dtype={module}{dtype}")
    return notes


def format_number(value: Any) -> str:
    """Return a Python number as a field prints it."""
    spec = _spec.get()
    if spec:
        return format(value, spec)
    return repr(value)


def cut(texts: Sequence[Any], write: Callable[[Any], str] = repr) -> str:
    """Return the members of a sequence between commas: those at its ends where there are many."""
    edge = max(option("edgeitems"), 1)
    if len(texts) <= 2 * edge + 1:
        return ", ".join(map(write, texts))
    return ", ".join([*map(write, texts[:edge]), "...", *map(write, texts[-edge:])])


PATTERN = (
    r"(?P<fill>.?[<>=^])?(?P<number>[ +-]?#?0?)(?P<width>\d*)(?P<group>[,_]?(?:\.\d+)?)(?P<u>u?)"
    r"(?P<type>[bdeEfFgGnoxX%]?)(?P<flags>[SPLpDCH~]*)"
)


@dataclass(frozen=True)
class Format:
    """What a format says: ``[number][u][type][flags]``.

    Attributes
    ----------
    number : the format of a number, without what the others say
    digits : whether ``u`` says that the precision counts significant digits of the standard deviation
    flags : ``S``, ``P``, ``L``, ``p`` of uncertain numbers, and ``~``, ``P``, ``L``, ``C``, ``H``, ``D`` of units
    width : fill, alignment and width of an element
    """

    number: str = ""
    digits: bool = False
    flags: str = ""
    width: str = ""

    @property
    def of_numbers(self) -> str:
        """The format of numbers without a standard deviation; none where the digits are those of one."""
        return "" if self.digits else self.number

    @property
    def of_unit(self) -> str:
        """The format of a unit."""
        return "".join(flag for flag in self.flags if flag not in "Sp")


PLAIN = Format()


def parse_format(spec: str, cls: type) -> Format:
    """Return what a format says.

    Raises
    ------
    ValueError : if it is none
    """
    match = re.fullmatch(PATTERN, spec)
    if match is None:
        raise ValueError(
            f"invalid format {spec!r} for a {cls.__name__}: the format of a number such as .2f, then S, P or L of "
            f"uncertain numbers, and ~P, ~L, ~C, ~H or ~D of units"
        )
    part = match.groupdict(default="")
    number = part["number"] + part["group"] + part["type"]
    width = part["fill"] + part["width"]
    return Format(number, bool(part["u"]), part["flags"], width)


Places = tuple[np.ndarray[Any, Any], ...]
Texts = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False, repr=False)
class Written:
    """An array as it is printed.

    Attributes
    ----------
    shape : of the array
    elements : returns the texts of the elements at places, as a format says, "" where the third argument, booleans
        of the same shape, is false; None where the elements have no texts of their own
    numbers : returns the raw numbers at places; None as above
    whole : the array as text where its elements have none
    aligned : whether the texts are plain numbers
    notes : what `repr` has after the elements
    inside : what `repr` has before the notes, of the arrays inside
    tail : what `repr` has last
    after : what `str` has after the elements: text, or units, which formats are for
    headings : names of the axes, for tables
    folded : details that tables fold, each with its title
    source : the array inside whose elements have no texts
    """

    shape: tuple[int, ...]
    elements: Callable[[Places, Format, Texts], Texts] | None = None
    numbers: Callable[[Places], Any] | None = None
    whole: Callable[[Format], str] = lambda _: ""
    aligned: bool = True
    notes: tuple[str, ...] = ()
    inside: tuple[Any, ...] = ()
    tail: tuple[str, ...] = ()
    after: tuple[Any, ...] = ()
    headings: tuple[Any, ...] = ()
    folded: tuple[tuple[str, str], ...] = ()
    source: Any = None

    def around(self, **changes: Any) -> Written:
        """Return it with attributes changed: notes anew, what follows the elements and details in addition."""
        for name in ("after", "folded"):
            changes[name] = (*getattr(self, name), *changes.get(name, ()))
        return replace(self, **{"notes": (), "inside": self.after, **changes})

    def places(self) -> Places:
        """Return the places along each axis that are shown; one in the middle stands for those that are not."""
        edge, size = option("edgeitems"), math.prod(self.shape)
        axes = []
        for length in self.shape:
            if size > option("threshold") and length > 2 * edge:
                axes.append(np.concatenate([np.arange(edge + 1), np.arange(length - edge, length)]))
            else:
                axes.append(np.arange(length))
        return tuple(axes)

    def texts(self, form: Format = PLAIN) -> Texts:
        """Return the texts of the elements that are shown."""
        assert self.elements is not None
        places = self.places()
        texts = self.elements(places, form, np.ones([len(axis) for axis in places], bool))
        aligned = self.aligned and not form.flags
        if texts.ndim > 1 or (aligned and texts.ndim == 1):
            width = max(map(len, texts.flat), default=0)
            padded = [text.rjust(width) for text in texts.flat]
        else:
            padded = [text.strip() for text in texts.flat]
        if form.width:
            padded = [format(text.strip(), form.width) for text in texts.flat]
        result = np.empty(texts.size, object)
        result[:] = padded
        return result.reshape(texts.shape)

    def cut_texts(self) -> Texts:
        """Return the texts of the elements at the ends of each axis, however few there are."""
        token = _threshold.set(0)
        try:
            return self.texts()
        finally:
            _threshold.reset(token)

    def body(self, form: Format = PLAIN, prefix: str = "") -> str:
        """Return the elements in brackets, as NumPy sets them."""
        if self.elements is None:
            return self.whole(form)
        texts = self.texts(form)
        flat = texts.ravel()
        if not texts.ndim:
            return str(flat[0])
        if not flat.size:
            return "[]"
        threshold = sys.maxsize
        if math.prod(self.shape) > option("threshold"):
            threshold = 0
        write: Any = {"all": lambda place: str(flat[place])}
        with np.printoptions(
            threshold=threshold, edgeitems=option("edgeitems"), linewidth=option("linewidth"), formatter=None
        ):
            return np.array2string(
                np.arange(flat.size).reshape(texts.shape),
                separator=", ",
                prefix=prefix,
                formatter=write,
            )

    def text(self, form: Format = PLAIN) -> str:
        """Return the elements, and what follows them."""
        return _followed(self.body(form), self.after, form)

    def constructor(self, name: str) -> str:
        """Return the class with the elements and the notes."""
        body = _followed(self.body(prefix=f"{name}("), self.inside, PLAIN)
        return f"{name}({', '.join([body, *self.notes, *self.tail])})"


def _followed(body: str, after: Sequence[Any], form: Format) -> str:
    """Return the elements of an array, and what follows them: texts, and units in a format."""
    parts = [body]
    for part in after:
        if isinstance(part, str):
            parts.append(part)
        else:
            parts.append(format(part, form.of_unit))
    space = " "
    if "L" in form.flags:
        space = "\\ "
    return space.join([part for part in parts if part])


def number_texts(values: Any, form: Format, kept: Texts) -> Texts:
    """Return numbers as NumPy writes them together, or as a format says; "" for those that are not kept."""
    texts = np.full(values.shape, "", object)
    chosen = values[kept]
    spec = form.of_numbers or _spec.get()
    if spec:
        texts[kept] = [format(value.item(), spec) for value in chosen]
    elif chosen.size:
        with _numpy_options(chosen, threshold=sys.maxsize, linewidth=sys.maxsize):
            texts[kept] = np.array2string(chosen, separator="\n")[1:-1].split("\n")
    return texts


def written_array(array: Any, notes: Sequence[str]) -> Written | None:
    """Return how a raw array is written; None for one whose elements are not known, or lie on a device."""
    try:
        values = as_numpy("printing", without_graph(array))
    except TypeError:
        return None

    def numbers(places: Places) -> Any:
        return np.asarray(values[np.ix_(*places)])

    return Written(
        tuple(values.shape),
        lambda places, form, kept: number_texts(numbers(places), form, kept),
        numbers,
        tail=tuple(notes),
    )


def _whole(x: Any, form: Format) -> str:
    with formatted(form.of_numbers):
        return repr(x)


def written(x: Any) -> Written:
    """Return how an array is written: by what its type says, else as a whole."""
    method = getattr(type(x), "__written__", None)
    if method is None:
        return Written(shape_of(x) or (), whole=lambda form: _whole(x, form), source=x)
    result: Written = method(x)
    return result


SUPERSCRIPTS = str.maketrans("0123456789-.", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⋅")


def uncertain_text(value: float, std: float, form: Format) -> str:
    """Return a number with its standard deviation, as the package `uncertainties` rounds and writes it.

    Parameters
    ----------
    value, std : the number, and its standard deviation
    form : without one, the standard deviation has two digits
    """
    kind = form.number[-1:] if form.number[-1:].isalpha() or form.number.endswith("%") else ""
    sign = form.number[:1] if form.number[:1] in ("+", " ", "-") else ""
    precision = int(form.number.partition(".")[2].rstrip("eEfFgGn%d") or -1)
    percent = "%" if kind == "%" else ""
    if percent:
        value, std = 100 * value, 100 * std
    largest = max((abs(number) for number in (value, std) if math.isfinite(number)), default=0.0)
    top = _first_digit(largest)
    last = _last_digit(value, std, form, kind, precision, top)
    if form.digits or precision < 0:
        top = _first_digit(
            max((abs(round(number, -last)) for number in (value, std) if math.isfinite(number)), default=0)
        )
    exponent = 0
    if kind in ("e", "E") or (kind not in ("f", "F", "%") and (last > 0 or top < -4)):
        exponent = top
    factored = kind in ("e", "E") or exponent != 0
    decimals = max(exponent - last, 0)
    shown = _decimal(value, exponent, decimals, sign, form)
    spread = _decimal(std, exponent, decimals, "", form)
    if std == 0:
        spread = "0"
    if "S" in form.flags:
        if spread.startswith("0.") and spread.strip("0."):
            spread = spread[2:].lstrip("0")
        text = f"{shown}({spread})"
    else:
        joint = " ± "
        if "L" in form.flags:
            joint = " \\pm "
        elif "P" in form.flags:
            joint = "±"
        text = f"{shown}{joint}{spread}"
        if factored or percent or "p" in form.flags:
            text = _in_brackets(text, "L" in form.flags)
    if factored:
        text += _power_of_ten(exponent, form.flags, kind)
    return text + percent


def _last_digit(value: float, std: float, form: Format, kind: str, precision: int, top: int) -> int:
    """Return the power of ten of the last digit that is shown."""
    if precision >= 0 and not form.digits:
        if kind in ("f", "F", "%"):
            return -precision
        if kind in ("e", "E"):
            return top - precision
        return top - max(precision, 1) + 1
    if std == 0 or not math.isfinite(std):
        shown = value if math.isfinite(value) else 0.0
        digits = option("precision")
        for last in range(min(top, 0), top - 16, -1):
            if top - last >= digits or round(shown, -last) == shown:
                return min(last, 0)
        return 0
    first, count = _first_digit(std), 2
    if form.digits and precision > 0:
        count = precision
    elif form != PLAIN:
        # As the Particle Data Group has it, by its first three digits.
        three = int(std / 10.0 ** (first - 2))
        if three > 949:
            return first  # rounded up, to a 1 and a 0
        if three > 354:
            count = 1
    last = first - count + 1
    if _first_digit(round(std, -last)) > first:
        last += 1
    return last


def _first_digit(value: float) -> int:
    if value == 0 or not math.isfinite(value):
        return 0
    return math.floor(math.log10(abs(value)))


def _decimal(value: float, exponent: int, decimals: int, sign: str, form: Format) -> str:
    if not math.isfinite(value):
        if "L" in form.flags:
            return {"nan": "\\mathrm{nan}", "inf": "\\infty", "-inf": "-\\infty"}[str(value)]
        return format(value, sign)
    return format(float(f"{value:.17e}") / 10.0**exponent, f"{sign}.{decimals}f")


def _in_brackets(text: str, in_latex: bool) -> str:
    if in_latex:
        return f"\\left({text}\\right)"
    return f"({text})"


def _power_of_ten(exponent: int, flags: str, kind: str) -> str:
    if "L" in flags:
        return f" \\times 10^{{{exponent}}}"
    if "P" in flags:
        return f"×10{str(exponent).translate(SUPERSCRIPTS)}"
    letter = "e"
    if kind == "E":
        letter = "E"
    return f"{letter}{exponent:+03d}"
