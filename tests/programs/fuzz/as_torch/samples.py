"""PyTorch's own samples of its operators, as calls, and changes of arguments at random."""

from __future__ import annotations

import itertools
import random
import types
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from .calls import Array, Call, Dtype, arrays_in, mapped
from .schemas import DTYPES, SPECIAL

__all__ = ["Samples", "changed"]

NO_SAMPLES_HERE = ("sparse.", "jiterator", "to_sparse", "_", "ops.")
DRAWN = ("dropout", "rrelu", "bernoulli", "multinomial", "normal", "uniform", "rand", "empty", "lowrank", "geometric")
MOST = 24  # samples of an operator in a dtype


class UnsuitableError(Exception):
    """A sample that cannot be put as a call."""


def described(value: Any) -> Any:
    """Return an argument of a sample as data."""
    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided or str(value.dtype).removeprefix("torch.") not in DTYPES:
            raise UnsuitableError
        return Array(value.detach().resolve_conj().resolve_neg().numpy().copy(), "plain", value.requires_grad)
    if isinstance(value, torch.dtype):
        return Dtype(str(value).removeprefix("torch."))
    if isinstance(value, (torch.device, torch.memory_format, torch.layout)) or callable(value):
        raise UnsuitableError
    if isinstance(value, torch.Size):
        return tuple(value)
    if isinstance(value, dict):
        return {name: described(member) for name, member in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(described, value))
    return value


class Samples:
    """The samples of all operators, made when they are first drawn.

    Parameters
    ----------
    paths : of the functions that are called
    """

    def __init__(self, paths: Any) -> None:
        from torch.testing._internal.common_methods_invocations import op_db

        wanted = set(paths)
        self.ops = []
        for op in op_db:
            drawn = any(part in op.name for part in DRAWN)
            written = isinstance(op.op, types.FunctionType) and op.op.__module__.startswith("torch.testing.")
            if op.name in wanted and not drawn and not written and not op.name.startswith(NO_SAMPLES_HERE):
                self.ops.append(op)
        self.known: dict[tuple[int, str], list[Call]] = {}

    def draw(self, rng: random.Random) -> Call | None:
        """Return a sample; None where there is none of the dtype that was drawn."""
        number = rng.randrange(len(self.ops))
        (dtype,) = rng.choices(DTYPES, (10, 2, 4, 1, 1, 2, 3, 1, 1, 1))
        key = number, dtype
        if key not in self.known:
            self.known[key] = self.samples_of(self.ops[number], getattr(torch, dtype))
        calls = self.known[key]
        if not calls:
            return None
        call = rng.choice(calls)
        op = self.ops[number]
        if rng.random() < 0.4 and "." not in op.name and hasattr(torch.Tensor, op.name):
            form = "method"
            if rng.random() < 0.4 and op.inplace_variant is not None and hasattr(torch.Tensor, f"{op.name}_"):
                form = "in place"
            if isinstance(call.args[0], Array):
                call = call.changed(form=form)
        return call

    def of(self, path: str) -> Iterator[Call]:
        """Yield samples of a function, of several dtypes and a few of each."""
        for number, op in enumerate(self.ops):
            for dtype in ("float64", "int64", "bool", "complex128"):
                if op.name == path:
                    key = number, dtype
                    if key not in self.known:
                        self.known[key] = self.samples_of(op, getattr(torch, dtype))
                    yield from self.known[key][:6]

    @staticmethod
    def samples_of(op: Any, dtype: torch.dtype) -> list[Call]:
        """Return the samples of an operator in a dtype."""
        if dtype not in op.dtypes:
            return []
        calls = []
        torch.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                gradient = op.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
                for sample in itertools.islice(op.sample_inputs_func(op, "cpu", dtype, gradient), MOST):
                    try:
                        args, kwargs = described(((sample.input, *sample.args), sample.kwargs))
                    except UnsuitableError:
                        continue
                    if sum(array.data.size for array in arrays_in((args, kwargs))) > 3000:
                        continue
                    form = "function"
                    if not hasattr(torch, op.name.partition(".")[0]):
                        form = "method"
                    calls.append(Call(op.name, form, args, kwargs, "sample"))
            except Exception:  # noqa: BLE001  # samples that PyTorch cannot make in this dtype
                return calls
        return calls


def changed(rng: random.Random, call: Call) -> Call:
    """Return a call with one or two things about its arguments changed."""
    for _ in range(rng.choice((1, 1, 2))):
        change = rng.choice((special_elements, another_number, another_dtype, another_shape, option, odd, layout))
        call = change(rng, call)
    return call


def _one_array(rng: random.Random, call: Call, change: Any) -> Call:
    arrays = arrays_in((call.args, call.kwargs))
    if not arrays:
        return call
    chosen = rng.choice(arrays)
    args, kwargs = mapped((call.args, call.kwargs), Array, lambda array: change(array) if array is chosen else array)
    return call.changed(args=args, kwargs=kwargs)


def special_elements(rng: random.Random, call: Call) -> Call:
    def change(array: Array) -> Array:
        if array.data.dtype.kind not in "fc" or not array.data.size:
            return array
        data = array.data.copy()
        for _ in range(rng.choice((1, 2, data.size))):
            data.reshape(-1)[rng.randrange(data.size)] = rng.choice(SPECIAL)
        return Array(data, array.layout, array.gradient)

    return _one_array(rng, call, change)


def another_number(rng: random.Random, call: Call) -> Call:
    def is_number(value: Any) -> bool:
        return isinstance(value, (int, float, complex)) and not isinstance(value, bool)

    places = [place for place, value in enumerate(call.args) if is_number(value)]
    names = [name for name, value in call.kwargs.items() if is_number(value)]
    numbers: list[Any] = [*places, *names]
    if not numbers:
        return call
    chosen = rng.choice(numbers)
    value = rng.choice((-5, -3, -2, -1, 0, 1, 2, 3, 7, 0.5, float("nan"), 1e300))
    if isinstance(chosen, int):
        return call.changed(args=(*call.args[:chosen], value, *call.args[chosen + 1 :]))
    return call.changed(kwargs={**call.kwargs, chosen: value})


def another_dtype(rng: random.Random, call: Call) -> Call:
    dtype = rng.choice(DTYPES)

    def change(array: Array) -> Array:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            data = array.data.astype(dtype)
        return Array(data, array.layout, array.gradient and data.dtype.kind in "fc")

    return _one_array(rng, call, change)


def another_shape(rng: random.Random, call: Call) -> Call:
    def change(array: Array) -> Array:
        data = array.data
        kinds = [data[None], data[..., None], data[:0] if data.ndim else data, data[..., :1] if data.ndim else data]
        if data.ndim:
            kinds += [data[:-1], data.reshape(-1), data[0] if len(data) else data]
        if data.size:
            kinds.append(data.reshape(-1)[0].reshape(()))
        return Array(np.array(rng.choice(kinds)), "plain", array.gradient)

    return _one_array(rng, call, change)


def option(rng: random.Random, call: Call) -> Call:
    kwargs = dict(call.kwargs)
    if kwargs and rng.random() < 0.4:
        kwargs.pop(rng.choice(list(kwargs)))
    else:
        values: dict[str, Any] = {
            "dim": rng.choice((0, 1, -1, -2, 2, (), (0,), (0, 1), [0, -1], None)),
            "keepdim": rng.random() < 0.5,
            "dtype": Dtype(rng.choice(DTYPES)),
            "out": rng.choice((None, Array(np.zeros((0,), rng.choice(DTYPES))))),
            "axis": rng.choice((0, 1, (0,))),
        }
        name = rng.choice(list(values))
        kwargs[name] = values[name]
    return call.changed(kwargs=kwargs)


def odd(rng: random.Random, call: Call) -> Call:
    if len(call.args) < 2 or rng.random() < 0.5:
        return call
    place = rng.randrange(len(call.args) if call.form == "function" else len(call.args) - 1)
    if call.form != "function":
        place += 1
    value = rng.choice((None, "x", 1.5, (), [], 1, True, [1, 2], Array(np.asarray(1.0)), Array(np.asarray([1, 0]))))
    return call.changed(args=(*call.args[:place], value, *call.args[place + 1 :]))


def layout(rng: random.Random, call: Call) -> Call:
    def change(array: Array) -> Array:
        if not array.data.ndim:
            return array
        if rng.random() < 0.7:
            return Array(np.ascontiguousarray(np.swapaxes(array.data, 0, -1)), "transposed", array.gradient)
        return Array(np.repeat(array.data, 2, axis=0), "stepped", array.gradient)

    return _one_array(rng, call, change)
