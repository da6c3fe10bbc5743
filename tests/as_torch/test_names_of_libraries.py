"""What libraries that are written for PyTorch import of it and ask of it, public or not."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
import pytest

import dispatchkit.as_torch as spelled

torch: Any = spelled  # some names are not public
LISTS = sorted(name for name in vars(spelled) if name.startswith("_foreach_"))
SECOND: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("add", "sub", "mul", "div", "maximum", "minimum", "clamp_min", "clamp_max"), ([0.5, 2.0],)),
    "pow": (2,),
    **dict.fromkeys(("addcmul", "addcdiv"), ("tensors", "tensors", [0.5, 2.0])),
    "lerp": ("tensors", 0.25),
    "copy": ("tensors",),
}


def tensors() -> list[Any]:
    return [torch.tensor([0.25, 0.5]), torch.tensor([[0.75]])]


def arguments(name: str) -> list[Any]:
    chosen = SECOND.get(name.removeprefix("_foreach_").rstrip("_"), ())
    return [tensors() if value == "tensors" else value for value in chosen]


@pytest.mark.parametrize("name", LISTS)
def test_functions_of_lists_compute_each_tensor_as_pytorch(name: str) -> None:
    library = pytest.importorskip("torch")
    first, further = tensors(), arguments(name)
    result = getattr(torch, name)(first, *further)
    before = library.get_default_dtype()
    library.set_default_dtype(library.float64)
    try:
        theirs = [library.tensor(x.numpy()) for x in tensors()]
        others = [
            [library.tensor(x.numpy()) if isinstance(x, spelled.Tensor) else x for x in value]
            if isinstance(value, list)
            else value
            for value in arguments(name)
        ]
        expected = getattr(library, name)(theirs, *others)
    finally:
        library.set_default_dtype(before)
    if name.endswith("_"):
        assert result is None
        result, expected = first, theirs
    for found, wanted in zip(result, expected, strict=True):
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-12)


def test_lists_are_changed_in_place_and_keep_gradients() -> None:
    leaves = [torch.ones(2, requires_grad=True), torch.ones(1, requires_grad=True)]
    sum(torch._foreach_norm(torch._foreach_mul(leaves, [3.0, 4.0]))).backward()
    assert [x.grad.tolist() for x in leaves] == [pytest.approx([3 / 2**0.5] * 2), [4.0]]
    with torch.no_grad():
        torch._foreach_add_(leaves, [x.grad for x in leaves], alpha=-1)
    assert leaves[1].tolist() == [-3.0]
    assert [x.tolist() for x in torch._foreach_pow(2.0, tensors())] == [pytest.approx([2**0.25, 2**0.5]), [[2**0.75]]]
    weights = torch.tensor([1.0, 10.0])
    assert torch._foreach_addcmul(tensors(), tensors(), tensors(), weights)[1].tolist() == [[0.75 + 5.625]]


def test_lists_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(RuntimeError, match=r"Tensor list must have at least one tensor\."):
        torch._foreach_sqrt([])
    with pytest.raises(RuntimeError, match="must have the same number of tensors, got 2 and 1"):
        torch._foreach_add(tensors(), tensors()[:1])
    with pytest.raises(RuntimeError, match="must have same number of elements as scalar list"):
        torch._foreach_mul_(tensors(), [1.0])


def test_lists_are_parted_by_dtype() -> None:
    group = torch.utils._foreach_utils._group_tensors_by_device_and_dtype
    first = [torch.ones(1), torch.ones(2, dtype=torch.float32), torch.ones(3)]
    parts = group([first, [], [1, 2, 3]], with_indices=True)
    assert [[dtype, *part] for (_, dtype), part in parts.items()] == [
        [torch.float64, [[first[0], first[2]], [], [1, 3]], [0, 2]],
        [torch.float32, [[first[1]], [], [2]], [1]],
    ]


def test_futures_are_there_later() -> None:
    first, second = torch.futures.Future(), torch.futures.Future()
    together = torch.futures.collect_all([first, second, first])
    doubled = first.then(lambda done: 2 * done.wait())
    failed = first.then(lambda done: 1 // 0)
    assert not together.done()
    with pytest.raises(RuntimeError, match=r"not done; ask done\(\) first"):
        first.value()
    first.set_result(21)
    second.set_result(2)
    assert doubled.value() == 42
    assert [each.value() for each in together.wait()] == [21, 2, 21]
    assert torch.futures.wait_all([doubled, second]) == [42, 2]
    assert torch.futures.collect_all([]).value() == []
    with pytest.raises(ZeroDivisionError):
        failed.wait()


def test_futures_that_threads_finish_are_collected_once() -> None:
    for _ in range(20):
        futures = [torch.futures.Future() for _ in range(8)]
        together = torch.futures.collect_all(futures)
        threads = [threading.Thread(target=future.set_result, args=(n,)) for n, future in enumerate(futures)]
        for thread in threads:
            thread.start()
        assert [each.value() for each in together.wait()] == list(range(8))
        for thread in threads:
            thread.join()


def test_rules_of_functions_may_be_class_methods() -> None:
    class Cut(torch.autograd.Function):  # type: ignore[misc]  # of any type
        @classmethod
        def forward(cls, ctx: Any, x: Any, dim: int) -> Any:
            result = x.clamp(min=0)
            ctx.save_for_backward(result)
            ctx.dim = dim
            return result

        @classmethod
        def backward(cls, ctx: Any, grad: Any) -> Any:
            (result,) = ctx.saved_tensors
            assert type(grad) is type(result) is torch.Tensor
            return (grad - grad.mean(dim=ctx.dim, keepdim=True)) * (result > 0), None

    x = torch.tensor([[1.0, -2.0, 3.0]], requires_grad=True)
    (Cut.apply(x, -1) * torch.tensor([1.0, 2.0, 6.0])).sum().backward()
    assert x.grad.tolist() == [[-2.0, 0.0, 3.0]]


def test_the_class_of_tensors_stands_for_the_default_dtype() -> None:
    assert (torch.tensor([1, 2]) > 1).type(torch.Tensor).dtype == torch.get_default_dtype()


def test_members_of_modules_can_be_walked_backwards() -> None:
    layers = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    assert [name for name, _ in reversed(layers._modules.items())] == ["1", "0"]
    assert list(reversed(layers._modules)) == list(reversed(layers._modules.keys())) == ["1", "0"]
    assert next(reversed(layers._modules.values())) is layers[1]
    assert [name for name, _ in reversed(layers[0]._parameters.items())] == ["bias", "weight"]


def test_distributions_are_extended_by_the_names_that_are_not_public() -> None:
    value = torch.ones(2, 3, 4)
    assert torch.distributions.utils._sum_rightmost(value, 2).tolist() == [12.0, 12.0]
    assert torch.distributions.utils._sum_rightmost(value, 0) is value
    assert isinstance(torch.distributions.ExpTransform().inv, torch.distributions.transforms._InverseTransform)

    class Shifted(torch.distributions.Normal):  # type: ignore[misc]  # of any type
        def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
            return super().expand(batch_shape, self._get_checked_instance(Shifted, _instance))

    d = torch.distributions.Normal(0.0, 1.0)
    assert d._get_checked_instance(torch.distributions.Normal, d) is d
    assert type(d._get_checked_instance(torch.distributions.Normal)) is torch.distributions.Normal

    class Other(torch.distributions.Normal):  # type: ignore[misc]  # of any type
        def __init__(self) -> None:
            super().__init__(0.0, 1.0)

    with pytest.raises(NotImplementedError, match=r"Subclass Other of Normal that defines a custom __init__"):
        Other()._get_checked_instance(torch.distributions.Normal)
    expanded = Shifted(0.0, 2.0).expand((3,))
    assert (type(expanded), expanded.variance.tolist()) == (Shifted, [4.0] * 3)


def test_names_that_are_only_asked_for() -> None:
    torch._C._log_api_usage_once("library.part")
    assert not isinstance(torch.nn.Linear(1, 1), torch.jit.ScriptModule)
    assert not isinstance(torch.sum, torch.jit.ScriptFunction)
    assert torch.distributed.ProcessGroup.__doc__.startswith("Processes that do something together")


def test_hooks_of_one_tensor_get_one_object() -> None:
    for create_graph in (False, True):
        grads: list[Any] = []

        def replace(g: Any, grads: list[Any] = grads) -> Any:
            g.note = "of the hook before"
            grads.append(g)
            return 3 * g

        x = torch.ones(2, requires_grad=True)
        y = 2 * x
        y.register_hook(grads.append)
        y.register_hook(replace)
        y.register_hook(grads.append)
        (y * y).sum().backward(create_graph=create_graph)
        assert grads[0] is grads[1]
        assert grads[0].note == "of the hook before"
        assert grads[2].tolist() == [12.0, 12.0]
        assert type(grads[2]) is torch.Tensor
        assert x.grad.tolist() == [24.0, 24.0]


def test_storages_tell_what_shares_memory() -> None:
    x = torch.arange(6.0, dtype=torch.float32).reshape(2, 3)
    whole, part = x.untyped_storage(), x[1].untyped_storage()
    assert whole.data_ptr() == part.data_ptr() == x.data_ptr() != x.clone().untyped_storage().data_ptr()
    assert (part.nbytes(), part.size(), len(part), part.element_size(), str(part.device)) == (24, 24, 24, 1, "cpu")
    typed = x.T.storage()
    assert (typed.size(), typed.tolist(), typed[1:3].tolist(), typed[4]) == (6, [0, 1, 2, 3, 4, 5], [1, 2], 4.0)
    assert (typed.dtype, typed.untyped().nbytes()) == (torch.float32, 24)
    assert sys.getsizeof(whole) > 24
    assert torch.empty(0).untyped_storage().data_ptr() == 0
    assert isinstance(typed, torch.TypedStorage)
    assert isinstance(whole, torch.UntypedStorage)


def test_there_are_no_devices_to_scatter_to() -> None:
    with pytest.raises(RuntimeError, match="there are no devices to scatter tensors to"):
        torch.nn.parallel.scatter_gather.scatter(torch.ones(2), [0])
    assert torch.Future is torch.futures.Future
