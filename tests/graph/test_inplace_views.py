"""Changes in place where several tensors look at the same memory; `test_inplace_programs` has the random ones."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.backends.arrays import foreign
from dispatchkit.graph import storage
from tests.graph.test_leaves import leaf


def gradient(x: Any) -> Any:
    assert x.grad is not None
    return x.grad.tolist()


def test_gradients_of_a_changed_view_of_its_base_and_of_other_views() -> None:
    """The numbers are PyTorch's: what flows to the views flows to the base, and on from there."""
    w = leaf(1.0, 2.0, 3.0, 4.0)
    x = w * 2
    v, u = x[1:3], x[2:]
    v *= 3
    v[0] = 5.0
    for tensor in (x, u, v):
        tensor.retain_grad()
    ((x**2).sum() + (u**3).sum() + (v * 7).sum()).backward()
    assert x.tolist() == [2.0, 5.0, 18.0, 8.0]
    assert gradient(w) == [8.0, 0.0, 6090.0, 416.0]
    assert gradient(x) == [4.0, 17.0, 1015.0, 208.0]
    assert gradient(u) == [972.0, 192.0]
    assert gradient(v) == [7.0, 7.0]


def test_gradients_of_views_whose_base_is_gone() -> None:
    w = leaf(1.0, 2.0, 3.0)
    x = w * 1
    v, u = x[:2], x[1:]
    del x
    v.retain_grad()
    u.retain_grad()
    u *= w[:2]
    ((u**2).sum() + (v**3).sum()).backward()
    assert v.tolist() == [1.0, 2.0]
    assert gradient(w) == [35.0, 52.0, 24.0]
    assert gradient(v) == [3.0, 12.0]
    assert gradient(u) == [4.0, 12.0]


def test_what_used_a_view_before_a_change_still_retains_its_gradient() -> None:
    # As in PyTorch: the new value of the view is a new point of the graph once the view is used again, not before.
    x = dk.tensor([1.0, 2.0], requires_grad=True)
    base = x * 1.0
    view = base[:]
    before = view * 3.0
    view.retain_grad()
    base.add_(1.0)
    before.sum().backward(retain_graph=True)
    assert view.grad is not None
    assert view.grad.tolist() == [3.0, 3.0]
    after = view * 5.0
    before.sum().backward(retain_graph=True)
    assert view.grad.tolist() == [3.0, 3.0]
    after.sum().backward()
    assert view.grad.tolist() == [8.0, 8.0]


def test_an_assignment_to_a_view_leaves_what_used_it_its_retained_gradient() -> None:
    x = dk.tensor([1.0, 2.0, 3.0], requires_grad=True)
    base = x * 1.0
    view = base[:]
    view.retain_grad()
    view[2:] = view.clone().mean()
    base.sum().backward()
    assert view.grad is not None
    # Of what the view was: two elements stay, and each has a third part in the new one.
    np.testing.assert_allclose(view.grad.numpy(), [4 / 3, 4 / 3, 1 / 3])


def test_retaining_again_is_nothing_new_for_a_view_that_was_changed() -> None:
    x = dk.tensor([1.0, 2.0], requires_grad=True)
    base = x * 1.0
    view = base[:]
    before = view * 3.0
    view.retain_grad()
    base.add_(1.0)
    view.retain_grad()
    before.sum().backward()
    assert view.grad is not None
    assert view.grad.tolist() == [3.0, 3.0]


def test_a_retained_gradient_and_a_hook_follow_the_tensor() -> None:
    w = leaf(1.0, 2.0)
    x = w * 2
    v = x[:1]
    v.retain_grad()
    x *= 3
    seen: list[Any] = []
    v.register_hook(lambda g: seen.append(g.tolist()))
    (v * 5).sum().backward()
    assert gradient(v) == [5.0]
    assert seen == [[5.0]]
    assert gradient(w) == [30.0, 0.0]


def test_a_value_in_the_graph_makes_base_and_views_part_of_it() -> None:
    w = leaf(1.0, 2.0)
    x = dk.zeros(4)
    v, u = x[1:3], x[3:]
    v += w
    assert (x.requires_grad, v.requires_grad, u.requires_grad) == (True, True, True)
    (x**2).sum().backward()
    assert gradient(w) == [2.0, 4.0]


@dk.operation
def diagonal(xp: Any, x: Any, /) -> Any:
    return np.lib.stride_tricks.as_strided(x, (2,), (x.strides[0] + x.strides[1],))


@diagonal.def_transpose
def diagonal_transpose(xp: Any, g: Any, x: Any) -> Any:
    return xp.where(xp.asarray(np.eye(2, dtype=bool)), g, xp.zeros(x.shape))


CHANGES: dict[str, Callable[[Any], Any]] = {
    "slice": lambda x: x[0].__imul__(3),
    "transpose": lambda x: x.T.__imul__(dk.tensor([[2.0, 3.0], [4.0, 5.0]])),
    "element": lambda x: x[0, 1].zero_(),
    "new axis": lambda x: x[None].exp_(),
    "view of a view": lambda x: x.T[1][::-1][:1].multiply_(2.0),
    "mask in a view": lambda x: x[:, 1].__setitem__(dk.tensor([True, False]), 0.0),
    "integers in a view": lambda x: x[:, 1].__setitem__([1, 0], x[:, 0].clone() * 3.0),
    "view by an operation of one's own": lambda x: diagonal(x).multiply_(4.0),
}


@pytest.mark.parametrize("name", CHANGES)
def test_first_and_second_derivatives(name: str) -> None:
    def function(w: Any) -> Any:
        x = w * w
        row, column = x[1], x[:, 1]
        CHANGES[name](x)
        return dk.concat([dk.flatten(x * x), row**2, column * w[0]])

    w = dk.tensor([[0.5, 1.5], [-1.0, 2.0]], requires_grad=True)
    assert dk.autograd.gradcheck(function, (w,))
    assert dk.autograd.gradgradcheck(function, (w,))


def test_python_writes_a_changed_part_back() -> None:
    w = leaf(1.0, 2.0, 3.0)
    x = w * 1
    x[0] += 1
    x[1:] *= w[:2]
    assert x.tolist() == [2.0, 2.0, 6.0]
    x.sum().backward()
    assert gradient(w) == [3.0, 4.0, 2.0]


def test_one_element_is_a_view() -> None:
    x = dk.tensor([1.0, 2.0])
    y: Any = x[1]
    z: Any = dk.tensor([[1.0, 2.0]])[0, 1]
    assert (y.shape, z.shape) == ((), ())
    y.zero_()
    assert x.tolist() == [1.0, 0.0]
    assert x._version == 1


def test_a_stretched_view_sees_a_change_of_its_base() -> None:
    w = leaf(1.0, 2.0)
    x = w * 1
    e = dk.broadcast_to(x, (3, 2))
    x *= 3
    (e**2).sum().backward()
    assert gradient(w) == [54.0, 108.0]


def test_parts_of_one_tensor_can_be_changed() -> None:
    w = dk.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    x = w * 1
    first, second = dk.unstack(x)
    first *= 2
    second += first
    (x**2).sum().backward()
    assert gradient(w) == [[28.0, 48.0], [10.0, 16.0]]


@pytest.mark.parametrize("through", ["base", "view"])
def test_a_change_costs_the_same_however_many_views_there_are(through: str) -> None:
    """Function calls are counted once the views have met a change: later changes need not look at them."""

    def calls(count: int) -> int:
        w = leaf(*map(float, range(count)))
        x = w * 1
        views = [x[i] for i in range(count)]
        changed = x if through == "base" else views[0]
        for _ in range(2):
            changed *= 2
        counted = 0

        def count_call(frame: Any, event: str, argument: Any) -> None:
            nonlocal counted
            counted += event == "call" and frame.f_globals["__name__"].startswith("dispatchkit.")

        sys.setprofile(count_call)
        changed *= 2
        sys.setprofile(None)
        assert [view.requires_grad for view in views] == [True] * count
        return counted

    assert calls(100) == calls(3)


BEHIND: dict[str, Callable[[Any], Any]] = {
    "operation of one array": lambda v: v.exp(),
    "operation of two arrays": lambda v: v * v,
    "number": lambda v: 3.0 * v,
    "reduction": lambda v: v.sum(),
    "several arrays": lambda v: dk.where(dk.tensor([True, False]), v, v * 2),
    "sequence": lambda v: dk.concat([v, v]),
    "several results": lambda v: dk.unstack(v)[0],
    "view": lambda v: v[0],
    "copy": lambda v: v.__copy__(),
    "subclass": lambda v: v.as_subclass(Series) * 1,
    "change": lambda v: v.multiply_(3.0),
    "assignment": lambda v: v.__setitem__(0, 5.0) or v,
    "Function": lambda v: Double.apply(v),
    "checkpoint": lambda v: dk.func.checkpoint(lambda u: u * 2)(v),
    "other contents": lambda v: given_other_contents(v),
}


def given_other_contents(v: Any) -> Any:
    v.data = v.detach() * 2
    return v


class Double(dk.autograd.Function):
    """Twice its argument."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2


@pytest.mark.parametrize("base", ["kept", "gone"])
@pytest.mark.parametrize("name", BEHIND)
def test_a_view_that_met_several_changes_is_taken_anew_when_it_is_used(name: str, base: str) -> None:
    def gradient_of(use: Callable[[Any], Any]) -> Any:
        w = leaf(1.0, 2.0, 3.0)
        x = w * 1
        v = x[:2]
        u = x[1:]
        x *= 2
        u *= w[:2]
        x *= w
        if base == "gone":
            del x, u
        y = use(v)
        y.sum().backward()
        return gradient(w)

    def use_of_a_copy(v: Any) -> Any:
        return BEHIND[name](v * 1) if name != "other contents" else v

    assert gradient_of(BEHIND[name]) == gradient_of(use_of_a_copy)


def test_a_view_that_left_its_family_keeps_what_it_was() -> None:
    w = leaf(1.0, 2.0)
    x = w * 1
    v = x[:1]
    x *= 3
    v.data = dk.tensor([7.0])
    x *= 5
    (v * 1).sum().backward()
    assert gradient(w) == [3.0, 0.0]


def test_changes_of_tensors_without_elements() -> None:
    w = dk.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    x = w * 1
    v, u = x[:, 1:1], x[2:].T[::-1]
    v *= 2
    u += w[0, 0]
    u[...] = 3.0
    v.zero_()
    assert (v.shape, u.shape) == ((2, 0), (2, 0))
    (x.sum() + v.sum() + (u * u).sum()).backward()
    assert gradient(w) == [[1.0, 1.0], [1.0, 1.0]]


def test_changes_of_a_base_without_elements() -> None:
    w = dk.tensor(np.zeros((0, 3)), requires_grad=True)
    x = w * 1
    v, u = x.T, x[:, ::-2]
    x *= 2
    v *= 3
    u += 1
    (x.sum() + v.sum() + u.sum()).backward()
    assert gradient(w) == []


CONTENTS: dict[str, Callable[[Any], Any]] = {
    "other memory": lambda x: dk.tensor([7.0, 8.0]),
    "the same memory": lambda x: x.detach()[1:],
}


@pytest.mark.parametrize("name", CONTENTS)
def test_a_tensor_given_other_contents_is_no_relative_any_more(name: str) -> None:
    w = leaf(1.0, 2.0)
    x = w * 1
    v = x[1:]
    x.data = CONTENTS[name](x)
    node = x.grad_fn
    v *= 2
    assert x.grad_fn is node
    v.sum().backward()
    assert gradient(w) == [0.0, 2.0]


def test_what_was_overwritten_everywhere_is_let_go() -> None:
    x = leaf(1.0, 2.0) * 1
    v = x[:1]
    before = weakref.ref(v.grad_fn)
    x *= 2
    assert before() is None


class Series(dk.Tensor):
    """Has a view of its own."""

    def head(self) -> Any:
        return self[:1]


def test_views_of_a_subclass() -> None:
    w = leaf(1.0, 2.0)
    x: Any = (w * 1).as_subclass(Series)
    head = x.head()
    head *= 5
    assert type(head) is type(x) is Series
    x.sum().backward()
    assert gradient(w) == [5.0, 1.0]


def test_an_operand_given_by_name_is_part_of_the_graph() -> None:
    low = leaf(0.5, 0.5)
    t: Any = dk.tensor([0.0, 1.0])
    t.clip_(min=low)
    t.sum().backward()
    assert gradient(low) == [1.0, 0.0]


@dk.operation(kind=dk.kinds.elementwise)
def same(xp: Any, x: Any, /) -> Any:
    return x


same.def_partial(1)


@dk.operation
def turned(xp: Any, x1: Any, x2: Any, /) -> Any:
    return x1[::-1]


@turned.def_transpose("x1")
def turned_transpose(xp: Any, g: Any, x1: Any, x2: Any) -> Any:
    return xp.flip(g)


PASSING_ON: dict[str, Callable[[Any], Any]] = {"one": same, "two": lambda x: turned(x, 1.0)}


@pytest.mark.parametrize("name", PASSING_ON)
@pytest.mark.parametrize("tracked", [True, False])
def test_an_operation_that_hands_its_argument_on_gives_a_tensor_of_its_own(name: str, tracked: bool) -> None:
    w = dk.tensor([1.0, 2.0], requires_grad=tracked)
    x = w * 1
    y = PASSING_ON[name](x)
    y *= 3
    assert x.tolist() == [1.0, 2.0]
    if tracked:
        (x + y).sum().backward()
        assert gradient(w) == [4.0, 4.0]


VIEWS_OF_LEAVES: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "view": lambda x: (x, x[:1]),
    "element": lambda x: (x, x[0]),
    "copy": lambda x: (x, x.as_subclass(Series)[1:]),
    "base": lambda x: (t := x.detach(), t[:1].requires_grad_()),
}


@pytest.mark.parametrize("name", VIEWS_OF_LEAVES)
def test_views_and_bases_of_leaves_are_not_changed(name: str) -> None:
    kept = VIEWS_OF_LEAVES[name](leaf(1.0, 2.0))
    changed = kept[0] if name == "base" else kept[1]
    before = changed.tolist()
    message = (
        "^add_: the tensor shares memory with a leaf tensor that requires grad, one being a view of the other, and "
        r"cannot be changed in place while a graph is recorded; change it inside no_grad\(\), or work on a copy$"
    )
    with pytest.raises(dk.AutogradError, match=message):
        changed += 1
    assert changed.tolist() == before
    assert changed._version == 0
    with dk.no_grad():
        changed += 1
    assert kept[0]._version == kept[1]._version == 1


def test_a_view_that_the_graph_does_not_know_of_is_not_changed() -> None:
    x = leaf(1.0, 2.0)
    h = x * 3
    with dk.no_grad():
        v: Any = h[:1]
    part = v[0]
    message = (
        r"^multiply_: the tensor is a view made outside the graph, as inside no_grad\(\), of a tensor in the graph, "
        r"whose gradient would become wrong; change it inside no_grad\(\), make the view while recording is on, or "
        r"change a copy \(x = x.clone\(\)\)$"
    )
    for view in (v, part):
        with pytest.raises(dk.AutogradError, match=message):
            view.multiply_(10.0)
    assert h.tolist() == [3.0, 6.0]
    with dk.no_grad():
        v *= 10.0
    assert h.tolist() == [30.0, 6.0]
    h *= 2
    assert v.tolist() == [60.0]
    assert not v.requires_grad


def test_a_view_is_not_taken_out_of_the_graph_in_place() -> None:
    x = leaf(1.0, 2.0) * 2
    v = x[:1]
    with pytest.raises(
        dk.AutogradError, match=r"^detach_: a view cannot be taken out of the graph in place; use detach\(\)$"
    ):
        v.detach_()
    assert v.requires_grad
    x.detach_()
    assert not x.requires_grad


def test_a_value_changed_through_a_view_is_noticed_where_it_is_needed() -> None:
    x = leaf(1.0, 2.0, 3.0) * 2
    y = x * x
    v = x[2:]
    v *= 2
    with pytest.raises(dk.InplaceError, match="backward of MultiplyBackward"):
        y.sum().backward()


APART = (
    "multiply_: the tensor shares memory with other living tensors, and which elements they have in common is not "
    "known; change a copy (x = x.clone()), or use the result of the operation instead of changing in place"
)


def test_views_of_memory_where_elements_overlap_are_not_changed() -> None:
    x = dk.asarray(np.lib.stride_tricks.as_strided(np.zeros(4), (3, 2), (8, 8)))
    v = x[1:]
    with pytest.raises(dk.AutogradError) as caught:
        x *= leaf(1.0, 2.0)
    assert str(caught.value) == APART
    assert (x._version, x.requires_grad, v.requires_grad) == (0, False, False)


@pytest.fixture
def other_library() -> Iterator[Any]:
    known = list(foreign)
    yield pytest.importorskip("array_api_strict")
    foreign[:] = known


def test_views_in_another_library_are_not_changed(other_library: Any) -> None:
    x: Any = dk.Tensor(other_library.asarray([1.0, 2.0]))
    v = x[1:]
    with pytest.raises(dk.AutogradError) as caught:
        x *= dk.Tensor(other_library.asarray(2.0), requires_grad=True)
    assert str(caught.value) == APART
    assert (x._version, x.requires_grad, v.requires_grad) == (0, False, False)


FAILURES: dict[str, Callable[[Any], Any]] = {
    "shape": lambda v: v.__iadd__(dk.ones((5, 2))),
    "dtype": lambda v: v.__iadd__(1j),
    "index": lambda v: v.__setitem__(7, 1.0),
    "assigned shape": lambda v: v.__setitem__(slice(None), dk.ones(3)),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_leaves_the_whole_family_as_it_was(name: str) -> None:
    w = leaf(1.0, 2.0, 3.0)
    x = w * 2
    v, u = x[:2], x[1:]
    nodes = x.grad_fn, v.grad_fn, u.grad_fn
    with pytest.raises((ValueError, TypeError, IndexError)):
        FAILURES[name](v)
    assert (x.grad_fn, v.grad_fn, u.grad_fn) == nodes
    assert x._version == 0
    assert x.tolist() == [2.0, 4.0, 6.0]
    (x * x).sum().backward()
    assert gradient(w) == [8.0, 16.0, 24.0]


@pytest.mark.parametrize("swept", [True, False])
def test_a_changed_family_is_freed_without_the_collector(swept: bool) -> None:
    gc.collect()
    gc.disable()
    try:
        w = leaf(1.0, 2.0, 3.0)
        x = w * 2
        v, u = x[:2], x[1:]
        v *= 3
        x += 1
        loss = x.sum() + u.sum()
        if swept:
            loss.backward()
        held = [weakref.ref(one) for one in (x, v, u, x.grad_fn, v.grad_fn, loss.grad_fn)]
        del x, v, u, loss
        assert [ref() for ref in held] == [None] * 6
    finally:
        gc.enable()


def test_a_gradient_flows_through_a_view_without_elements_that_was_changed() -> None:
    number, x = dk.tensor(1.5, requires_grad=True), dk.tensor([1.0, 2.0], requires_grad=True)
    none = x[dk.asarray([False, False])]
    view = none.reshape((0, 1))
    none.add_(number)
    (view * view).sum().backward()
    assert number.grad is not None
    assert (number.grad.item(), x.grad is None or x.grad.tolist()) == (0.0, [0.0, 0.0])


def test_numbers_read_as_pairs_are_changed_in_the_graph() -> None:
    z = dk.asarray([1 + 2j, 3 - 1j]).requires_grad_()
    y = z * 1
    pairs = y.view(dk.float64)
    pairs[1:3] = 2 * pairs[:2].clone()
    y.mul_(1j)
    assert pairs.tolist() == [-2, 1, 1, 4]
    dk.sum(pairs * dk.asarray([1.0, 2.0, 3.0, 4.0])).backward()
    assert gradient(z) == [8j, -3j]


def test_a_view_made_while_another_thread_drops_those_that_are_gone_gets_a_gradient(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, w = dk.zeros(3), dk.asarray(2.0, requires_grad=True)
    memory = storage.memory_of(x)

    def reference_meanwhile(view: Any) -> Any:
        reference = weakref.ref(view)
        memory.forget_dead()  # puts another list in the place of the one that it went through
        return reference

    monkeypatch.setattr(storage, "ref", reference_meanwhile)
    view = x[1:]
    monkeypatch.undo()
    x[1] = w
    view.sum().backward()
    assert w.grad is not None
    assert w.grad.item() == 1.0


def test_views_made_by_several_threads_all_get_the_gradient_of_a_later_change() -> None:
    x, w = dk.zeros(4), dk.asarray(2.0, requires_grad=True)

    def make_views(_: int) -> list[Any]:
        return [view for _ in range(200) for view in (x[1:], x.reshape((2, 2)))]

    with ThreadPoolExecutor(4) as pool:
        views = [view for some in pool.map(make_views, range(4)) for view in some]
    x[1] = w
    assert all(view.requires_grad for view in views)
