"""How array types print, alone and in each other: text, formats and tables."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.types import (
    BandedTensor,
    BlockDiagonalTensor,
    CirculantTensor,
    DiagonalTensor,
    KroneckerTensor,
    LazyTensor,
    LowRankTensor,
    MaskedTensor,
    MetadataTensor,
    NamedTensor,
    PermutationTensor,
    QuantityTensor,
    QuantizedTensor,
    ScalarTensor,
    SparseTensor,
    ToeplitzTensor,
    TriangularTensor,
    UncertainTensor,
    Unit,
)

STD = UncertainTensor([3.64, 1.0, 8.16], [0.5, 0.3, 0.64])
RATE = QuantityTensor(MaskedTensor(STD, [True, False, True]), "nmol/min")


@pytest.mark.parametrize(
    ("x", "text", "form"),
    [
        (RATE, "[3.64 ± 0.50, --, 8.16 ± 0.64] nmol/min", "QuantityTensor([3.64 ± 0.50, --, 8.16 ± 0.64], 'nmol/min')"),
        (RATE[0], "3.64 ± 0.50 nmol/min", "QuantityTensor(3.64 ± 0.50, 'nmol/min')"),
        (MaskedTensor([1.0, 5.0], [True, False]), "[1., --]", "MaskedTensor([1., --])"),
        (MaskedTensor([1, 1e300], [True, False]), "[1., --]", "MaskedTensor([1., --])"),
        (UncertainTensor(12345.0, 678.0), "(1.234 ± 0.068)e+04", "UncertainTensor((1.234 ± 0.068)e+04)"),
        (UncertainTensor(1.5), "1.5 ± 0", "UncertainTensor(1.5 ± 0)"),
        (NamedTensor([[1.0, 2.0]], ("a", "b")), "[[1., 2.]] (a: 1, b: 2)", "NamedTensor([[1., 2.]], ('a', 'b'))"),
        (MetadataTensor([1.0], {"run": 7}), "[1.] {'run': 7}", "MetadataTensor([1.], metadata={'run': 7})"),
        (NamedTensor(RATE[:1], "t"), "[3.64 ± 0.50] nmol/min (t: 1)", "NamedTensor([3.64 ± 0.50] nmol/min, ('t',))"),
        (
            QuantityTensor(DiagonalTensor([1.0, 2.0]), "m"),
            "DiagonalTensor([1., 2.]) m",
            "QuantityTensor(DiagonalTensor([1., 2.]), 'm')",
        ),
        (QuantityTensor(np.asarray([1], np.float32), "m"), "[1.] m", "QuantityTensor([1.], 'm', dtype=float32)"),
        (MaskedTensor([[1.5, 20.0]], [[False, True]]), "[[ --, 20.]]", "MaskedTensor([[ --, 20.]])"),
        (MaskedTensor(dk.zeros((0, 2))), "[]", "MaskedTensor([], size=(0, 2))"),
    ],
)
def test_str_is_for_readers_and_repr_names_the_class(x: Any, text: str, form: str) -> None:
    assert str(x) == text
    assert repr(x) == form


@pytest.mark.parametrize(
    ("x", "spec", "text"),
    [
        (RATE, ".1f", "[3.6 ± 0.5, --, 8.2 ± 0.6] nmol/min"),
        (RATE, ".1uS~P", "[3.6(5), --, 8.2(6)] nmol/min"),
        (UncertainTensor(1.2345, 0.0567), ".1uS", "1.23(6)"),
        (UncertainTensor(1.2345, 0.0567), ".2uP", "1.234±0.057"),
        (UncertainTensor(1.2345, 0.0567), ".1uL", "1.23 \\pm 0.06"),
        (UncertainTensor(12345.0, 678.0), ".1uP", "(1.23±0.07)×10⁴"),
        (UncertainTensor(1.2345, 0.0567), ".2e", "(1.23 ± 0.06)e+00"),
        (QuantityTensor(9.81, "m/s**2"), ".1f~P", "9.8 m/s²"),
        (QuantityTensor(9.81, "m/s**2"), ".1f~L", "9.8\\ \\frac{\\mathrm{m}}{\\mathrm{s}^{2}}"),
        (QuantityTensor([1.0, 2.0], "m"), ">7.2f", "[   1.00,    2.00] m"),
        (MaskedTensor([1, 2], [True, False]), "d", "[1, --]"),
        (DiagonalTensor([1.0, 2.0]), ".2f", "DiagonalTensor([1.00, 2.00])"),
        (ScalarTensor(3, 2.0), ".1e", "ScalarTensor(n=3, value=2.0e+00)"),
    ],
)
def test_a_format_reaches_numbers_deviations_and_units(x: Any, spec: str, text: str) -> None:
    assert format(x, spec) == text


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("", "kg*m**2/s**2"),
        ("C", "kg*m**2/s**2"),
        ("~P", "kg·m²/s²"),
        ("~D", "kg * m ** 2 / s ** 2"),
        ("H", "kg m<sup>2</sup>/s<sup>2</sup>"),
        ("~L", r"\frac{\mathrm{kg} \cdot \mathrm{m}^{2}}{\mathrm{s}^{2}}"),
    ],
)
def test_units_are_written_as_pint_does(spec: str, text: str) -> None:
    assert format(Unit("kg*m**2/s**2"), spec) == text


def test_powers_and_degrees_of_units() -> None:
    assert f"{Unit('m') ** 0.5:~P}, {Unit('s') ** -1:~P}, {Unit('degC'):~P}, {Unit(''):~P}" == "m⁰⋅⁵, 1/s, °C, "


@pytest.mark.parametrize("x", [Unit("m"), QuantityTensor(1.0, "m"), DiagonalTensor([1.0])])
def test_other_formats_are_refused(x: Any) -> None:
    with pytest.raises(ValueError, match="invalid format 'no' for a "):
        format(x, "no")


def test_deviations_are_written_as_by_uncertainties() -> None:
    uncertainties = pytest.importorskip("uncertainties")
    rng = np.random.default_rng(0)
    for value, std in zip(
        rng.normal(size=20) * 10.0 ** rng.integers(-7, 7, 20), 10 ** rng.uniform(-7, 6, 20), strict=True
    ):
        for spec in (".2f", ".1f", ".3e", ".1u", ".1uS", ".2uS", "S", "P", "L", ".1uP", ".2uL", ".1ueP"):
            theirs = format(uncertainties.ufloat(value, std), spec).replace("+/-", " ± ")
            assert format(UncertainTensor(value, std), spec) == theirs, (value, std, spec)


def test_lists_keep_what_a_number_would_lose() -> None:
    assert MaskedTensor([[1.0, 2.0]], [[True, False]]).tolist() == [[1.0, None]]
    assert DiagonalTensor([1.0, 2.0]).tolist() == [[1.0, 0.0], [0.0, 2.0]]
    assert list(map(str, QuantityTensor([1.0, 2.0], "m").tolist())) == ["1. m", "2. m"]
    assert [str(x) for x in STD] == ["3.64 ± 0.50", "1.00 ± 0.30", "8.16 ± 0.64"]


@dk.array_type(fallback=dk.fallback.dense)
class Blocks:
    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts
        self.shape, self.dtype = (sum(len(part) for part in parts),), parts[0].dtype

    def to_dense(self) -> Any:
        return dk.concat(self.parts)


SIZE = 60
LARGE: dict[str, Callable[[], Any]] = {
    "plain": lambda: dk.rand((SIZE, SIZE)),
    "diagonal": lambda: DiagonalTensor(dk.rand(SIZE)),
    "banded": lambda: BandedTensor(dk.rand((3, SIZE)), lower=1, upper=1),
    "blocks": lambda: BlockDiagonalTensor([dk.rand((2, 2))] * (SIZE // 2)),
    "circulant": lambda: CirculantTensor(dk.rand(SIZE)),
    "kronecker": lambda: KroneckerTensor(dk.rand((SIZE, 1)), dk.rand((1, SIZE))),
    "lazy": lambda: LazyTensor(dk.rand((SIZE, SIZE))) + 1.0,
    "low rank": lambda: LowRankTensor(dk.rand((SIZE, 2)), dk.rand((2, SIZE))),
    "permutation": lambda: PermutationTensor(list(range(SIZE))),
    "quantized": lambda: QuantizedTensor.from_dense(dk.rand((SIZE, SIZE))),
    "scalar": lambda: ScalarTensor(SIZE, 2.0),
    "sparse": lambda: SparseTensor.from_dense(dk.eye(SIZE)),
    "toeplitz": lambda: ToeplitzTensor(dk.rand(SIZE)),
    "triangular": lambda: TriangularTensor(dk.rand((SIZE, SIZE))),
}
WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "metadata": lambda x: MetadataTensor(x, {"run": 7, "long": list(range(10_000))}),
    "names": lambda x: NamedTensor(x, ("row", "column")),
    "unit": lambda x: QuantityTensor(x, "m"),
    "mask": lambda x: MaskedTensor(x, dk.eye(SIZE) == 0),
    "uncertainty": lambda x: UncertainTensor(x, 0.1),
}


def check_prints(x: Any) -> None:
    limit = 3000 + 4 * len(str(np.random.default_rng(0).random(x.shape)))
    texts = [repr(x), str(x), f"{x:.2f}"]
    if not isinstance(x, dk.Tensor):
        texts.append(f"{x:.1uS~P}")
    for text in texts:
        assert 0 < len(text) < limit, text
    assert x._repr_html_()


def nestings(inner: str) -> list[tuple[str, ...]]:
    """Return wrappers that go around each other, the outermost first."""
    if inner == "plain":
        return [names for count in (1, 2, 3, 5) for names in combinations(WRAPPERS, count)]
    return [("metadata",), ("names",), ("unit",), ("mask",), ("metadata", "names", "unit", "mask")]


@pytest.mark.parametrize("inner", LARGE)
def test_no_nesting_prints_more_than_numpy_would(inner: str) -> None:
    with dk.densify(on="error"):
        check_prints(LARGE[inner]())
    for names in nestings(inner):
        x = LARGE[inner]()
        for name in reversed(names):
            x = WRAPPERS[name](x)
        check_prints(x)


def test_a_long_field_of_a_type_is_cut() -> None:
    x = Blocks([dk.zeros(40)] * 1000)
    assert len(repr(x)) < 3000
    assert "..., tensor([0., 0., 0., ..., 0., 0., 0.])" in repr(Blocks([dk.zeros(80)] * 1000))
    assert repr(Blocks([dk.zeros(1)])) == "Blocks(parts=[tensor([0.])])"


def test_numbers_are_those_that_numpy_writes() -> None:
    values = np.random.default_rng(1).normal(size=(4, 5)) * 1e3
    x = NamedTensor(QuantityTensor(MaskedTensor(values), "m"), ("a", "b"))
    with np.printoptions(precision=4, floatmode="fixed"):
        expected = re.findall(r"-?\d+\.\d+", str(values))
    assert re.findall(r"-?\d+\.\d+", str(x)) == expected


def test_numpys_options_cut_long_arrays() -> None:
    with np.printoptions(threshold=5, edgeitems=1, precision=2):
        assert str(QuantityTensor(np.full(9, 1 / 3), "m")) == "[0.33, ..., 0.33] m"


def test_a_table_has_headings_units_gaps_and_folded_metadata() -> None:
    x = MetadataTensor(NamedTensor(RATE, "time"), {"run": 7})
    html = x._repr_html_()
    cells = re.findall("<t[hd][^>]*>(.*?)</t[hd]>", html)
    assert cells == ["time →", "0", "1", "2", "", "3.64 ± 0.50", "--", "8.16 ± 0.64"]
    assert "in nmol/min" in html
    assert "<details><summary>metadata</summary><pre>run: 7</pre></details>" in html


def test_a_structure_is_a_picture_of_the_matrix() -> None:
    html = QuantityTensor(DiagonalTensor([1.0, 0.0, 2.0]), "m")._repr_html_()
    assert html.count("fill-opacity") == 2
    assert "<pre>DiagonalTensor([1., 0., 2.])</pre>" in html
    assert "&lt;" in MetadataTensor([1.0], {"a": "<b>"})._repr_html_()


def squares(x: Any) -> list[tuple[float, float]]:
    """Return where the squares of a picture are, from left to right."""
    return [(float(a), float(b)) for a, b in re.findall(r'<rect x="([\d.]+)" y="([\d.]+)"', x._repr_html_())]


@pytest.mark.parametrize("n", [65, 1024, 2048])
def test_a_larger_structure_is_a_picture_of_blocks(n: int) -> None:
    assert squares(ScalarTensor(n, 2.0)) == [(4.0 * i, 4.0 * i) for i in range(32)]
    html = QuantityTensor(ScalarTensor(n, 2.0), "m")._repr_html_()
    assert 'aria-label="sizes of 32×32 blocks of elements"' in html


def test_blocks_of_a_picture_show_where_a_large_matrix_is_zero() -> None:
    corner = SparseTensor.coo([1.0], [2999], [0], shape=(3000, 3000))
    assert squares(corner) == [(0.0, 124.0)]
    tall = KroneckerTensor(dk.ones((60, 1)), dk.asarray([[0.0] * 50, [1.0] * 50]))
    assert tall.shape == (120, 50)
    assert {x for x, _ in squares(tall)} == {round(i * 128 * 50 / 120 / 32, 1) for i in range(32)}
    assert "<svg" not in DiagonalTensor(dk.ones(10_001))._repr_html_()


def test_a_picture_makes_nothing_dense_that_is_large() -> None:
    @dk.array_type(fallback=dk.fallback.dense)
    class Ones:
        def __init__(self, n: int) -> None:
            self.n, self.shape, self.dtype = n, (n, n), np.dtype(float)

        def to_dense(self) -> Any:
            return dk.ones(self.shape)

    assert len(squares(Ones(100))) == 32 * 32
    with dk.densify(on="error"):
        assert "<svg" not in Ones(2000)._repr_html_()
    assert "<svg" not in Ones(2000)._repr_html_()


@dk.array_type(fallback=dk.fallback.dense)
@dataclass
class Outer:
    left: Any
    right: Any
    note: str = field(default="", repr=False)

    def to_dense(self) -> Any:
        return dk.outer(self.left, self.right)


def test_dataclasses_print_their_fields_and_cut_long_ones() -> None:
    assert repr(Outer(dk.ones(2), QuantityTensor([1.0], "m"))) == (
        "Outer(left=tensor([1., 1.]), right=QuantityTensor([1.], 'm'))"
    )
    long = Outer(dk.arange(300.0), dk.ones(4))
    text = "tensor([  0.,   1.,   2., ..., 297., 298., 299.])"
    assert repr(long) == f"Outer(left={text}, right=tensor([1., 1., 1., 1.]))"
    assert repr(QuantityTensor(long, "m")) == f"QuantityTensor({long!r}, 'm')"


def test_fields_of_types_are_a_table_with_a_table_for_each_array() -> None:
    html = Outer(dk.ones(2), QuantityTensor([1.5], "m"))._repr_html_()
    assert re.findall("<th>(.*?)</th>", html) == ["left", "right"]
    assert html.count("<table>") == 3
    assert "in m" in html
    inner = Outer(Outer(dk.ones(1), "<b>"), 3)
    assert re.findall("<th>(.*?)</th>", inner._repr_html_()) == ["left", "left", "right", "right"]
    assert "<code>&#x27;&lt;b&gt;&#x27;</code>" in inner._repr_html_()


def test_arrays_in_transformations_print() -> None:
    texts = []

    def show(x: Any) -> Any:
        q = QuantityTensor(MaskedTensor(x), "m")
        texts.extend([repr(q), str(q), q._repr_html_()])
        return (x * x).sum()

    dk.func.grad(show)(dk.ones(2))
    dk.func.vmap(show)(dk.ones((2, 2)))
    dk.func.jvp(show, (dk.ones(2),), (dk.ones(2),))
    assert all(texts)


def test_arrays_among_metadata_are_shown_by_their_shape() -> None:
    x = MetadataTensor([1.0], {"affine": np.eye(4), "spacing": np.asarray([[1.0], [2.0]])})
    assert str(x) == "[1.] {'affine': <ndarray of shape (4, 4), float64>, 'spacing': array([[1.], [2.]])}"
