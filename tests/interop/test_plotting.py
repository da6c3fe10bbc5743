"""What Matplotlib draws of the shipped types."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from dispatchkit.errors import UnitError
from dispatchkit.interop.plotting import boxplot, errorbar, hist, imshow
from dispatchkit.types import MaskedTensor, MetadataTensor, NamedTensor, QuantityTensor, UncertainTensor, Unit
from dispatchkit.types.plotting import Converter, drawn

NAN = float("nan")


def nested() -> Any:
    uncertain = UncertainTensor([1.0, 2.0, 5.0], [0.1, 0.2, 0.3])
    quantity = QuantityTensor(MaskedTensor(uncertain, [True, False, True]), "km")
    return MetadataTensor(NamedTensor(quantity, "time"), {"place": "here"})


def new_axes() -> Any:
    return pytest.importorskip("matplotlib.figure").Figure().add_subplot()


def test_what_is_drawn_of_a_nested_array_has_gaps_errors_and_the_unit_asked_for() -> None:
    shown = drawn(nested()).in_unit(QuantityTensor(1.0, "m").unit)
    np.testing.assert_array_equal(shown.numbers, [1000.0, NAN, 5000.0])
    np.testing.assert_allclose(shown.std, [100.0, NAN, 300.0])
    assert str(shown.unit) == "m"


def test_deviations_of_points_on_a_scale_are_converted_as_differences() -> None:
    warm = QuantityTensor(UncertainTensor([0.0, 100.0], 5.0), "degC")
    shown = drawn(warm).in_unit(QuantityTensor(1.0, "degF").unit)
    np.testing.assert_allclose(shown.numbers, [32.0, 212.0])
    np.testing.assert_allclose(shown.std, [9.0, 9.0])


def test_the_converter_takes_what_has_no_unit_and_labels_nothing_by_it() -> None:
    converter = Converter()
    masked = MaskedTensor([1.0, 2.0], [False, True])
    assert converter.default_units(masked, None) is None
    assert converter.axisinfo(None, None) is None
    np.testing.assert_array_equal(converter.convert(masked, None, None), [NAN, 2.0])


def test_lines_are_in_the_unit_of_the_axis_which_labels_it() -> None:
    axes = new_axes()
    first, second = axes.plot(QuantityTensor([1.0, 2.0], "m"))[0], axes.plot(QuantityTensor([50.0, 150.0], "cm"))[0]
    np.testing.assert_allclose(first.get_ydata(orig=False), [1.0, 2.0])
    np.testing.assert_allclose(second.get_ydata(orig=False), [0.5, 1.5])
    assert axes.get_ylabel() == "m"


def test_a_quantity_of_another_dimension_on_an_axis_is_refused() -> None:
    axes = new_axes()
    axes.plot(QuantityTensor([1.0, 2.0], "m"))
    with pytest.raises(UnitError, match="'s' and 'm' measure different things"):
        axes.plot(QuantityTensor([1.0, 2.0], "s"))


def test_error_bars_of_a_nested_array_are_its_deviations_in_the_unit_of_the_axis() -> None:
    axes = new_axes()
    axes.axhline(QuantityTensor(2000.0, "m"))
    bars = errorbar(axes, [0.0, 1.0, 2.0], nested().data)
    np.testing.assert_array_equal(bars[0].get_ydata(orig=False), [1000.0, NAN, 5000.0])
    ends = [segment[:, 1].tolist() for segment in bars[2][0].get_segments() if len(segment)]
    np.testing.assert_allclose([ends[0], ends[-1]], [[900.0, 1100.0], [4700.0, 5300.0]])


def ends_of(bars: Any) -> list[list[float]]:
    return [segment[:, 1].tolist() for segment in bars[2][0].get_segments() if np.size(segment)]


def test_error_bars_that_are_given_are_converted_as_differences() -> None:
    way, room = QuantityTensor([1.0, 2.0], "m"), QuantityTensor([20.0, 21.0], "degC")
    bars = errorbar(new_axes(), [0.0, 1.0], way, yerr=QuantityTensor([10.0, 20.0], "cm"))
    np.testing.assert_allclose(ends_of(bars), [[0.9, 1.1], [1.8, 2.2]])
    bars = errorbar(new_axes(), [0.0, 1.0], room, yerr=QuantityTensor([[0.9, 0.9], [1.8, 1.8]], "delta_degF"))
    np.testing.assert_allclose(ends_of(bars), [[19.5, 21.0], [20.5, 22.0]])
    bars = errorbar(new_axes(), [0.0, 1.0], UncertainTensor([1.0, 2.0], 0.5), yerr=0.25)
    np.testing.assert_allclose(ends_of(bars), [[0.75, 1.25], [1.75, 2.25]])


def test_error_bars_of_another_dimension_and_of_numbers_without_a_unit_are_refused() -> None:
    with pytest.raises(UnitError, match="'s' and 'm' measure different things"):
        errorbar(new_axes(), [0.0], QuantityTensor([1.0], "m"), yerr=QuantityTensor([1.0], "s"))
    with pytest.raises(UnitError, match="errorbar: yerr is in 's', and y has no unit"):
        errorbar(new_axes(), [0.0], [1.0], yerr=QuantityTensor([1.0], "s"))


def test_an_array_that_was_made_before_matplotlib_was_imported_is_drawn_in_its_unit() -> None:
    pytest.importorskip("matplotlib")
    program = (
        "from dispatchkit.types import NamedTensor, QuantityTensor\n"
        "x = NamedTensor(QuantityTensor([1.0, 2.0], 'm'), 'time')\n"
        "from matplotlib.figure import Figure\n"
        "axes = Figure().add_subplot()\n"
        "axes.plot(x)\n"
        "assert str(axes.yaxis.units) == 'm'\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("method", ["plot", "scatter", "step", "bar"])
def test_every_nesting_is_drawn_alike(method: str) -> None:
    for wrap in (lambda x: x, lambda x: MetadataTensor(x, {"place": "here"}), lambda x: x.data, lambda x: x.data.data):
        axes = new_axes()
        getattr(axes, method)([0.0, 1.0, 2.0], wrap(nested()))
        axes.get_figure().draw_without_rendering()
        assert axes.yaxis.label.get_text() == "km"
        assert axes.dataLim.y1 == 5.0


def test_names_and_metadata_around_numbers_are_left_out() -> None:
    x = MetadataTensor(NamedTensor([1.0, 2.0], "time"), {"place": "here"})
    assert isinstance(x.to_numpy(), np.ndarray)
    np.testing.assert_array_equal(new_axes().plot(x)[0].get_ydata(orig=False), [1.0, 2.0])


def test_arrays_for_plots_know_the_unit_in_every_part_and_what_is_missing() -> None:
    numbers = nested().to_numpy()
    assert numbers.tolist() == [1.0, None, 5.0]
    for part in (numbers, numbers[:1], numbers.data[0], np.reshape(numbers.data, (3, 1)).T):
        np.testing.assert_array_equal(drawn(part).in_unit(Unit("m")).numbers, 1000 * np.asarray(part))
    objects = np.asarray(QuantityTensor([1.0, 2.0], "km"), dtype=object)
    np.testing.assert_array_equal(Converter().convert(objects, Unit("m"), None), [1000.0, 2000.0])
    assert Converter().default_units(objects, None) == Unit("km")


def test_histograms_are_in_the_unit_of_the_axis_and_leave_out_what_is_missing() -> None:
    axes = new_axes()
    counts, edges, _ = axes.hist(nested(), bins=2)
    np.testing.assert_allclose(edges, [1.0, 3.0, 5.0])
    counts, edges, _ = axes.hist(nested().data.data.to("m"), bins=QuantityTensor([0.0, 2000.0, 6000.0], "m"))
    assert (counts.tolist(), edges.tolist(), axes.get_xlabel()) == ([1, 1], [0.0, 2.0, 6.0], "km")
    counts, _, _ = hist(new_axes(), [nested(), QuantityTensor([1000.0, 1000.0], "m")], bins=[0.0, 2.0, 6.0])
    assert np.asarray(counts).tolist() == [[1, 1], [2, 0]]
    with pytest.raises(UnitError, match="'s' and 'km' measure different things"):
        hist(axes, [nested(), QuantityTensor([1.0], "s")])


def test_boxes_are_in_the_unit_of_the_axis_and_leave_out_what_is_missing() -> None:
    axes = new_axes()
    parts = boxplot(axes, [nested(), QuantityTensor([1000.0, 2000.0, 3000.0], "m")])
    assert [line.get_ydata()[0] for line in parts["medians"]] == [3.0, 2.0]
    assert axes.get_ylabel() == "km"
    axes = new_axes()
    boxplot(axes, nested(), orientation="horizontal")
    assert axes.get_xlabel() == "km"
    assert new_axes().boxplot(nested())["medians"][0].get_ydata()[0] == 3.0


def test_images_have_gaps_names_at_the_axes_and_the_unit_at_the_bar_of_colours() -> None:
    axes = new_axes()
    heights = QuantityTensor(MaskedTensor(UncertainTensor([[1.0, 2.0]], 0.1), [[True, False]]), "m")
    image = imshow(axes, NamedTensor(heights, ("y", "x")))
    assert image.get_array().tolist() == [[1.0, None]]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "y")
    assert axes.get_figure().axes[1].get_ylabel() == "m"
    assert new_axes().imshow(heights.to_numpy()).get_array().tolist() == [[1.0, None]]


def test_bars_points_and_error_bars_of_matplotlib_are_converted_and_gaps_stay() -> None:
    axes, km = new_axes(), nested().data.data
    bars = axes.bar(["a", "b", "c"], km, yerr=QuantityTensor([100.0, 100.0, 100.0], "m"))
    np.testing.assert_array_equal([bar.get_height() for bar in bars], [1.0, NAN, 5.0])
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["a", "b", "c"]
    drawn_bars = axes.errorbar([0.0, 1.0, 2.0], km.to("m"), yerr=QuantityTensor(500.0, "m"))
    np.testing.assert_allclose(drawn_bars[0].get_ydata(orig=False), [1.0, NAN, 5.0])
    np.testing.assert_allclose(ends_of(drawn_bars)[0], [0.5, 1.5])
    points = axes.scatter([0.0, 1.0, 2.0], km.to("m"), c=km.to_numpy())
    np.testing.assert_allclose(points.get_offsets()[::2], [[0.0, 1.0], [2.0, 5.0]])
    axes.yaxis.set_units(Unit("m"))
    np.testing.assert_allclose(drawn_bars[0].get_ydata(orig=False), [1000.0, NAN, 5000.0])


def test_limits_of_an_axis_are_quantities_of_which_one_may_be_left_out() -> None:
    axes, one = new_axes(), QuantityTensor(1.0, "m")
    axes.set_ylim(QuantityTensor(50.0, "cm"), one)
    np.testing.assert_allclose(axes.get_ylim(), [50.0, 100.0])
    axes.set_ylim(None, 2 * one)
    np.testing.assert_allclose(axes.get_ylim(), [50.0, 200.0])
    with pytest.raises(UnitError, match="'s' and 'cm' measure different things"):
        axes.yaxis.update_units((one, QuantityTensor(1.0, "s")))


def test_the_package_does_not_import_matplotlib() -> None:
    program = (
        "import sys, dispatchkit as dk; dk.types.QuantityTensor([1.0], 'm'); assert 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
