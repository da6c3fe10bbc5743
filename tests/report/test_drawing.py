"""`draw`: what is in the picture, how it is written as SVG and DOT, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.report import Drawing
from tests.graph.test_leaves import leaf

SVG = "{http://www.w3.org/2000/svg}"


def network() -> tuple[Any, dict[str, Any]]:
    """Return the loss of a network, with its parameters."""
    params = {
        "layer1.weight": dk.ones((5, 4), requires_grad=True),
        "layer1.bias": dk.ones(4, requires_grad=True),
        "layer2.weight": dk.ones((4, 3), requires_grad=True),
        "layer2.bias": dk.ones(3, requires_grad=True),
    }
    w1, b1, w2, b2 = params.values()
    h = dk.relu(dk.ones((2, 5)) @ w1 + b1)
    out = h @ w2 + b2
    loss = dk.mean(dk.logsumexp(out, axis=1)) + 1e-3 * ((w1 * w1).sum() + (w2 * w2).sum())
    return loss, params


def titles(drawing: Drawing, sort: str) -> list[str]:
    return sorted(box.title for box in drawing.picture.boxes if box.sort == sort)


def arrows(drawing: Drawing) -> set[tuple[str, str, str]]:
    boxes = drawing.picture.boxes
    return {(boxes[a.source].title, boxes[a.target].title, a.label) for a in drawing.picture.arrows}


def test_operations_leaves_and_outputs_are_there() -> None:
    loss, params = network()
    drawing = dk.draw({"loss": loss}, params=params)
    assert titles(drawing, "leaf") == sorted(params)
    assert titles(drawing, "output") == ["loss"]
    operations = titles(drawing, "operation")
    assert {"matmul", "relu", "logsumexp", "mean", "sum", "multiply", "add"} == set(operations)
    assert len(operations) == 14
    assert repr(drawing) == "<Drawing: 14 operations, 4 leaves>"
    assert ("layer1.weight", "matmul", "") in arrows(drawing)
    assert ("layer1.weight", "multiply", "×2") in arrows(drawing)
    assert ("relu", "matmul", "") in arrows(drawing)
    assert ("add", "loss", "") in arrows(drawing)


def test_boxes_tell_shape_and_dtype() -> None:
    x = dk.ones((2, 3), dtype=dk.float32, requires_grad=True)
    boxes = {box.title: box.lines for box in dk.draw(x.sum(0)).picture.boxes}
    assert boxes == {"sum": ("(3,) float32",), "leaf": ("(2, 3) float32",), "output": ()}


def test_the_svg_is_well_formed_and_has_every_text_and_arrow() -> None:
    loss, params = network()
    drawing = dk.draw({"loss": loss}, params=params)
    root = ET.fromstring(drawing.svg)  # noqa: S314  # our own text
    texts = [element.text for element in root.iter(f"{SVG}text")]
    for box in drawing.picture.boxes:
        assert box.title in texts
        assert set(box.lines) <= set(texts)
    paths = [element.get("class") for element in root.iter(f"{SVG}path")]
    assert paths.count("arrow") == paths.count("head") == len(drawing.picture.arrows)
    assert drawing._repr_svg_() == drawing.svg


def test_texts_fit_into_their_boxes_and_boxes_into_the_picture() -> None:
    loss, params = network()
    root = ET.fromstring(dk.draw({"the loss of the network": loss}, params=params).svg)  # noqa: S314
    _, _, width, height = map(float, str(root.get("viewBox")).split())
    checked = 0
    for group in root.iter(f"{SVG}g"):
        rect = group.find(f"{SVG}rect")
        if rect is None:
            continue
        x, y, w, h = (float(str(rect.get(name))) for name in ("x", "y", "width", "height"))
        assert 0 <= x <= x + w <= width
        assert 0 <= y <= y + h <= height
        for text in group.findall(f"{SVG}text"):
            size = 13 if text.get("class") == "title" else 11
            # Characters of the fonts named are 0.6 of their size wide.
            assert len(str(text.text)) * 0.6 * size + 16 <= w
            assert y + 0.75 * size <= float(str(text.get("y"))) <= y + h - 0.25 * size
            checked += 1
    assert checked > 30


def test_it_follows_the_readers_colours() -> None:
    svg = dk.draw(leaf(1.0) * 2).svg
    assert "@media (prefers-color-scheme: dark)" in svg
    # Notebooks put the style into their own page.
    rules = re.findall(r"^ *(\S[^{}\n]*) \{ *(?:fill|stroke|text-anchor|font)", svg, re.MULTILINE)
    assert rules
    assert all(rule.startswith(".dk-graph") for rule in rules)


def test_texts_are_escaped() -> None:
    x = leaf(1.0)
    drawing = dk.draw({'<loss> & "more"': x * 2}, params={"a\\b\n<c>": x})
    root = ET.fromstring(drawing.svg)  # noqa: S314
    assert '<loss> & "more"' in [element.text for element in root.iter(f"{SVG}text")]
    assert r'label="<loss> & \"more\""' in drawing.dot
    assert r"a\\b <c>" in drawing.dot


def test_the_dot_text() -> None:
    x = leaf(1.0, 2.0)
    drawing = dk.draw(dk.exp(x) * x, params={"x": x})
    assert drawing.dot == str(drawing)
    assert drawing.dot.splitlines() == [
        "digraph {",
        "  node [shape=box, fontname=monospace]",
        r'  0 [label="multiply\n(2,) float64", style=rounded]',
        r'  1 [label="exp\n(2,) float64", style=rounded]',
        r'  2 [label="x\n(2,) float64", style="rounded,filled"]',
        '  3 [label="output", shape=plaintext]',
        "  1 -> 0",
        "  2 -> 0",
        "  2 -> 1",
        "  0 -> 3",
        "}",
    ]


def test_one_of_several_outputs_is_labelled() -> None:
    x = dk.asarray([[3.0, 1.0], [1.0, 2.0]], requires_grad=True)
    sign, logabsdet = dk.linalg.slogdet(x)
    drawing = dk.draw([logabsdet * 2, sign])
    assert {("linalg.slogdet", "multiply", "[1]"), ("linalg.slogdet", "output 1", "[0]")} <= arrows(drawing)
    assert [box.lines for box in drawing.picture.boxes if box.title == "linalg.slogdet"] == [("2 outputs",)]
    assert 'label="[1]"' in drawing.dot
    assert ">[1]</text>" in drawing.svg


def test_what_is_shared_is_drawn_once() -> None:
    x = leaf(1.0)
    shared = dk.exp(x)
    drawing = dk.draw([dk.sin(shared), dk.cos(shared)])
    assert titles(drawing, "operation") == ["cos", "exp", "sin"]
    assert titles(drawing, "output") == ["output 0", "output 1"]


def test_tensors_that_are_no_leaves_can_have_names() -> None:
    x = leaf(1.0)
    hidden = dk.exp(x)
    drawing = dk.draw(hidden * 2, params=[("hidden", hidden), ("elsewhere", leaf(1.0)), ("constant", dk.ones(1))])
    assert [box.lines for box in drawing.picture.boxes if box.title == "exp"] == [("(1,) float64", "hidden")]


def test_a_tensor_outside_any_graph_and_a_leaf() -> None:
    drawing = dk.draw([dk.ones(2), leaf(1.0)])
    assert arrows(drawing) == {("tensor", "output 0", ""), ("leaf", "output 1", "")}
    ET.fromstring(drawing.svg)  # noqa: S314


def test_an_operation_of_ones_own_has_its_name() -> None:
    @dk.operation
    def twice_over(xp: Any, x: dk.Tensor, /) -> Any:
        return x * 2

    @twice_over.def_vjp
    def twice_over_vjp(xp: Any, g: Any, y: Any, x: Any) -> Any:
        return g * 2

    with dk.autograd.detect_anomaly():
        y = twice_over(leaf(1.0))
    assert titles(dk.draw(y), "operation") == ["twice_over"]


def test_a_large_graph_is_cut_and_says_so() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(2000):
        y = dk.sin(y) + x
    drawing = dk.draw(y, max_nodes=10)
    assert sum(box.sort in ("operation", "leaf") for box in drawing.picture.boxes) == 10
    assert titles(drawing, "more") == ["…"]
    assert drawing.picture.note == "10 of 4001 operations and leaves are shown"
    assert drawing.picture.note in drawing.svg
    assert f'label="{drawing.picture.note}"' in drawing.dot


def test_long_arrows_past_a_hundred_nodes_are_drawn() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(200):
        y = dk.sin(y) + x
    assert dk.draw(y).svg.count('class="head"') > 140


def test_drawing_changes_nothing() -> None:
    loss, params = network()
    dk.draw(loss, params=params).svg  # noqa: B018
    loss.backward()
    assert all(param.grad is not None for param in params.values())
    # The graph is freed by now, and can still be drawn.
    assert "matmul" in dk.draw(loss).dot


@pytest.mark.parametrize("suffix", [".svg", ".dot", ".gv", ".SVG"])
def test_the_suffix_decides_what_is_saved(suffix: str, tmp_path: Path) -> None:
    drawing = dk.draw(leaf(1.0) * 2)
    path = tmp_path / f"graph{suffix}"
    drawing.save(str(path))
    assert path.read_text(encoding="utf-8") == (drawing.svg if suffix.lower() == ".svg" else drawing.dot)


def test_another_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"draw: cannot save as 'graph\.png'; use a name that ends in \.svg, \.dot or"):
        dk.draw(leaf(1.0)).save(tmp_path / "graph.png")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: dk.draw(2.0), TypeError, "draw: output is a float, not a tensor of a graph"),
        (lambda: dk.draw([leaf(1.0), np.ones(1)]), TypeError, "draw: output 1 is a ndarray, not a tensor"),
        (lambda: dk.draw({"loss": None}), TypeError, r"draw: tensors\['loss'\] is a NoneType, not a tensor"),
        (lambda: dk.draw([]), ValueError, "draw: there is no tensor to draw"),
        (lambda: dk.draw(leaf(1.0), max_nodes=0), ValueError, "draw: max_nodes must be at least 1, found 0"),
        (lambda: dk.draw(leaf(1.0), params={"w": 1}), TypeError, r"draw: params\['w'\] is a int, not a tensor"),
    ],
    ids=["number", "array", "None", "nothing", "no nodes", "name"],
)
def test_what_cannot_be_drawn(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_the_picture_in_the_documentation_is_what_its_code_draws() -> None:
    docs = Path(__file__).parents[2] / "docs"
    page = (docs / "seeing.md").read_text(encoding="utf-8")
    (code,) = [
        block for block in re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL) if "drawing =" in block
    ]
    names: dict[str, Any] = {"dk": dk}
    exec(code, names)  # noqa: S102  # the page's own
    assert names["drawing"].svg == (docs / "graph.svg").read_text(encoding="utf-8")
