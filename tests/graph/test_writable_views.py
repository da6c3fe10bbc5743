"""Views that can be written to, and those that cannot: diagonals, broadcasts, and read-only arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
import dispatchkit.as_torch as torch

MATRIX = np.arange(9.0).reshape(3, 3)
DIAGONALS: dict[str, Callable[[Any], Any]] = {
    "method": lambda x: x.diagonal(),
    "linalg": dk.linalg.diagonal,
    "einsum": lambda x: dk.einsum("ii->i", x),
    "diag": dk.diag,
    "np.diagonal": np.diagonal,
    "np.diag": np.diag,
    "np.einsum": lambda x: np.einsum("ii->i", x),
    "of a transpose": lambda x: x.T.diagonal(),
}
WHOLE: dict[str, Callable[[Any], Any]] = {
    "the same shape": lambda x: dk.broadcast_to(x, (3, 3)),
    "a leading axis": lambda x: dk.broadcast_to(x, (1, 3, 3)),
    "expand": lambda x: x.expand(3, -1),
    "expand_as": lambda x: x.expand_as(dk.ones((3, 3))),
    "broadcast_arrays": lambda x: dk.broadcast_arrays(x, dk.zeros(3))[0],
    "np.broadcast_to": lambda x: np.broadcast_to(x, (3, 3)),
    "np.broadcast_arrays": lambda x: np.broadcast_arrays(x, np.zeros(3))[0],
    "of a transpose": lambda x: x.T.broadcast_to((3, 3)),
    "meshgrid": lambda x: dk.meshgrid(x.reshape(-1))[0],
}
REPEATED: dict[str, Callable[[Any], Any]] = {
    "broadcast_to": lambda x: dk.broadcast_to(x, (2, 3, 3)),
    "expand": lambda x: x[0].expand(2, 3),
    "broadcast_arrays": lambda x: dk.broadcast_arrays(x, dk.zeros((2, 1, 1)))[0],
    "meshgrid": lambda x: dk.meshgrid(x[0], x[0])[0],
    "diagonal of a repeated one": lambda x: x[0].expand(3, 3).diagonal(offset=0)[None].expand(2, 3),
    "of no new elements": lambda x: dk.broadcast_to(x[:1].expand(3, 3), (3, 3)),
}


@pytest.mark.parametrize("view", DIAGONALS.values(), ids=DIAGONALS)
def test_a_diagonal_is_written_to_and_its_gradient_flows(view: Callable[[Any], Any]) -> None:
    x: Any = dk.tensor(MATRIX, requires_grad=True)
    y = x * 1.0
    d = view(y)
    d.mul_(d)
    np.testing.assert_array_equal(y.detach().numpy(), np.where(np.eye(3) == 1, MATRIX**2, MATRIX))
    (y * y).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.where(np.eye(3) == 1, 4 * MATRIX**3, 2 * MATRIX))


@pytest.mark.parametrize("view", WHOLE.values(), ids=WHOLE)
def test_a_broadcast_that_repeats_nothing_is_written_to(view: Callable[[Any], Any]) -> None:
    x: Any = dk.tensor(MATRIX, requires_grad=True)
    y = x * 1.0
    view(y).mul_(3.0)
    np.testing.assert_array_equal(y.detach().numpy(), 3 * MATRIX)
    (y * y).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), 18 * MATRIX)


@pytest.mark.parametrize("view", REPEATED.values(), ids=REPEATED)
def test_views_in_which_elements_are_one_are_not_written_to(view: Callable[[Any], Any]) -> None:
    x = dk.tensor(MATRIX)
    writes: list[Any] = [lambda y: y.add_(1.0), lambda y: y.fill_(2.0), lambda y: y.__setitem__(0, 5.0)]
    for write in writes:
        with pytest.raises(ValueError, match="read-only, as it is after broadcast_to and expand, where several"):
            write(view(x))
    np.testing.assert_array_equal(x.numpy(), MATRIX)


def test_a_read_only_array_and_its_views_stay_read_only() -> None:
    fixed = np.eye(3)
    fixed.flags.writeable = False
    x = dk.asarray(fixed)
    for view in (x, x.diagonal(), x.broadcast_to((1, 3, 3)), x[0]):
        with pytest.raises(ValueError, match=r"add_: the tensor holds a NumPy array that is read-only; change a copy"):
            view.add_(1.0)


def test_changes_of_diagonals_count_and_spoil_what_was_saved() -> None:
    x: Any = dk.tensor(MATRIX, requires_grad=True)
    y = x * 1.0
    z = y.exp()
    before = z._version
    z.diagonal(offset=1).zero_()
    assert z._version == before + 1
    with pytest.raises(dk.errors.InplaceError, match="ExpBackward"):
        z.sum().backward()


def test_views_of_a_diagonal_and_of_its_matrix_see_each_others_changes() -> None:
    x: Any = dk.tensor(MATRIX, requires_grad=True)
    y = x * 1.0
    row, d = y[1], y.diagonal()
    d[1:] = dk.asarray([10.0, 20.0])
    row.mul_(2.0)
    assert d.tolist() == [0.0, 20.0, 20.0]
    (d * d).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.zeros((3, 3)))


def test_jitter_is_added_to_a_diagonal_in_pytorchs_way() -> None:
    k = torch.zeros(3, 3)
    k.diagonal().add_(0.5)
    torch.diagonal(k, 1).fill_(2.0)
    assert k.tolist() == [[0.5, 2.0, 0.0], [0.0, 0.5, 2.0], [0.0, 0.0, 0.5]]


def test_fill_diagonal_is_that_of_pytorch() -> None:
    assert torch.zeros(2, 3).fill_diagonal_(4).tolist() == [[4.0, 0.0, 0.0], [0.0, 4.0, 0.0]]
    tall = torch.zeros(5, 2)
    assert tall.fill_diagonal_(1.0) is tall
    assert tall.tolist() == [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    wrapped = torch.zeros(5, 2).fill_diagonal_(1.0, wrap=True)
    assert wrapped.tolist() == [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    x = torch.ones(2, 2, requires_grad=True)
    y = x * 2.0
    y.fill_diagonal_(7.0)
    (y * y).sum().backward()
    assert x.grad.tolist() == [[0.0, 8.0], [8.0, 0.0]]
