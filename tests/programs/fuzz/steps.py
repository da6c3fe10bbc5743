"""The steps of random programs, as lines of Python that mean the same for dispatchkit and PyTorch.

Where the libraries differ on purpose, or PyTorch is known to be wrong, no such step is written:

- Operands of one operation have one dtype: PyTorch promotes 0-D tensors like numbers, NumPy and dispatchkit do not.
- `flip` is followed by `clone`: PyTorch copies there, dispatchkit makes a view. So is `chunk`: PyTorch allows no change
  in place of views that were made together, nor of what they are views of.
- `view` stands for `reshape`, which makes a view or a copy by strides that differ, as after `clone` or `softmax`.
- What is assigned in place does not share memory with the target: PyTorch reads elements that it has changed already.
- What `autograd.grad` gives is cloned: PyTorch may expand it, so that a change in place reaches several elements.
- Nothing is changed under `no_grad` through a view: PyTorch 2.13 loses the gradient of the leaf behind it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

__all__ = ["Writer"]

DTYPES = ("float64", "float64", "float64", "float32")
UNARY = (
    *("-{x}", "{x} * 0.5", "{x} + 1.5", "1.5 - {x}", "{x} ** 2", "{x} ** 3", "1.0 / (lib.abs({x}) + 0.5)"),
    *("lib.exp({x} * 0.3)", "lib.log(lib.abs({x}) + 0.5)", "lib.sqrt(lib.abs({x}) + 0.5)", "lib.abs({x})"),
    *("lib.sin({x})", "lib.cos({x})", "lib.tanh({x})", "lib.sigmoid({x})", "lib.clamp({x}, -0.7, 0.7)"),
    *("{x}.clone()", "lib.where({mask}, {x}, 0.3)", "{x}.tril()", "{x}.softmax({axis})", "lib.square({x})"),
)
BINARY = (
    *("{x} + {y}", "{x} - {y}", "{x} * {y}", "{x} * {y}", "{x} / (lib.abs({y}) + 0.5)", "lib.maximum({x}, {y})"),
    *("lib.where({mask}, {x}, {y})", "lib.atan2({x}, lib.abs({y}) + 0.5)", "lib.logaddexp({x}, {y})"),
)
REDUCTIONS = (
    *("{x}.sum({axis})", "{x}.mean({axis})", "{x}.prod({axis})", "{x}.amax({axis})", "{x}.amin({axis})"),
    *("{x}.var({axis}, correction=0)", "{x}.logsumexp({axis})", "{x}.sum()", "{x}.mean()"),
)
VIEWS = (
    *("{x}[{key}]", "{x}[{key}]", "{x}[{key}]", "{x}.permute({order})", "{x}.swapaxes({axis}, 0)", "{x}.view(-1)"),
    *("{x}.view({shape})", "{x}.unsqueeze({axis})", "{x}.squeeze({single})", "{x}.expand({longer})", "{x}.mT"),
    *(
        "{x}.flip({axis}).clone()",
        "{x}.diagonal()",
        "{x}.chunk(2, {axis})[0].clone()",
        "{x}.detach()",
        "{x}.reshape(-1).clone()",
    ),
)
GATHERING = ("{x}[{mask}]", "{x}[{indices}]", "lib.cat([{x}, {x}])", "lib.stack([{x}, {x}])")
INPLACE = (
    *("{x}.mul_(0.5)", "{x}.add_(0.25)", "{x}.neg_()", "{x}.zero_()", "{x}.fill_(0.4)", "{x}.exp_()", "{x}.tanh_()"),
    *("{x}.clamp_(-0.6, 0.6)", "{x}[{key}] = 0.8", "{x}[{mask}] = -0.2", "{x}[{key}] *= 0.5", "{x} *= -0.5"),
)
INPLACE_BINARY = (
    *("{x}.add_({y})", "{x}.sub_({y})", "{x}.mul_({y})", "{x}.copy_({y})", "{x}[...] = {y}", "{x} += {y}"),
    *("{x}.div_(lib.abs({y}) + 0.5)", "{x}[{mask}] = {y}.sum()", "{x}[{key}] = {y}.mean()"),
)

# The numbers of axes that forms are for, where it is not any number.
AXES = {"diagonal": (2,), ".mT": (2, 3), "tril": (2, 3), "{axis}": (1, 2, 3), "cat": (1, 2, 3)}
Maker: TypeAlias = "Callable[[Writer], str | None]"


def fits(form: str, x: Any) -> bool:
    """Return whether a form is for tensors of such a shape, in both libraries."""
    if "{single}" in form and 1 not in x.shape:
        return False
    return all(x.ndim in numbers for part, numbers in AXES.items() if part in form)


class Writer:
    """Writes the next step of a program.

    Parameters
    ----------
    rng : draws it
    names : PyTorch's tensors of the program so far, of which the step is to make sense
    """

    def __init__(self, rng: random.Random, names: Mapping[str, Any]) -> None:
        self.rng = rng
        self.names = names
        self.count = 0

    def leaf(self) -> str:
        """Return the step that makes a leaf."""
        shape = [self.rng.choice((1, 2, 2, 3, 3, 4)) for _ in range(self.rng.choice((0, 1, 1, 2, 2, 2, 3)))]
        grad = ", requires_grad=True" if self.rng.random() < 0.85 else ""
        return f"{self._new()} = lib.tensor({self._values(shape)}, dtype=lib.{self.rng.choice(DTYPES)}{grad})"

    def step(self) -> str:
        """Return the next step."""
        for _ in range(20):
            make = self.rng.choices(MAKERS, WEIGHTS)[0]
            text = make(self)
            if text is not None:
                return text
        return self.leaf()

    def closing(self) -> list[str]:
        """Return backward passes from the last results: what no gradient has come to says nothing of its rule."""
        results = [name for name, x in self.names.items() if name[0] == "v" and x.requires_grad and not x.is_leaf]
        return [f"({name} * {name}.detach()).sum().backward(retain_graph=True)" for name in results[-3:]]

    def _new(self) -> str:
        self.count += 1
        return f"v{self.count - 1}"

    def _values(self, shape: list[int]) -> Any:
        if not shape:
            return round(self.rng.uniform(-1.5, 1.5), 2)
        return [self._values(shape[1:]) for _ in range(shape[0])]

    def _booleans(self, shape: list[int]) -> Any:
        return [self._booleans(shape[1:]) for _ in range(shape[0])] if shape else self.rng.random() < 0.5

    def _any(self) -> tuple[str, Any]:
        """Return a tensor, rather a recent one."""
        names = [name for name, value in self.names.items() if name[0] == "v"]
        name = names[max(self.rng.randrange(len(names)), self.rng.randrange(len(names)))]
        return name, self.names[name]

    def _other(self, x: Any, *, into: bool) -> str | None:
        """Return a tensor that broadcasts with another one, or to it."""
        found = []
        for name, y in self.names.items():
            if name[0] != "v" or y.dtype != x.dtype or (into and y.ndim > x.ndim):
                continue
            pairs = zip(reversed(x.shape), reversed(y.shape), strict=False)
            if all(m in (n, 1) or (n == 1 and not into) for n, m in pairs):
                found.append(name)
        return self.rng.choice(found) if found else None

    def _key(self, x: Any) -> str:
        parts = []
        for n in x.shape[: self.rng.randint(0, x.ndim)]:
            start = self.rng.randrange(n) if n else 0
            choices = [
                str(start - n * (self.rng.random() < 0.3)) if n else ":",
                f"{start}:",
                f":{start + 1}",
                "::2",
                ":",
            ]
            parts.append(self.rng.choice(choices))
        if self.rng.random() < 0.2:
            parts.insert(self.rng.randint(0, len(parts)), "None")
        if not parts or self.rng.random() < 0.2:
            parts.append("...")
        return ", ".join(parts)

    def _filled(self, form: str, name: str, x: Any, y: str = "") -> str:
        """Return a form with what it asks for."""
        shape = list(x.shape)
        given = {"x": name, "y": y}
        if "{mask}" in form:
            given["mask"] = f"lib.tensor({self._booleans(shape)})"
        if "{key}" in form:
            given["key"] = self._key(x)
        if "{axis}" in form:
            given["axis"] = str(self.rng.randrange(-max(x.ndim, 1), max(x.ndim, 1)))
        if "{single}" in form:
            given["single"] = str(self.rng.choice([i for i, n in enumerate(shape) if n == 1]))
        if "{order}" in form:
            given["order"] = str(tuple(self.rng.sample(range(x.ndim), x.ndim)))
        if "{shape}" in form:
            given["shape"] = str(tuple(self.rng.sample(shape, x.ndim)))
        if "{longer}" in form:
            given["longer"] = str((self.rng.choice((1, 2)), *(self.rng.choice((2, 3)) if n == 1 else n for n in shape)))
        if "{indices}" in form:
            n = shape[0] if shape else 1
            given["indices"] = str([self.rng.randrange(n) for _ in range(self.rng.randint(1, 3))] if n else [])
        return form.format(**given)

    def one(self, forms: tuple[str, ...]) -> str | None:
        """Return a step that makes a tensor of another one."""
        name, x = self._any()
        form = self.rng.choice(forms)
        return f"{self._new()} = {self._filled(form, name, x)}" if fits(form, x) else None

    def two(self) -> str | None:
        """Return a step that makes a tensor of two."""
        name, x = self._any()
        if x.ndim == 2 and self.rng.random() < 0.15:
            return f"{self._new()} = {name} @ {name}.mT"
        other = self._other(x, into=False)
        if other is None:
            return None
        form = self.rng.choice(BINARY)
        if "mask" in form and self.names[other].ndim > x.ndim:
            name, other, x = other, name, self.names[other]
        return f"{self._new()} = {self._filled(form, name, x, other)}"

    def cast(self) -> str:
        """Return a step that makes a tensor of the other dtype."""
        name, x = self._any()
        return f"{self._new()} = {name}.{'float' if x.dtype.itemsize == 8 else 'double'}()"

    def change(self) -> str | None:
        """Return a step that changes a tensor in place."""
        name, x = self._any()
        quiet = "with lib.no_grad(): " if self.rng.random() < 0.1 and not x._is_view() else ""
        if self.rng.random() < 0.5:
            return quiet + self._filled(self.rng.choice(INPLACE), name, x)
        other = self._other(x, into=True)
        if other is None:
            return None
        memory = x.untyped_storage().data_ptr()
        shared = self.names[other].untyped_storage().data_ptr() == memory
        return quiet + self._filled(self.rng.choice(INPLACE_BINARY), name, x, f"{other}.clone()" if shared else other)

    def note(self) -> str | None:
        """Return a step that retains a gradient, makes a leaf, or takes a tensor off the graph."""
        name, x = self._any()
        if x.requires_grad and self.rng.random() < 0.8:
            return f"{name}.retain_grad()"
        if self.rng.random() < 0.5:
            return f"{self._new()} = {name}.detach().clone().requires_grad_()"
        return f"with lib.no_grad(): {self._new()} = {name} * 2.0"

    def backward(self) -> str | None:
        """Return a backward pass."""
        name, x = self._any()
        if not x.requires_grad:
            return None
        kept = self.rng.choice(("retain_graph=True", "retain_graph=True", ""))
        if self.rng.random() < 0.4:
            return f"{name}.backward({name}.detach() * 0.5 + 1.0{kept and ', ' + kept})"
        return f"({name} * {name}.detach()).sum().backward({kept})"

    def differentiate(self) -> str | None:
        """Return a step that makes a tensor of a gradient, differentiable again."""
        name, x = self._any()
        leaves = [
            leaf for leaf, value in self.names.items() if leaf[0] == "v" and value.is_leaf and value.requires_grad
        ]
        if not leaves or not x.requires_grad:
            return None
        leaf = self.rng.choice(leaves)
        return f"{self._new()} = lib.autograd.grad(({name} * {name}).sum(), ({leaf},), create_graph=True)[0].clone()"


MAKERS: tuple[Maker, ...] = (
    lambda writer: writer.one(UNARY),
    Writer.two,
    lambda writer: writer.one(REDUCTIONS),
    lambda writer: writer.one(VIEWS),
    lambda writer: writer.one(GATHERING),
    Writer.change,
    Writer.note,
    Writer.backward,
    Writer.differentiate,
    Writer.cast,
    Writer.leaf,
)
WEIGHTS = (18, 14, 5, 22, 4, 24, 5, 7, 4, 2, 3)
