"""What the programs begin with: instances of every shipped type, and plain tensors, as lines of Python."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

__all__ = ["KINDS", "Values"]

FLOATS = ("float64", "float64", "float64", "float32", "float32", "complex128", "complex64", "float16")
INTEGERS = ("int64", "int8", "uint8", "uint32", "bool", "bool", "int32", "uint64", "int16", "uint16")
SPECIAL = ("np.inf", "-np.inf", "np.nan")


class Values:
    """Writes what makes instances and tensors of one size.

    Parameters
    ----------
    rng : draws it
    n : the rows and columns of square matrices
    batch : the axes in front of most of them
    finite : whether all numbers are
    smooth : whether all numbers are float64 and what is made is far from singular, as derivatives ask
    """

    def __init__(self, rng: random.Random, n: int, batch: tuple[int, ...], *, finite: bool, smooth: bool) -> None:
        self.rng, self.n, self.batch, self.finite, self.smooth = rng, n, batch, finite, smooth
        self.leaves: list[str] = []

    def dtype(self) -> str:
        """Return the name of a dtype."""
        if self.smooth:
            return "float64"
        return self.rng.choice(FLOATS if self.rng.random() < (0.65 if self.finite else 0.85) else INTEGERS)

    def number(self, dtype: str) -> str:
        """Return one element."""
        rng = self.rng
        if not self.finite and dtype[0] in "fc" and rng.random() < 0.15:
            return rng.choice(SPECIAL)
        if dtype == "bool":
            return str(rng.random() < 0.5)
        if dtype.startswith("uint"):
            return str(rng.choice((0, 1, 2, 3, rng.randrange(256))))
        if dtype.startswith("int"):
            return str(rng.choice((0, rng.randint(-3, 3), rng.randint(-100, 100))))
        real = round(rng.uniform(-1.5, 1.5), 2) if self.smooth else rng.choice((0, rng.randint(-8, 8) / 4))
        if dtype.startswith("complex"):
            return f"{real:+}{rng.randint(-4, 4) / 2:+}j"
        return str(real)

    def array(self, *shape: int, dtype: str | None = None) -> str:
        """Return an array of a shape; what derivatives are taken by is a leaf with a name."""
        dtype = dtype or self.dtype()
        if 0 in shape:
            text = f"np.zeros({shape}, {dtype!r})"
        else:
            text = f"np.array({self._nested(shape, dtype)}, {dtype!r})"
            if not self.smooth and self.rng.random() < 0.06:
                text += f".astype(np.dtype({dtype!r}).newbyteorder())"
            elif not self.smooth and shape and self.rng.random() < 0.06:
                text = f"np.asfortranarray({text})[::-1]"
        if self.smooth and dtype == "float64":
            self.leaves.append(text)
            return f"p{len(self.leaves) - 1}"
        return text

    def _nested(self, shape: tuple[int, ...], dtype: str) -> str:
        if not shape:
            return self.number(dtype)
        return f"[{', '.join(self._nested(shape[1:], dtype) for _ in range(shape[0]))}]"

    def part_of_batch(self) -> tuple[int, ...]:
        """Return the axes of the batch, or fewer that broadcast with them."""
        return self.batch if self.rng.random() < 0.7 else self.batch[1:]

    def shifted(self, n: int) -> str:
        """Return a matrix, whose diagonal is large where it has to be far from singular."""
        text = self.array(*self.part_of_batch(), n, n)
        return f"({text} + 4 * np.eye({n}))" if self.smooth else text

    # Tensors.

    def tensor(self) -> str:
        """Return a plain tensor that fits in some way: a matrix, a vector, a number, rows, columns."""
        n, rng = self.n, self.rng
        shape = rng.choice(
            [(*self.part_of_batch(), n, n), (n, n), (n,), (), (n, 1), (1, n), (n, 2), (1, 1), (1,), (2, n, n)]
        )
        return f"dk.asarray({self.array(*shape)})"

    # Structured matrices.

    def scalar(self) -> str:
        """Return a multiple of the identity."""
        return f"ScalarTensor({self.n}, dk.asarray({self.array()}))"

    def diagonal(self) -> str:
        """Return diagonal matrices."""
        return f"DiagonalTensor({self.array(*self.part_of_batch(), self.n)})"

    def permutation(self) -> str:
        """Return permutations, also the identity."""
        batch = self.part_of_batch()

        def places(shape: tuple[int, ...]) -> Any:
            if shape:
                return [places(shape[1:]) for _ in range(shape[0])]
            order = list(range(self.n))
            if not identity:
                self.rng.shuffle(order)
            return order

        identity, dtype = self.rng.random() < 0.3, self.dtype()
        return f"PermutationTensor(np.array({places(batch)}, 'int64').reshape({(*batch, self.n)}), dtype={dtype!r})"

    def triangular(self) -> str:
        """Return triangles."""
        return f"TriangularTensor({self.shifted(self.n)}, upper={self.rng.random() < 0.5})"

    def banded(self) -> str:
        """Return bands."""
        lower, upper = self.rng.randint(0, 2), self.rng.randint(0, 2)
        bands = self.array(*self.part_of_batch(), lower + upper + 1, self.n)
        if self.smooth:
            bands = f"({bands} + 6 * (np.arange({lower + upper + 1}) == {upper})[:, None])"
        return f"BandedTensor({bands}, lower={lower}, upper={upper})"

    def blocks(self) -> str:
        """Return blocks along the diagonal."""
        sizes, rest = [], self.n
        while rest > 0:
            sizes.append(self.rng.randint(1, rest))
            rest -= sizes[-1]
        dtype = self.dtype() if self.rng.random() < 0.7 else None
        texts = []
        for size in sizes or [0]:
            text = self.array(*self.part_of_batch(), size, size, dtype=dtype)
            texts.append(f"{text} + 4 * np.eye({size})" if self.smooth else text)
        return f"BlockDiagonalTensor([{', '.join(texts)}])"

    def low_rank(self) -> str:
        """Return a product of two thin factors."""
        rank, dtype = self.rng.randint(0 if not self.smooth else 1, 2), self.dtype()
        left, right = self.array(*self.part_of_batch(), self.n, rank, dtype=dtype), self.array(rank, self.n)
        return f"LowRankTensor({left}, {right})"

    def low_rank_update(self) -> str:
        """Return what the sum of a multiple of the identity, or of a diagonal, and a low rank is."""
        base = self.rng.choice((self.scalar, self.diagonal))()
        if self.smooth:
            base = f"({base} + ScalarTensor({self.n}, 9.0))"
        return f"{base} + {self.low_rank()}"

    def kronecker(self) -> str:
        """Return a Kronecker product, also of structured factors."""
        sizes = {0: (0, 1), 1: (1, 1), 2: (2, 1), 3: (1, 3), 4: (2, 2), 6: (2, 3)}.get(self.n, (self.n, 1))
        texts = []
        for size in sizes if self.rng.random() < 0.5 else sizes[::-1]:
            inner = Values(self.rng, size, self.batch, finite=self.finite, smooth=self.smooth)
            inner.leaves = self.leaves
            make = self.rng.choice((None, None, None, inner.diagonal, inner.toeplitz, inner.permutation))
            texts.append(inner.shifted(size) if make is None else make())
        return f"KroneckerTensor({', '.join(texts)})"

    def shifted_kronecker(self) -> str:
        """Return the sum of a Kronecker product and a multiple of the identity."""
        return f"{self.kronecker()} + {self.scalar()}"

    def toeplitz(self) -> str:
        """Return Toeplitz matrices, with one or two sides."""
        dtype, batch = self.dtype() if self.rng.random() < 0.7 else None, self.part_of_batch()
        column = self.array(*batch, self.n, dtype=dtype)
        if self.smooth:
            column = f"({column} + 7 * (np.arange({self.n}) == 0))"
        if self.rng.random() < 0.5:
            return f"ToeplitzTensor({column})"
        return f"ToeplitzTensor({column}, {self.array(*batch, self.n, dtype=dtype)})"

    def circulant(self) -> str:
        """Return circulant matrices."""
        column = self.array(*self.part_of_batch(), self.n)
        return f"CirculantTensor({column}{f' + 7 * (np.arange({self.n}) == 0)' if self.smooth else ''})"

    def rectangular(self) -> str:
        """Return a matrix that is not square."""
        m = self.rng.choice((1, 2, 3))
        make = self.rng.randrange(3)
        dtype = self.dtype()
        if make == 0 and self.n:
            return f"ToeplitzTensor({self.array(m, dtype=dtype)}, {self.array(self.n, dtype=dtype)})"
        if make == 1:
            return f"LowRankTensor({self.array(m, 1)}, {self.array(1, self.n)})"
        return self.sparse(m)

    def lazy_sum(self) -> str:
        """Return a sum that keeps its terms, a product, or an inverse."""
        if self.rng.random() < 0.2:
            return f"InverseTensor({self.rng.choice((self.banded, self.toeplitz))()})"
        makers = (self.diagonal, self.permutation, self.triangular, self.banded, self.toeplitz, self.kronecker)
        texts = [self.rng.choice(makers)() for _ in range(self.rng.choice((2, 2, 2, 3)))]
        names = self.rng.sample(("SumTensor", "ProductTensor"), 2)
        if len(texts) == 3:  # a sum of products, or a product of sums
            texts = [f"{names[1]}({', '.join(texts[:2])})", texts[2]]
        return f"{names[0]}({', '.join(texts)})"

    # Other types.

    def sparse(self, rows: int | None = None) -> str:
        """Return a sparse matrix."""
        m, n = self.n if rows is None else rows, self.n
        places = [(i, j) for i in range(m) for j in range(n) if self.rng.random() < 0.5]
        lines, columns, values = [i for i, _ in places], [j for _, j in places], self.array(len(places))
        if self.rng.random() < 0.5:
            text = f"SparseTensor.coo({values}, {lines}, {columns}, shape=({m}, {n}))"
        else:
            starts = [sum(i < line for i in lines) for line in range(m + 1)]
            text = f"SparseTensor.csr({values}, {columns}, {starts}, shape=({m}, {n}))"
        return text + self.rng.choice(("", ".mT"))

    def quantized(self) -> str:
        """Return a matrix in eight bits."""
        data = self.array(self.n, self.n, dtype="int8")
        dtype = self.rng.choice(("float64", "float32", "float16")) if not self.smooth else "float64"
        return f"QuantizedTensor({data}, {self.array(self.n, dtype=dtype)}, {self.rng.choice((-2, -1))})"

    def lora(self) -> str:
        """Return a matrix with an update of low rank."""
        dtypes = [self.rng.choice(FLOATS) if not self.smooth else "float64" for _ in range(2)]
        left, right = self.array(self.n, 1, dtype=dtypes[0]), self.array(1, self.n, dtype=dtypes[1])
        plain = self.array(self.n, self.n, dtype=dtypes[0])
        base = self.quantized() if self.rng.random() < 0.3 else plain
        return f"LoraTensor({base}, {left}, {right}, {self.rng.choice(('0.5', '2', '1.0'))})"

    def lazy(self) -> str:
        """Return an array that records."""
        inner = self.tensor if self.rng.random() < 0.5 else self.rng.choice(self._inner())
        return f"LazyTensor({inner()})"

    def _inner(self) -> tuple[Callable[[], str], ...]:
        """Return what makes arrays that others wrap, of axes of the same length."""
        structured = (self.diagonal, self.banded, self.triangular, self.kronecker, self.low_rank_update, self.lazy_sum)
        return (*structured, self.sparse, self.quantized, self.lora)

    def metadata(self) -> str:
        """Return an array with metadata."""
        return f"MetadataTensor({self.rng.choice((self.tensor, *self._inner()))()}, {{'k': 1}})"

    def _square(self, *batch: int, dtype: str | None = None) -> str:
        return f"dk.asarray({self.array(*batch, self.n, self.n, dtype=dtype)})"

    def some_shape(self) -> tuple[int, ...]:
        """Return the shape of matrices, sometimes that of a vector or of a number."""
        square = (*self.part_of_batch(), self.n, self.n)
        return square if self.rng.random() < 0.8 else self.rng.choice(((self.n,), ()))

    def _real(self) -> str:
        dtype = self.dtype()
        return dtype if not dtype.startswith("complex") else "float64"

    def named(self) -> str:
        """Return an array with named axes."""
        inner = self._square() if self.rng.random() < 0.8 else self.rng.choice((self.sparse, self.scalar))()
        return f"NamedTensor({inner}, ('a', 'b'))"

    def uncertain(self) -> str:
        """Return an array with standard deviations."""
        return f"UncertainTensor(dk.asarray({self.array(*self.some_shape(), dtype=self._real())}), 0.5)"

    def quantity(self) -> str:
        """Return an array with a unit."""
        # Integers and half precision wrap around and overflow elsewhere in base units.
        unit, dtype = self.rng.choice(("m", "km", "mm", "s", "", "m/s")), self.dtype()
        # So do infinite complex numbers: their products with real ones have NaN as the other part.
        if unit in ("km", "mm") and dtype not in ("float32", *(("complex64", "complex128") if self.finite else ())):
            dtype = "float64"
        inner = self.array(*self.part_of_batch(), self.n, *((self.n,) * (make := self.rng.random() < 0.8)), dtype=dtype)
        return f"QuantityTensor({f'dk.asarray({inner})' if make else f'DiagonalTensor({inner})'}, {unit!r})"

    def masked(self, shape: tuple[int, ...] | None = None) -> str:
        """Return an array with missing elements."""
        shape = self.some_shape() if shape is None else shape
        valid = f"np.array({self._nested(shape, 'bool')}, 'bool').reshape({shape})"
        return f"MaskedTensor(dk.asarray({self.array(*shape)}), {valid})"

    def whole(self) -> str:
        """Return an array with a mask of which nothing is missing."""
        inner = f"dk.asarray({self.array(*self.some_shape())})" if self.rng.random() < 0.8 else self.banded()
        return f"MaskedTensor({inner})"

    def _wrapped(self, text: str, *wrappers: str, unit: str | None = None) -> str:
        if unit is None:
            unit = "km" if "float64" in text and self.rng.random() < 0.5 else "m"
        wrappers = tuple(w for w in (*wrappers, f"QuantityTensor({{}}, {unit!r})") if self.rng.random() < 0.5)
        for wrapper in self.rng.sample(wrappers, len(wrappers)):
            text = wrapper.format(text)
        return text

    def nested(self) -> str:
        """Return an array in several of the wrappers, in any order; nothing is missing."""
        if self.rng.random() < 0.3:
            inner = self.rng.choice((*self._inner(), self.lazy))()
            return self._wrapped(inner, "MetadataTensor({})", "MaskedTensor({})", "UncertainTensor({})", unit="m")
        inner = f"dk.asarray({self.array(*self.some_shape(), dtype=self._real())})"
        return self._wrapped(inner, "MetadataTensor({})", "MaskedTensor({})", "UncertainTensor({})")

    def nested_masked(self) -> str:
        """Return an array with missing elements in several wrappers."""
        if self.rng.random() < 0.3:
            named = "NamedTensor({}, ('a', 'b'))"
            return self._wrapped(self.masked((self.n, self.n)), "MetadataTensor({})", named)
        return self._wrapped(self.masked(), "MetadataTensor({})")

    def nested_named(self) -> str:
        """Return an array with named axes in several wrappers."""
        inner = (
            self._square(dtype=self._real()) if self.rng.random() < 0.7 else self.rng.choice((self.sparse, self.lora))()
        )
        unit = None if inner.startswith("dk") else "m"
        wrapped = self._wrapped(inner, "MaskedTensor({})", "MetadataTensor({})", "UncertainTensor({})", unit=unit)
        return f"NamedTensor({wrapped}, ('a', 'b'))"


STRUCTURED = (
    *("scalar", "diagonal", "permutation", "triangular", "banded", "blocks", "low_rank", "low_rank_update"),
    *("kronecker", "shifted_kronecker", "toeplitz", "circulant", "rectangular", "lazy_sum"),
)
# What the instances of one program are drawn from; plain tensors come with all of them.
KINDS: dict[str, tuple[str, ...]] = {
    "structured": STRUCTURED,
    "together": (*STRUCTURED, "sparse", "sparse", "quantized", "lora", "metadata"),
    "sparse": ("sparse", "sparse", "diagonal", "scalar"),
    "quantized": ("quantized", "lora", "diagonal"),
    "lazy": ("lazy",),
    "metadata": ("metadata", "diagonal"),
    "named": ("named",),
    "uncertain": ("uncertain",),
    "units": ("quantity",),
    "masks": ("masked",),
    "whole masks": ("whole",),
    "nested": ("nested",),
    "nested masks": ("nested_masked",),
    "nested names": ("nested_named",),
    "mixed": (
        *(*STRUCTURED, "sparse", "quantized", "lora", "lazy", "metadata", "uncertain", "quantity", "whole", "named"),
        *(*("nested",) * 4, *("nested_named",) * 2),
    ),
}
