"""Random arguments by the kinds that PyTorch's own schemas of its functions name."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from .calls import Array, Call, Dtype

__all__ = ["DTYPES", "SPECIAL", "Pool", "draw_array", "draw_index_call", "draw_operator_call"]

DTYPES = ("float64", "float32", "int64", "int32", "uint8", "bool", "complex128", "int8", "int16", "complex64")
WEIGHTS = (10, 3, 5, 1, 1, 3, 2, 1, 1, 1)
SPECIAL = (float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 1.0, -1.0)
SHAPES: tuple[tuple[int, ...], ...] = (
    *((), (1,), (3,), (2, 3), (3, 3), (2, 2), (4,), (1, 3), (3, 1), (2, 3, 4), (2, 1, 3), (2, 2, 3, 3), (0,), (2, 0)),
    *((0, 3), (1, 1), (5,), (2, 3, 3)),
)
WORDS = {
    "reduce": ("sum", "prod", "mean", "amax", "amin", "max"),
    "rounding_mode": ("floor", "trunc", "ceil"),
    "mode": ("constant", "reflect", "replicate", "circular"),
    "norm": ("forward", "backward", "ortho", "wrong"),
    "interpolation": ("linear", "lower", "higher", "nearest", "midpoint", "wrong"),
    "ord": ("fro", "nuc", "wrong"),
    "p": ("fro", "nuc"),
    "UPLO": ("L", "U", "X"),
    "side": ("left", "right", "middle"),
    "indexing": ("ij", "xy", "zz"),
    "approximate": ("none", "tanh"),
    "driver": ("gelsd", "gels", "gelsy", "gelss"),
}
AXES = frozenset({"dim", "dims", "dim0", "dim1", "dim2", "dimension", "axis", "axis0", "axis1", "start_dim", "end_dim"})
INDICES = frozenset({"index", "indices"})
MASKS = frozenset({"mask", "condition", "mask_tensor"})
LENGTHS = frozenset({"size", "shape", "sizes", "repeats"})
SKIPPED = frozenset({"generator", "layout", "device", "pin_memory", "memory_format", "out", "names"})
# Not called: they draw, read unfilled memory, free it, or are about how PyTorch holds tensors.
EXCLUDED = frozenset(
    {
        *(
            "as_strided",
            "as_strided_",
            "set_",
            "set",
            "resize_",
            "resize",
            "resize_as_",
            "record_stream",
            "empty_strided",
        ),
        *("_", "storage_offset", "stride", "is_same_size", "is_set_to", "from_file", "can_cast", "promote_types"),
        *("sparse_resize_", "to_sparse", "to_mkldnn", "to_dense", "coalesce", "values", "indices", "crow_indices"),
        *("col_indices", "ccol_indices", "row_indices", "unsafe_chunk", "requires_grad_", "retain_grad", "backward"),
        *("is_pinned", "pin_memory", "data", "detach_", "dequantize", "q_scale", "refine_names", "rename", "align_to"),
        *("is_vulkan_available", "to", "is_leaf", "output_nr", "set_data", "batch_norm", "empty_like", "empty"),
        *("empty_permuted", "new_empty", "new_empty_strided", "item", "resize_as_sparse_", "range", "normal"),
        *("batch_norm_stats", "batch_norm_elemt", "cudnn_is_acceptable", "seed", "manual_seed", "arange"),
    }
)


def draw_data(rng: random.Random, shape: tuple[int, ...], dtype: str) -> Any:
    """Return elements, of floating-point numbers now and then special ones."""
    size = int(np.prod(shape))
    generator = np.random.default_rng(rng.getrandbits(32))
    if dtype == "bool":
        return generator.integers(0, 2, size).astype(bool).reshape(shape)
    if "int" in dtype:
        low = 0 if dtype == "uint8" else -4
        return generator.integers(low, 6, size).astype(dtype).reshape(shape)
    data = np.round(generator.normal(size=size) * 2, 2)
    if rng.random() < 0.2:
        data = np.round(data)
    if dtype.startswith("complex"):
        data = data + 1j * np.round(generator.normal(size=size), 2)
    data = data.astype(dtype)
    if rng.random() < 0.15:
        for place in range(size):
            if rng.random() < 0.4:
                data[place] = rng.choice(SPECIAL)
    return data.reshape(shape)


def draw_array(rng: random.Random, shape: Any = None, dtype: str | None = None, *, gradient: bool = False) -> Array:
    """Return an array, of a shape and dtype if they are given."""
    if shape is None:
        shape = rng.choice(SHAPES)
    if dtype is None:
        (dtype,) = rng.choices(DTYPES, WEIGHTS)
    data = draw_data(rng, tuple(shape), dtype)
    layout = "plain"
    if data.ndim and rng.random() < 0.1:
        layout = rng.choice(("transposed", "stepped"))
    return Array(data, layout, gradient and dtype in ("float64", "complex128"))


def related(rng: random.Random, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape that goes with another: the same, one that broadcasts, one to multiply by, or any."""
    kind = rng.random()
    if kind < 0.5:
        return shape
    if kind < 0.65:
        return tuple(1 if rng.random() < 0.4 else length for length in shape)
    if kind < 0.75:
        return shape[1:]
    if kind < 0.85 and shape:
        return (*shape[:-2], shape[-1], rng.choice((1, 2, 3)))
    if kind < 0.9:
        return ()
    return rng.choice(SHAPES)


class Pool:
    """The functions of PyTorch by the schemas of its operators.

    Parameters
    ----------
    paths : of the functions that are called
    """

    def __init__(self, paths: Any) -> None:
        wanted = set(paths)
        self.schemas: dict[str, list[Any]] = {}
        for schema in torch._C._jit_get_all_schemas():
            space, _, name = schema.name.partition("::")
            if space != "aten" or name.startswith("_") or name in EXCLUDED:
                continue
            if any(argument.name == "out" or str(argument.type) == "t" for argument in schema.arguments):
                continue
            if not any("Tensor" in str(argument.type) for argument in schema.arguments):
                continue
            path = self.path_of(name.removesuffix("_"), wanted)
            if path is not None:
                self.schemas.setdefault(path, []).append(schema)
        self.paths = sorted(self.schemas)

    @staticmethod
    def path_of(name: str, wanted: set[str]) -> str | None:
        """Return the path of the function of an operator."""
        for place in ("linalg", "special", "fft"):
            if name.startswith(f"{place}_"):
                name = f"{place}.{name.removeprefix(f'{place}_')}"
        for path in (name, f"nn.functional.{name}"):
            if path in wanted:
                return path
        return None

    def draw(self, rng: random.Random) -> Call:
        """Return a call of one of the functions."""
        return self.draw_of(rng, rng.choice(self.paths))

    def draw_of(self, rng: random.Random, path: str) -> Call:
        """Return a call of a function."""
        schema = rng.choice(self.schemas[path])
        form = "function"
        if schema.name.endswith("_"):
            form = "in place"
        elif "." not in path and hasattr(torch.Tensor, path) and (rng.random() < 0.4 or not hasattr(torch, path)):
            form = "method"
        first = rng.choice(SHAPES)
        (dtype,) = rng.choices(DTYPES, WEIGHTS)
        gradient = rng.random() < 0.3
        drawer = Drawer(rng, first, dtype, gradient=gradient)
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        by_name = False
        for argument in schema.arguments:
            if argument.name in SKIPPED:
                continue
            optional = argument.has_default_value()
            if optional and rng.random() < 0.5:
                by_name = True
                continue
            value = drawer.value(argument.name, str(argument.type))
            name = {"self": "input"}.get(argument.name, argument.name)
            if argument.kwarg_only or by_name or (args and rng.random() < 0.1):
                by_name = True
                kwargs[name] = value
            else:
                args.append(value)
        return Call(path, form, tuple(args), kwargs, "schema")


class Drawer:
    """Draws the arguments of one call."""

    def __init__(self, rng: random.Random, shape: tuple[int, ...], dtype: str, *, gradient: bool) -> None:
        self.rng, self.shape, self.dtype, self.gradient = rng, shape, dtype, gradient
        self.count = 0

    def value(self, name: str, kind: str) -> Any:
        """Return an argument of a kind."""
        rng = self.rng
        if rng.random() < 0.015:
            return rng.choice((None, "x", 1.5, (), [1], -7, 100, True))
        if kind.startswith("Optional["):
            if rng.random() < 0.2:
                return None
            kind = kind.removeprefix("Optional[").removesuffix("]")
        if name == "dtype":
            return Dtype(rng.choice(DTYPES))
        if kind.startswith("List[Optional[Tensor") or (kind == "List[Tensor]" and name in INDICES):
            return [self.index() for _ in range(rng.choice((1, 1, 2)))]
        draws: dict[str, Callable[[str], Any]] = {
            "Tensor": self.tensor,
            "List[Tensor]": lambda name: [self.tensor(name) for _ in range(rng.choice((1, 2, 2, 3)))],
            "int": self.integer,
            "List[int]": self.integers,
            "number": lambda name: rng.choice((0, 1, 2, -1, 3, 0.5, -1.5, 2.0, True, *SPECIAL[:2], 1 + 2j)),
            "float": lambda name: rng.choice((0.0, 1.0, 0.5, 2.0, -1.0, 1, *SPECIAL[:2])),
            "bool": lambda name: rng.random() < 0.5,
            "List[bool]": lambda name: [rng.random() < 0.5],
            "str": lambda name: rng.choice(WORDS.get(name, ("x",))),
            "complex": lambda name: 1 + 2j,
            "List[float]": lambda name: [0.5, 1.0],
            "List[number]": lambda name: [rng.choice((1, 0.5))],
        }
        draw = draws.get(kind)
        if draw is None:
            return None
        return draw(name)

    def tensor(self, name: str) -> Array:
        self.count += 1
        rng = self.rng
        if name in MASKS:
            return draw_array(rng, related(rng, self.shape), "bool" if rng.random() < 0.9 else None)
        if name in INDICES and rng.random() < 0.95:
            return self.index()
        shape = self.shape
        if self.count > 1:
            shape = related(rng, self.shape)
        dtype: str | None = self.dtype
        if self.count > 1 and rng.random() < 0.25:
            dtype = None
        return draw_array(rng, shape, dtype, gradient=self.gradient)

    def index(self) -> Array:
        rng = self.rng
        shape = related(rng, self.shape) if rng.random() < 0.6 else rng.choice(((), (2,), (3,), (0,), (1,)))
        low = min([length for length in self.shape if length] or [1])
        high = low if rng.random() < 0.85 else low + 2
        generator = np.random.default_rng(rng.getrandbits(32))
        least = -1 if rng.random() < 0.15 else 0
        dtype = "int64" if rng.random() < 0.93 else rng.choice(DTYPES)
        return Array(generator.integers(least, high, shape).astype(dtype))

    def integer(self, name: str) -> int:
        rng, ndim = self.rng, len(self.shape)
        if name in AXES:
            return rng.randint(-ndim - 1, ndim) if rng.random() < 0.3 else rng.randint(-max(ndim, 1), max(ndim, 1) - 1)
        return rng.choice((0, 1, 1, 2, 2, 3, -1, 4))

    def integers(self, name: str) -> Any:
        rng, ndim = self.rng, len(self.shape)
        kind = rng.choice((list, tuple))
        if name in AXES:
            if rng.random() < 0.4:
                return self.integer(name)
            if rng.random() < 0.15:
                return kind(())
            axes = list(range(ndim)) or [0]
            rng.shuffle(axes)
            if rng.random() < 0.7:
                axes = axes[: rng.randint(1, len(axes))]
            if rng.random() < 0.3:
                axes = [axis - ndim for axis in axes]
            if rng.random() < 0.1:
                axes.append(rng.choice((axes[0], ndim)))
            return kind(axes)
        if name in LENGTHS and rng.random() < 0.7:
            size = int(np.prod(self.shape))
            choices = [self.shape, (size,), (-1,), (2, *self.shape), (*self.shape, 1), (-1, 1), self.shape[::-1]]
            return kind(rng.choice(choices))
        return kind(rng.choice((0, 1, 1, 2, 2, 3, -1)) for _ in range(rng.choice((1, 2, 2, max(ndim, 1)))))


OPERATORS = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor", "lshift", "rshift"),
    *("eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "abs", "invert"),
    *("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "iand", "ior", "ixor"),
)
UNARY = frozenset({"neg", "pos", "abs", "invert"})


def draw_operator_call(rng: random.Random) -> Call:
    """Return a call of an operator of Python, of tensors and numbers."""
    symbol = rng.choice(OPERATORS)
    gradient = rng.random() < 0.3 and not symbol.startswith("i")
    x = draw_array(rng, gradient=gradient)
    if symbol in UNARY:
        return Call(symbol, "operator", (x,), {}, "operator")
    kind = rng.random()
    other: Any
    if kind < 0.6:
        dtype = x.data.dtype.name if rng.random() < 0.6 else None
        other = draw_array(rng, related(rng, x.shape), dtype, gradient=gradient)
    else:
        other = rng.choice((0, 1, 2, -1, 3, 0.5, -1.5, 2.0, True, False, 1 + 2j, float("nan"), float("inf"), None, [1]))
    args = (x, other)
    if kind > 0.8 and not symbol.startswith("i"):
        args = (other, x)
    return Call(symbol, "operator", args, {}, "operator")


def draw_key(rng: random.Random, shape: tuple[int, ...]) -> Any:
    """Return an index of an array."""

    def part(length: int) -> Any:
        kind = rng.random()
        if kind < 0.25:
            return rng.randint(-length - 1, length) if rng.random() < 0.15 else rng.randint(-length, max(length - 1, 0))
        if kind < 0.5:
            first, last, step = (rng.choice((None, rng.randint(-3, 4))) for _ in range(3))
            return slice(first, last, step if step != 0 and rng.random() < 0.5 else None)
        if kind < 0.55:
            return None
        if kind < 0.6:
            return Ellipsis
        if kind < 0.8:
            generator = np.random.default_rng(rng.getrandbits(32))
            places = generator.integers(-1, max(length, 1), rng.choice(((), (2,), (1,), (2, 2), (0,))))
            dtype = rng.choice(("int64", "int64", "int32", "uint8", "int8", "float64"))
            if dtype == "uint8":
                places = abs(places)
            return Array(np.asarray(places).astype(dtype))
        if kind < 0.9:
            return draw_array(rng, (length,), "bool")
        return rng.choice(([0], [0, -1], True, False, [True] * length, 1.5))

    kind = rng.random()
    if kind < 0.1:
        return draw_array(rng, shape[: rng.randint(0, len(shape))], rng.choice(("bool", "bool", "uint8")))
    if kind < 0.4 or not shape:
        return part(shape[0] if shape else 1)
    return tuple(part(length) for length in shape[: rng.randint(1, len(shape))])


def draw_index_call(rng: random.Random) -> Call:
    """Return the read of an index, or a write to one."""
    x = draw_array(rng, gradient=rng.random() < 0.3)
    key = draw_key(rng, x.shape)
    if rng.random() < 0.6:
        return Call("[]", "item", (x, key), {}, "index")
    x = Array(x.data, x.layout)
    value: Any = rng.choice((0, 1, -1.5, float("nan"), True, 1j))
    if rng.random() < 0.5:
        value = draw_array(
            rng, rng.choice(((), (1,), (2,), x.shape, x.shape[1:])), rng.choice((None, x.data.dtype.name))
        )
    return Call("[]", "set item", (x, key, value), {}, "index")
