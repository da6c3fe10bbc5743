"""Losses, normalization and norms of masked and named arrays: the missing is left out, and axes keep their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
import dispatchkit.nn.functional as F  # noqa: N812  # as in PyTorch's programs
from dispatchkit.types import MaskedTensor, NamedTensor, QuantityTensor

PREDICTED = np.asarray([0.2, 0.9, 0.6, 0.3])
TARGET = np.asarray([0.25, 0.5, 0.75, 0.125])
THERE = np.asarray([True, False, True, True])
LOSSES: dict[str, Callable[..., Any]] = {
    "mse": F.mse_loss,
    "l1": F.l1_loss,
    "huber": F.huber_loss,
    "smooth l1": F.smooth_l1_loss,
    "kl": F.kl_div,
    "probabilities": F.binary_cross_entropy,
    "logits": F.binary_cross_entropy_with_logits,
}
SCORES = np.arange(24.0).reshape(2, 3, 4) % 5
CLASSES = np.asarray([[0, 1, 1, 2], [2, 0, 1, 2]])


def masked(data: Any, valid: Any) -> Any:
    """Return a masked array that holds NaN in the places of missing numbers."""
    return MaskedTensor(np.where(valid, data, np.nan), valid)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_a_loss_leaves_out_what_is_missing(loss: Any, reduction: str) -> None:
    whole = loss(dk.asarray(PREDICTED[THERE]), dk.asarray(TARGET[THERE]), reduction=reduction).numpy()
    for arguments in ((dk.asarray(PREDICTED), masked(TARGET, THERE)), (masked(PREDICTED, THERE), dk.asarray(TARGET))):
        found = loss(*arguments, reduction=reduction)
        assert type(found) is MaskedTensor
        np.testing.assert_allclose(found.data.numpy()[found.valid.numpy()], np.ravel(whole))


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_nothing_flows_to_where_the_target_is_missing(loss: Any) -> None:
    x = dk.tensor(PREDICTED, requires_grad=True)
    loss(x, masked(TARGET, THERE)).backward()
    some = dk.tensor(PREDICTED[THERE], requires_grad=True)
    loss(some, dk.asarray(TARGET[THERE])).backward()
    assert x.grad is not None
    assert some.grad is not None
    np.testing.assert_allclose(x.grad.numpy()[THERE], some.grad.numpy())
    assert x.grad.numpy()[1] == 0


def test_a_loss_of_nothing_is_missing_and_one_of_a_batch_is_divided_by_its_length() -> None:
    assert not F.mse_loss(dk.asarray(PREDICTED), MaskedTensor(TARGET, False)).valid
    x, target = dk.asarray(PREDICTED.reshape(2, 2)), masked(TARGET.reshape(2, 2), THERE.reshape(2, 2))
    batch: Any = F.kl_div(x, target, reduction="batchmean")
    np.testing.assert_allclose(batch.data, F.kl_div(x, target, reduction="sum").data / 2)


def test_a_loss_of_masked_arrays_refuses_what_it_refuses_of_plain_ones() -> None:
    x, target = dk.asarray(PREDICTED), masked(TARGET, THERE)
    reduction: Any = "max"
    with pytest.raises(ValueError, match="mse_loss: reduction must be 'none', 'mean' or 'sum', found 'max'"):
        F.mse_loss(x, target, reduction=reduction)
    reduction = "batchmean"
    with pytest.raises(ValueError, match="mse_loss: reduction must be 'none', 'mean' or 'sum', found 'batchmean'"):
        F.mse_loss(x, target, reduction=reduction)
    with pytest.raises(ValueError, match=r"mse_loss: argument 'target' has shape \(4,\), expected \(3,\)"):
        F.mse_loss(x[:3], target)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("loss", [F.cross_entropy, F.nll_loss])
def test_places_whose_class_is_missing_do_not_count(loss: Any, reduction: str, dtype: Any) -> None:
    scores, classes = SCORES[0].T, CLASSES[0].astype(dtype)
    weight = dk.asarray([1.0, 2.0, 4.0])
    found = loss(dk.asarray(scores), MaskedTensor(classes, THERE), weight, reduction=reduction)
    whole = loss(dk.asarray(scores[THERE]), dk.asarray(classes[THERE]), weight, reduction=reduction)
    np.testing.assert_allclose(found.data.numpy(), whole.numpy())
    each = loss(dk.asarray(scores), MaskedTensor(classes, THERE), reduction="none")
    np.testing.assert_array_equal(each.valid.numpy(), THERE)
    assert not loss(dk.asarray(scores), MaskedTensor(classes, False)).valid


def test_scores_and_probabilities_of_classes_must_be_there() -> None:
    scores = MaskedTensor(SCORES[0].T, True)
    with pytest.raises(TypeError, match="the score or the weight of a class may be missing, which has no loss"):
        F.cross_entropy(scores, dk.asarray(CLASSES[0]))
    with pytest.raises(TypeError, match="the probability of a class may be missing, which has no loss"):
        F.cross_entropy(dk.asarray(SCORES[0].T), MaskedTensor(np.full((4, 3), 1 / 3), True))


MATRIX = MaskedTensor([[1.0, 2.0, 3.0], [4.0, np.nan, -6.0]], [[True, False, True], [False, False, True]])
NORMS: dict[str, tuple[Callable[[], Any], Any]] = {
    "all": (lambda: dk.linalg.norm(MATRIX), 46.0**0.5),
    "rows": (lambda: np.linalg.norm(MATRIX, axis=1), [10.0**0.5, 6.0]),
    "columns": (lambda: dk.linalg.norm(MATRIX, axis=0), [1.0, None, 45.0**0.5]),
    "fro": (lambda: dk.linalg.matrix_norm(MATRIX), 46.0**0.5),
    "fro, axes kept": (lambda: dk.linalg.matrix_norm(MATRIX, keepdims=True), [[46.0**0.5]]),
    "1": (lambda: dk.linalg.matrix_norm(MATRIX, ord=1), 9.0),
    "inf": (lambda: np.linalg.norm(MATRIX, np.inf), 6.0),
    "-inf": (lambda: dk.linalg.matrix_norm(MATRIX, ord=-np.inf), 4.0),
    "of a vector, 0": (lambda: dk.linalg.vector_norm(MATRIX[1], ord=0), 1.0),
    "of a vector, -1": (lambda: dk.linalg.vector_norm(MATRIX[0], ord=-1), 0.75),
    "of a vector, -inf": (lambda: np.linalg.norm(MATRIX[0], -np.inf), 1.0),
    "normalize": (lambda: F.normalize(MATRIX), [[0.1**0.5, None, 0.9**0.5], [None, None, -1.0]]),
    "layer_norm": (lambda: F.layer_norm(MATRIX[:1], 3, eps=0.0), [[-1.0, None, 1.0]]),
    "batch_norm": (
        lambda: F.batch_norm(MATRIX, training=True, eps=0.25)[:, 2],
        [4.5 / 20.5**0.5, -4.5 / 20.5**0.5],
    ),
    "rms_norm": (lambda: F.rms_norm(MATRIX[1:], 3), [[None, None, -1.0]]),
    "quantiles": (lambda: dk.quantile(MATRIX[0], dk.asarray([0.0, 0.25, 1.0])), [1.0, 1.5, 3.0]),
    "quantiles of rows": (lambda: np.quantile(MATRIX, [[0.5, 1.0]], axis=1), [[[2.0, -6.0], [3.0, -6.0]]]),
}


@pytest.mark.parametrize(("call", "expected"), NORMS.values(), ids=NORMS)
def test_norms_and_what_is_divided_by_them_leave_out_what_is_missing(call: Any, expected: Any) -> None:
    found, want = call(), np.asarray(expected, dtype=object)
    assert type(found) is MaskedTensor
    there = want != None  # noqa: E711  # element by element
    np.testing.assert_array_equal(found.valid.numpy(), there)
    np.testing.assert_allclose(found.data.numpy()[there], want[there].astype(float), rtol=1e-5)


def test_norms_by_singular_values_need_every_element() -> None:
    with pytest.raises(TypeError, match="singular values need every element, and some may be missing"):
        dk.linalg.matrix_norm(MATRIX, ord=2)


def test_no_quantiles_and_quantiles_by_another_method_are_refused() -> None:
    with pytest.raises(TypeError, match="there is no quantile to find"):
        dk.quantile(MATRIX, dk.zeros(0))
    with pytest.raises(TypeError, match="quantiles are found along one axis or all, by interpolation"):
        dk.quantile(MATRIX, 0.5, method="nearest")


def test_a_loss_of_masked_quantities_has_a_unit_and_leaves_out_what_is_missing() -> None:
    x = QuantityTensor(MaskedTensor([1.0, 2.0, 3.0], [True, False, True]), "m")
    found: Any = F.mse_loss(x, QuantityTensor([100.0, 200.0, 500.0], "cm"))
    assert str(found.unit) == "m**2"
    assert found.magnitude.data.item() == 2.0


TABLE: Any = NamedTensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], ("time", "place"))
TURNED: Any = NamedTensor([[1.0, 4.0], [2.0, 5.0], [4.0, 9.0]], ("place", "time"))


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_a_loss_aligns_named_arrays(loss: Any) -> None:
    x, target = dk.sigmoid(TABLE), dk.sigmoid(TURNED)
    each = loss(x, target, reduction="none")
    assert each.names == ("time", "place")
    np.testing.assert_allclose(each.data, loss(x.data, target.data.T, reduction="none"))
    assert loss(x, target).names == ()
    np.testing.assert_allclose(loss(x, target.data.T, reduction="none").data, each.data)
    np.testing.assert_allclose(loss(x.data, target.T, reduction="none").data, each.data)


def test_arrays_of_other_axes_are_not_compared() -> None:
    with pytest.raises(TypeError, match=r"arrays of axes \('time', .* and \('day', 'place'\) cannot be compared"):
        F.mse_loss(TABLE, TABLE.rename(time="day"))


@pytest.mark.parametrize("loss", [F.cross_entropy, F.nll_loss])
def test_classes_are_aligned_with_named_scores(loss: Any) -> None:
    scores, classes = NamedTensor(SCORES, ("batch", "class", "place")), NamedTensor(CLASSES.T, ("place", "batch"))
    plain = loss(dk.asarray(SCORES), dk.asarray(CLASSES), reduction="none")
    for target in (classes, dk.asarray(CLASSES)):
        each = loss(scores, target, reduction="none")
        assert each.names == ("batch", "place")
        np.testing.assert_allclose(each.data, plain)
    assert loss(scores, classes).names == ()
    with pytest.raises(TypeError, match=r"a target of axes \('day',\) does not fit scores of axes"):
        loss(scores, NamedTensor([0, 1], "day"))
    with pytest.raises(TypeError, match="the scores have no names, so that it is not known which axis"):
        loss(dk.asarray(SCORES), classes)


def test_probabilities_of_classes_are_aligned_with_named_scores() -> None:
    scores = NamedTensor(SCORES, ("batch", "class", "place"))
    shares = dk.softmax(NamedTensor(SCORES.T, ("place", "class", "batch")), axis="class")
    found: Any = F.cross_entropy(scores, shares, reduction="none")
    assert found.names == ("batch", "place")
    plain = F.cross_entropy(dk.asarray(SCORES), dk.softmax(dk.asarray(SCORES), axis=1), reduction="none")
    np.testing.assert_allclose(found.data, plain)


def test_normalization_keeps_names_and_takes_axes_by_name() -> None:
    found: Any = F.normalize(TABLE, axis="time")
    assert found.names == ("time", "place")
    np.testing.assert_allclose(found.data, F.normalize(TABLE.data, axis=0))
    assert F.layer_norm(TABLE, 3, dk.ones(3)).names == ("time", "place")
    weight: Any = NamedTensor([1.0, 1.0, 1.0], "place")
    with pytest.raises(TypeError, match="only the array that is normalized has names; take"):
        F.layer_norm(TABLE, 3, weight)


def test_a_rule_for_the_kind_of_losses_answers_each() -> None:
    class Counted(dk.ArrayMethods):
        def to_dense(self) -> Any:
            return dk.asarray(TARGET)

    dk.array_type(fallback=dk.fallback.refuse)(Counted)

    @dk.implements(dk.kinds.loss, Counted)
    def answer_loss(op: Any, /, *args: Any, **kwargs: Any) -> str:
        return str(op.__name__)

    target: Any = Counted()
    names = [loss(dk.asarray(PREDICTED), target) for loss in LOSSES.values()]
    assert names[:3] == ["mse_loss", "l1_loss", "huber_loss"]
    assert {loss.__name__ for loss in dk.kinds.loss} >= {"mse_loss", "cross_entropy", "nll_loss", "kl_div"}
    assert {"layer_norm", "batch_norm"} <= {function.__name__ for function in dk.kinds.normalization}
    assert dk.kinds.loss.lineage() == (dk.kinds.loss, dk.kinds.function, dk.kinds.all)
