"""A call whose kind was met before is carried out as the first one was, with its own arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
import dispatchkit.as_torch as spelled
from dispatchkit.as_torch.calling.plans import key_function, key_of, kinds_of

torch: Any = spelled
X = torch.arange(6.0).reshape(2, 3)
Y = X + 10.0


def test_one_tensor_given_twice_is_no_rule_for_two() -> None:
    assert torch.where(X > 2, X, X).tolist() == X.tolist()
    assert torch.where(X > 2, X, Y).tolist() == [[10.0, 11.0, 12.0], [3.0, 4.0, 5.0]]
    assert torch.cat([X, X], 0)[2, 0].item() == 0.0
    assert torch.cat([X, Y], 0)[2, 0].item() == 10.0


def test_numbers_vary_and_axes_are_told_apart() -> None:
    assert [X.sum(axis).shape for axis in (0, 1, 0, -1)] == [(3,), (2,), (3,), (2,)]
    assert [torch.clamp(X, min=least).min().item() for least in (1.0, 2.5, 1.0)] == [1.0, 2.5, 1.0]
    assert [X.sum(0, keepdim=keep).shape for keep in (True, False, True)] == [(1, 3), (3,), (1, 3)]
    assert [X.view(2, 3).shape, X.view(3, 2).shape, X.view((6,)).shape] == [(2, 3), (3, 2), (6,)]


def test_kinds_of_elements_and_numbers_of_axes_are_told_apart() -> None:
    assert X.sum(0).tolist() == [3.0, 5.0, 7.0]
    assert X.to(torch.int64).sum(0).dtype == torch.int64
    assert (X > 2).sum(0).tolist() == [1, 1, 1]
    assert torch.tensor(2.0).sum(0).item() == 2.0
    assert X[0].max(0).indices.item() == 2


@pytest.mark.parametrize("times", [1, 2])
def test_what_is_refused_is_refused_each_time(times: int) -> None:
    for _ in range(times):
        assert X.sum(1).shape == (2,)
        with pytest.raises(
            IndexError, match=r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 2\)"
        ):
            X.sum(2)
        with pytest.raises(RuntimeError):
            torch.cat([X, X[0, :2]], 0)
        with pytest.raises(RuntimeError, match="boolean tensor"):
            torch.where(X, X, Y)


def test_gradients_and_transformations_are_not_kept() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    for _ in range(2):
        torch.where(x > 1.5, x * x, x).sum().backward()
    assert x.grad.tolist() == [2.0, 8.0]
    assert torch.func.vmap(lambda x: x.sum(0))(X).tolist() == X.sum(1).tolist()


def test_keys_know_types_axes_and_dtypes() -> None:
    assert key_of((X, 1), {}) != key_of((X, True), {})
    assert key_of((X,), {"dim": 0}) == key_of((Y,), {"dim": 0}) != key_of((Y,), {"dim": 1})
    assert key_of((X, 0.5), {}) == key_of((Y, 1.5), {})
    assert key_of(([X, Y],), {}) == key_of(([Y, Y],), {}) != key_of(((Y, Y),), {})
    assert key_of((X, np.float64(1.0)), {}) is key_of((X, slice(1)), {}) is None


def test_keys_know_dtypes_and_devices_by_value() -> None:
    single, double = {"dtype": torch.float32}, {"dtype": torch.float64}
    assert key_of((4,), single) == key_of((4,), {"dtype": np.dtype(np.float32)}) != key_of((4,), double)
    assert key_of((4,), {"device": torch.device("cpu")}) == key_of((4,), {"device": "cpu"})
    assert key_of((4,), {"dtype": torch.bfloat16}) is None
    assert kinds_of((4, torch.float32), frozenset({torch.Tensor})) == "cd"
    by_kind = key_function("cd")
    assert by_kind(4, torch.float32) == by_kind(4, torch.float32) != by_kind(4, torch.float64)


@pytest.mark.parametrize("times", [1, 3])
def test_dtypes_and_devices_are_told_apart(times: int) -> None:
    cpu = torch.device("cpu")
    for _ in range(times):
        for dtype in (torch.float64, torch.float32, torch.int64):
            assert torch.zeros(2, dtype=dtype).dtype is dtype
            assert torch.full((2,), 3, dtype=dtype, device=cpu).dtype is dtype
            assert torch.arange(3, dtype=dtype).dtype is dtype
            assert X.sum(0, dtype=dtype).dtype is dtype
            assert X.to(dtype).new_ones(2).dtype is dtype
        assert torch.full((2,), 2.5, dtype=torch.int64).tolist() == [2, 2]
        with pytest.raises(TypeError, match=r"torch\.bfloat16 is no dtype"):
            torch.zeros(2, dtype=torch.bfloat16)


@pytest.mark.parametrize("make", [torch.zeros, torch.ones, torch.empty, torch.rand, torch.randn])
def test_what_is_made_is_a_tensor_that_shares_its_memory_with_none(make: Any) -> None:
    y = make(2, requires_grad=True)
    assert type(y) is torch.Tensor
    assert y._memory is None
    assert y.is_leaf
    (y * 2).sum().backward()
    assert y.grad.tolist() == [2.0, 2.0]


def test_what_is_taken_as_it_is_shares_its_memory() -> None:
    plain = dk.ones(2)
    y = torch.asarray(plain)
    y += 1
    assert plain.tolist() == [2.0, 2.0]
    assert y._memory is plain._memory


def test_a_call_of_the_kind_of_one_that_went_well_says_in_pytorchs_words_what_is_wrong() -> None:
    scores = torch.ones(2, 2)
    for _ in range(2):
        torch.nn.functional.nll_loss(scores, torch.tensor([0, 1]))
    with pytest.raises(ValueError, match=r"Expected input batch_size \(2\) to match target batch_size \(1\)") as raised:
        torch.nn.functional.nll_loss(scores, torch.tensor([0]))
    assert "dispatchkit" not in str(raised.value.__context__)


def test_methods_and_functions_have_plans_of_their_own() -> None:
    for _ in range(3):
        assert X.transpose(0, 1).shape == torch.transpose(X, 0, 1).shape == (3, 2)
        with pytest.raises(TypeError, match="unexpected keyword argument 'out'"):
            X.transpose(0, 1, out=Y)


def test_lengths_in_place_of_a_list_are_looked_at_where_they_do_not_fit() -> None:
    for _ in range(3):
        assert [X.view(3, 2).shape, X.reshape(-1).shape, X.T.reshape(2, 3).shape] == [(3, 2), (6,), (2, 3)]
        assert X.view(6).data_ptr() == X.data_ptr()
        with pytest.raises(RuntimeError):
            X.view(4, 2)
        with pytest.raises(RuntimeError):
            X.T.view(6)
        with pytest.raises(TypeError, match="view"):
            X.view(True)
        with pytest.raises(TypeError, match="reshape"):
            X.reshape(2.0, 3)


def test_keys_tell_lists_from_tuples_and_booleans_from_integers() -> None:
    keys: list[Any] = [
        ((X, value), {}) for value in ((1, 0), [1, 0], (True, 0), (1, False), (1,), 1, True, ((1,), 0), ((1, 0),))
    ]
    assert len({key_of(*call) for call in keys}) == len(keys)
    assert key_of((X, (1, (X, 2.0))), {}) == key_of((Y, (1, (Y, 3.0))), {})
    assert key_of((X, object()), {}) is key_of((X, [object()]), {}) is key_of((X, [1] * 9), {}) is None


def test_joined_tensors_of_no_elements_go_with_any() -> None:
    nothing = torch.zeros(0)
    assert torch.cat([nothing, X]).tolist() == X.tolist()
    assert torch.cat([nothing, nothing], 0).shape == (0,)
    assert torch.cat([nothing, X[0]]).tolist() == X[0].tolist()


def test_calls_whose_first_argument_varies_are_told_apart_by_all_that_decides() -> None:
    x, whole = torch.arange(6.0).reshape(2, 3), torch.ones(2, 3, dtype=torch.int64)
    for _ in range(3):
        assert x.unsqueeze(0).shape == (1, 2, 3)
        assert torch.unsqueeze(x, -1).shape == torch.unsqueeze(x, dim=2).shape == (2, 3, 1)
        assert torch.softmax(x, dim=0).sum(dim=0).tolist() == pytest.approx([1.0] * 3)
        assert torch.softmax(x, dim=1).sum(dim=1).tolist() == pytest.approx([1.0] * 2)
        assert x.softmax(dim=1, dtype=torch.float64).dtype == torch.float64
    for _ in range(2):
        with pytest.raises(IndexError, match="Dimension out of range"):
            torch.softmax(x[0], dim=1)
        with pytest.raises(RuntimeError, match="not implemented"):
            torch.softmax(whole, dim=1)
        with pytest.raises(IndexError, match="Dimension out of range"):
            x[0].unsqueeze(2)
        with pytest.raises(TypeError, match="unsqueeze"):
            x.unsqueeze(0.0)


def test_calls_with_sequences_of_tensors_are_told_apart_by_the_kinds_of_these() -> None:
    x, wide, leaf = torch.ones(2), torch.ones(2, dtype=torch.complex128), torch.nn.Parameter(torch.ones(2))
    for _ in range(3):
        for kind in (list, tuple):
            assert torch.cat(kind([x, x])).dtype == torch.stack(kind([x, x])).dtype == x.dtype
            assert torch.cat(kind([x, wide])).dtype == torch.complex128
            assert torch.cat(kind([x, leaf])).requires_grad
            assert type(torch.cat(kind([leaf, leaf]))) is type(x)
            assert torch.cat(kind([x, torch.ones(0)])).shape == (2,)
            assert torch.cat(kind([torch.ones(0), torch.ones(2, 3)]), 1).shape == (2, 3)
            assert torch.cat(kind([torch.ones(0), torch.ones(0)]), 0).shape == (0,)
        with pytest.raises(RuntimeError, match=r"Sizes of tensors must match|same number of dimensions"):
            torch.cat([x, torch.ones(2, 3)])
    mixed = torch.func.vmap(lambda row: torch.cat([row, x]))(torch.ones(3, 2))
    assert mixed.shape == (3, 4)


def test_softmax_along_an_axis_of_nothing_gives_nothing() -> None:
    for dim in (0, 1):
        for function in (torch.softmax, torch.log_softmax, torch.nn.functional.softmax):
            assert function(torch.ones(2, 0), dim=dim).shape == (2, 0)
            with pytest.raises(IndexError, match="Dimension out of range"):
                function(torch.ones(2, 0), dim=2)


def test_keys_of_known_types_tell_apart_what_keys_of_all_do() -> None:
    leaf, wide = torch.nn.Parameter(X), X.double()
    classes = frozenset({type(X), type(leaf)})
    calls: list[list[Any]] = [
        *([X, value] for value in (0, 1, True, "a", None, 0.5, 1.5, (1, 0), [1, 0], (True, 0), (1,), X[0], wide, leaf)),
        *([other, 1] for other in (X[0], wide, leaf, X > 2)),
    ]
    for one in calls:
        for other in calls:
            kinds = [kinds_of(values, classes) for values in (one, other)]
            types = [[*map(type, values)] for values in (one, other)]
            if kinds[0] == kinds[1] is not None and types[0] == types[1]:
                keys = [key_function(kinds[0])(*values) for values in (one, other)]
                assert (keys[0] == keys[1]) == (key_of(one, {}) == key_of(other, {})), (one, other)
    for strange in (np.float64(1.0), object(), [X], (1, 0.5), [1] * 9):
        assert kinds_of([X, strange], classes) is None
    assert key_function("ts")(X, [X]) is None


def test_calls_of_several_arguments_are_told_apart_by_all_that_decides() -> None:
    for _ in range(3):
        assert torch.where(X > 2, X, 0.0).tolist() == [[0.0, 0.0, 0.0], [3.0, 4.0, 5.0]]
        assert torch.where(X > 2, X, -1.0).tolist() == [[-1.0, -1.0, -1.0], [3.0, 4.0, 5.0]]
        assert X.clamp(1.0, 2.0).max().item() == 2.0
        assert X.clamp(1.0, 3.0).max().item() == 3.0
        assert torch.nn.functional.layer_norm(X, (3,)).shape == torch.nn.functional.layer_norm(X, [2, 3]).shape
        assert torch.gather(X, 1, torch.tensor([[0], [1]])).tolist() == [[0.0], [4.0]]
        assert torch.gather(X, 0, torch.tensor([[1, 0, 1]])).tolist() == [[3.0, 1.0, 5.0]]
        with pytest.raises(RuntimeError):
            torch.nn.functional.layer_norm(X, (2,))
        with pytest.raises(RuntimeError):
            torch.gather(X, 1, torch.tensor([[0], [3]]))


def test_arguments_by_name_are_passed_as_they_were_given_the_first_time() -> None:
    x, w = torch.ones(1, 1, 3, 3, requires_grad=True), torch.ones(2, 1, 2, 2)
    for b in (torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])):
        for _ in range(3):
            y = torch.nn.functional.conv2d(x, w, bias=b, stride=1)
            assert y[0, :, 0, 0].tolist() == [4 + b[0].item(), 4 + b[1].item()]
            assert torch.nn.functional.conv2d(x, w, b, 2).shape == (1, 2, 1, 1)


def test_what_is_to_be_written_in_place_is_told_apart_from_what_is_not() -> None:
    x = torch.tensor([-1.0, 2.0])
    for _ in range(2):
        assert torch.nn.functional.elu(x, 1.0, False) is not x
        assert torch.nn.functional.leaky_relu(x, inplace=False).tolist() == pytest.approx([-0.01, 2.0])
        assert torch.nn.functional.hardtanh(x, -0.5, 0.5).tolist() == [-0.5, 0.5]
    assert x.tolist() == [-1.0, 2.0]
    for slope in (0.5, 0.25):
        y = x.clone()
        assert torch.nn.functional.leaky_relu(y, slope, inplace=True) is y
        assert y.tolist() == [-slope, 2.0]
        # PyTorch asks whether it is true, of numbers, too.
        assert torch.nn.functional.elu(y, 1.0, 0.0) is not y
        assert torch.nn.functional.elu(y, 1.0, 2.0) is y


@pytest.mark.parametrize("count", [5, 3000])
def test_signs_have_memory_of_their_own_and_are_0_of_nan(count: int) -> None:
    x = torch.tensor(np.resize(np.asarray([-2.0, 0.0, 3.0, np.nan, -0.0], "float32"), count))
    for function in (torch.sign, torch.sgn):
        assert function(x)[:5].tolist() == [-1.0, 0.0, 1.0, 0.0, 0.0]
    flags = x > 0
    y = torch.sign(flags)
    y[0] = True
    assert flags[0].item() is False


def test_calls_without_elements_say_nothing_of_those_with_elements() -> None:
    for _ in range(3):
        assert torch.ones(2, 0).softmax(1, torch.int32).shape == (2, 0)
    with pytest.raises(NotImplementedError, match="not implemented for 'Int'"):
        torch.ones(2, 3).softmax(1, torch.int32)


def test_memory_is_looked_at_in_another_dtype_each_time() -> None:
    for _ in range(3):
        assert torch.ones(4, dtype=torch.uint8).view(torch.int16).tolist() == [257, 257]
    with pytest.raises(RuntimeError, match=r"self.stride\(-1\) must be 1 to view"):
        torch.ones(8, dtype=torch.uint8)[::2].view(torch.int16)


@pytest.mark.parametrize("function", [torch.median, torch.nanmedian])
def test_medians_along_rows_of_nothing_are_nothing(function: Any) -> None:
    values, places = function(torch.ones(0, 3), 1)
    assert (values.shape, places.shape) == ((0,), (0,))
