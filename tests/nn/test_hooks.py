"""Hooks around calls: their order, what they may replace, their handles; beside PyTorch where it is installed."""

import copy
import pickle
import re
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit import nn
from dispatchkit.nn.hooks import everywhere
from tests.nn.modules import Net, Scale


class Seen:
    """Notes what hooks are called with, and gives what it is told to."""

    def __init__(self, log: list[Any], name: str, gives: Callable[..., Any] = lambda *args: None) -> None:
        self.log, self.name, self.gives = log, name, gives

    def __call__(self, module: Any, *args: Any) -> Any:
        self.log.append((self.name, plain(args)))
        return self.gives(*args)


def plain(value: Any) -> Any:
    """Return nested tuples of numbers of tensors of either library."""
    if isinstance(value, (tuple, list)):
        return tuple(plain(member) for member in value)
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items()}
    return value.detach().tolist() if hasattr(value, "detach") else value


def here() -> SimpleNamespace:
    """Return what the scenarios need, of this library."""

    class Twice(nn.Module):
        def forward(self, a: Any, b: Any = None, *, c: Any = 0.0) -> Any:
            return a * 2.0 + c if b is None else (a * 2.0, b * 3.0)

    return SimpleNamespace(
        Twice=Twice,
        Sequential=nn.Sequential,
        tensor=dk.tensor,
        leaf=lambda data: dk.tensor(data, requires_grad=True),
        register_pre=nn.register_module_forward_pre_hook,
        register_forward=nn.register_module_forward_hook,
        register_backward=nn.register_module_full_backward_hook,
        register_backward_pre=nn.register_module_full_backward_pre_hook,
        grad=dk.autograd.grad,
    )


def torch_here() -> SimpleNamespace:
    """Return the same of PyTorch."""
    torch = pytest.importorskip("torch")
    hooks = torch.nn.modules.module

    class Twice(torch.nn.Module):  # type: ignore[name-defined, misc]  # whether PyTorch is installed or not
        def forward(self, a: Any, b: Any = None, *, c: Any = 0.0) -> Any:
            return a * 2.0 + c if b is None else (a * 2.0, b * 3.0)

    return SimpleNamespace(
        Twice=Twice,
        Sequential=torch.nn.Sequential,
        tensor=lambda data: torch.tensor(data, dtype=torch.float64),
        leaf=lambda data: torch.tensor(data, dtype=torch.float64, requires_grad=True),
        register_pre=hooks.register_module_forward_pre_hook,
        register_forward=hooks.register_module_forward_hook,
        register_backward=hooks.register_module_full_backward_hook,
        register_backward_pre=hooks.register_module_full_backward_pre_hook,
        grad=torch.autograd.grad,
    )


def order(lib: SimpleNamespace, log: list[Any]) -> Any:
    """Call a module with every kind of hook, two of each, one prepended, and one of all modules."""
    module = lib.Twice()
    handles = []
    for kind in ("forward_pre", "forward", "full_backward_pre", "full_backward"):
        register = getattr(module, f"register_{kind}_hook")
        handles += [register(Seen(log, f"{kind} 1")), register(Seen(log, f"{kind} 2"))]
        handles.append(register(Seen(log, f"{kind} first"), prepend=True))
    handles += [
        lib.register_pre(Seen(log, "all pre")),
        lib.register_forward(Seen(log, "all forward")),
        lib.register_backward_pre(Seen(log, "all backward pre")),
        lib.register_backward(Seen(log, "all backward")),
    ]
    x = lib.leaf([1.0, 2.0])
    try:
        module(x).sum().backward()
        for handle in handles[::2]:
            handle.remove()
        log.append("removed")
        module(x).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    log.append("none")
    module(x).sum().backward()
    return x.grad


def replacing(lib: SimpleNamespace, log: list[Any]) -> Any:
    """Replace arguments, keywords, output and gradients."""
    module = lib.Twice()
    module.register_forward_pre_hook(Seen(log, "single", lambda args: args[0] + 1))
    module.register_forward_pre_hook(Seen(log, "tuple", lambda args: (args[0] * 2,)))
    module.register_forward_pre_hook(
        Seen(log, "both", lambda args, kwargs: (args, {"c": kwargs["c"] + 5.0})), with_kwargs=True
    )
    module.register_forward_hook(Seen(log, "output", lambda args, y: y * 10))
    module.register_forward_hook(Seen(log, "with kwargs", lambda args, kwargs, y: y + 1), with_kwargs=True)
    module.register_full_backward_pre_hook(Seen(log, "grad_output", lambda g: (g[0] * 3,)))
    module.register_full_backward_hook(Seen(log, "grad_input", lambda gi, go: (gi[0] * 7,)))
    x = lib.leaf([1.0, 2.0])
    y = module(x, c=1.0)
    y.sum().backward()
    return y.detach(), x.grad


def several(lib: SimpleNamespace, log: list[Any]) -> Any:
    """Several inputs and outputs, some without gradient, some that no gradient reaches."""
    module = lib.Twice()
    module.register_full_backward_hook(Seen(log, "hook"))
    module.register_full_backward_pre_hook(Seen(log, "pre"))
    a, b = lib.leaf([1.0]), lib.leaf([2.0])
    y, z = module(a, b)
    (y + z).sum().backward()
    y, z = module(a, b)
    y.sum().backward()
    y, z = module(a, lib.tensor([3.0]))
    y.sum().backward()
    module(a, None).sum().backward()
    return a.grad, b.grad


def nested(lib: SimpleNamespace, log: list[Any]) -> Any:
    """Modules inside modules, called twice before the gradients come."""
    model = lib.Sequential(lib.Twice(), lib.Twice())
    for name, module in model.named_modules():
        for kind in ("forward_pre", "forward", "full_backward_pre", "full_backward"):
            getattr(module, f"register_{kind}_hook")(Seen(log, f"{kind} of {name!r}"))
    x = lib.leaf([1.0])
    (model(x) * model(x)).sum().backward()
    return x.grad


def second_order(lib: SimpleNamespace, log: list[Any]) -> Any:
    """Gradients that the hooks take part in are differentiated again."""
    module = lib.Twice()
    module.register_full_backward_hook(Seen(log, "hook", lambda gi, go: (gi[0] * go[0],)))
    x = lib.leaf([3.0])
    y = (module(x) ** 3).sum()
    (g,) = lib.grad(y, [x], create_graph=True)
    (h,) = lib.grad(g.sum(), [x])
    return g.detach(), h


def kept_graph(lib: SimpleNamespace, log: list[Any]) -> Any:
    """Two passes through one call."""
    module = lib.Twice()
    module.register_full_backward_hook(Seen(log, "hook"))
    x = lib.leaf([3.0])
    y = module(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    return x.grad


def raising(lib: SimpleNamespace, log: list[Any]) -> Any:
    """Forward hooks of a call that raises: in `forward`, in a pre-hook, in another forward hook."""

    def fails(*args: Any) -> None:
        raise KeyError("a hook")

    def noting_each() -> Any:
        module = lib.Twice()
        module.register_forward_hook(Seen(log, "never"))
        module.register_forward_hook(Seen(log, "always"), always_call=True)
        module.register_forward_hook(Seen(log, "with kwargs"), always_call=True, with_kwargs=True)
        return module

    with lib.register_forward(Seen(log, "all"), always_call=True):
        with pytest.raises(TypeError):
            noting_each()(lib.tensor([1.0]), c="text")
        log.append("a pre-hook")
        module = noting_each()
        module.register_forward_pre_hook(fails)
        with pytest.raises(KeyError):
            module(lib.tensor([1.0]))
        log.append("a forward hook")
        module = lib.Twice()
        module.register_forward_hook(Seen(log, "before", lambda args, y: y + 1), always_call=True)
        module.register_forward_hook(fails)
        module.register_forward_hook(Seen(log, "after"), always_call=True)
        with pytest.raises(KeyError):
            module(lib.tensor([1.0]))
    return None


SCENARIOS = [raising, order, replacing, several, nested, second_order, kept_graph]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_as_in_pytorch(scenario: Callable[[SimpleNamespace, list[Any]], Any]) -> None:
    expected_log: list[Any] = []
    expected = plain(scenario(torch_here(), expected_log))
    log: list[Any] = []
    assert plain(scenario(here(), log)) == expected
    assert log == expected_log


@pytest.fixture(autouse=True)
def _no_hook_is_left() -> Iterator[None]:
    yield
    assert not everywhere


def test_the_order_of_a_call() -> None:
    log: list[Any] = []
    assert plain(order(here(), log)) == [6.0, 6.0]
    names = [entry if isinstance(entry, str) else entry[0] for entry in log]
    assert names[:8] == [
        "all pre",
        "forward_pre first",
        "forward_pre 1",
        "forward_pre 2",
        "all forward",
        "forward first",
        "forward 1",
        "forward 2",
    ]
    assert names[8:16] == [
        "all backward pre",
        "full_backward_pre first",
        "full_backward_pre 1",
        "full_backward_pre 2",
        "all backward",
        "full_backward first",
        "full_backward 1",
        "full_backward 2",
    ]
    assert names[-1] == "none"


def test_hooks_replace_inputs_outputs_and_gradients() -> None:
    y, grad = replacing(here(), [])
    assert y.tolist() == [(2.0 * 2 * 2 + 6) * 10 + 1, (3.0 * 2 * 2 + 6) * 10 + 1]
    assert grad.tolist() == [10.0 * 3 * 2 * 7 * 2] * 2


def test_a_handle_removes_its_hook_on_leaving_with() -> None:
    log: list[Any] = []
    module = Scale(2.0)
    with module.register_forward_hook(Seen(log, "hook")):
        module(dk.ones(1))
    module(dk.ones(1))
    assert len(log) == 1


def test_a_handle_used_twice_leaves_later_hooks() -> None:
    module = Scale(2.0)
    log: list[Any] = []
    first = module.register_forward_hook(Seen(log, "first"))
    first.remove()
    module.register_forward_hook(Seen(log, "second"))
    first.remove()
    module(dk.ones(1))
    assert [name for name, _ in log] == ["second"]


def test_hooks_run_where_the_call_raises_if_they_always_do() -> None:
    log: list[Any] = []
    assert raising(here(), log) is None
    names = [entry if isinstance(entry, str) else entry[0] for entry in log]
    first = names[: names.index("a pre-hook")]
    assert first == ["all", "always", "with kwargs"]
    assert [args[-1] for _, args in log[:3]] == [None, None, None]
    assert names[4:] == [*first, "a forward hook", "all", "before", "after"]
    assert log[-1][1] == (([1.0],), [3.0])
    with_kwargs = nn.register_module_forward_hook(Seen(log, "all with kwargs"), always_call=True, with_kwargs=True)
    with with_kwargs, pytest.raises(TypeError):
        here().Twice()(dk.tensor([1.0]), c="text")
    assert log[-1] == ("all with kwargs", (([1.0],), {"c": "text"}, None))


def test_what_such_a_hook_raises_is_a_warning() -> None:
    def fails(*args: Any) -> None:
        raise RuntimeError("the hook's own")

    module = Scale(2.0)
    module.register_forward_hook(fails, always_call=True)
    with (
        pytest.warns(UserWarning, match="Scale: a forward hook with always_call=True raised.*the hook's own"),
        pytest.raises(ValueError, match="broadcast"),
    ):
        module(dk.ones(2), more=dk.ones((3, 5)))


def test_hooks_of_all_modules_replace_what_goes_in_and_out() -> None:
    net = nn.Sequential(Scale(2.0), Scale(3.0))
    with nn.register_module_forward_pre_hook(lambda module, args: args[0] + 1):
        assert net(dk.ones(1)).tolist() == [(1 + 1 + 1) * 2 * 3 + 3]
    with nn.register_module_forward_hook(lambda module, args, output: -output):
        assert net(dk.ones(1)).tolist() == [-6.0]
    x = dk.ones(1, requires_grad=True)
    with nn.register_module_full_backward_hook(lambda module, gi, go: (gi[0] * 10,)):
        net[0](x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [20.0]
    assert net(dk.ones(1)).tolist() == [6.0]


def test_a_module_whose_class_calls_the_call_of_modules_has_the_hooks_of_all() -> None:
    class Loud(Scale):
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return super().__call__(*args, **kwargs)

    seen: list[str] = []
    with nn.register_module_forward_hook(lambda module, args, output: seen.append(type(module).__name__)):
        Loud(2.0)(dk.ones(1))
    assert seen == ["Loud"]


def test_a_hook_that_raises_is_heard_and_named() -> None:
    def fails(module: nn.Module, args: Any) -> None:
        raise KeyError("hook")

    net = Net()
    net.first.register_forward_pre_hook(fails)
    with pytest.raises(KeyError, match="hook") as caught:
        net(dk.ones(2))
    assert caught.value.__notes__ == ["in Scale(factor=2.0), module 'first' of Net"]


def test_hooks_that_do_not_fit_say_so() -> None:
    x = dk.ones(2, requires_grad=True)

    def attempt(kind: str, hook: Any, **options: Any) -> None:
        module = Scale(2.0)
        with getattr(module, f"register_{kind}_hook")(hook, **options):
            module(x).sum().backward()

    with pytest.raises(RuntimeError, match=r"Scale: a forward pre-hook with_kwargs must return None or a tuple of"):
        attempt("forward_pre", lambda m, args, kwargs: args, with_kwargs=True)
    with pytest.raises(
        RuntimeError, match="Scale: a full backward hook returned an invalid number of grad_input, got 2"
    ):
        attempt("full_backward", lambda m, gi, go: (gi[0], gi[0]))
    with pytest.raises(
        RuntimeError, match="full backward pre-hook returned an invalid number of grad_output, got 0, but"
    ):
        attempt("full_backward_pre", lambda m, go: ())
    with pytest.raises(
        TypeError, match=r"^ScaleHooksBackward: expected a hook to return a tuple of tensors, .* found \['int'\]"
    ):
        attempt("full_backward", lambda m, gi, go: (3,))
    message = "ScaleHooksBackward: expected a hook to return gradients of shapes [(2,)], found [(3,)]"
    with pytest.raises(ValueError, match=re.escape(message)):
        attempt("full_backward_pre", lambda m, go: (dk.ones(3),))


def test_where_no_input_requires_a_gradient() -> None:
    module = Scale(2.0)
    log: list[Any] = []
    with module.register_full_backward_hook(Seen(log, "hook")):
        module(dk.ones(2)).sum().backward()
    assert log == [("hook", ((None,), ([1.0, 1.0],)))]
    assert module.weight.grad is not None
    module.register_full_backward_hook(lambda m, gi, go: (dk.ones(2),))
    with pytest.raises(RuntimeError, match="where no input requires a gradient must return None"):
        module(dk.ones(2)).sum().backward()


def test_an_output_without_tensors_is_a_warning() -> None:
    class Listed(nn.Module):
        def forward(self, x: Any) -> list[Any]:
            return [x * 2]

    module = Listed()
    module.register_full_backward_hook(lambda *args: None)
    with pytest.warns(UserWarning, match="Listed: for backward hooks to be called.*but it is a list"):
        module(dk.ones(2, requires_grad=True))


def test_without_a_graph_there_are_no_backward_hooks() -> None:
    log: list[Any] = []
    module = Scale(2.0)
    module.register_full_backward_hook(Seen(log, "hook"))
    with dk.no_grad():
        y = module(dk.ones(2, requires_grad=True))
    assert y.grad_fn is None
    assert log == []


def test_the_identity_keeps_classes_and_shares_memory() -> None:
    class Tagged(dk.Tensor):
        tag: str

    seen: list[Any] = []

    class Looks(nn.Module):
        def forward(self, x: Any) -> Any:
            seen.append(x)
            return x * 2

    x = Tagged([1.0, 2.0], requires_grad=True)
    x.tag = "own"
    module = Looks()
    module.register_full_backward_hook(lambda *args: None)
    y = module(x)
    assert type(seen[0]) is Tagged
    assert seen[0].tag == y.tag == "own"  # type: ignore[attr-defined]
    assert np.shares_memory(seen[0].array, x.array)
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 2.0]


def test_under_grad_hooks_run_and_under_vmap_they_are_refused() -> None:
    log: list[Any] = []
    module = Scale(2.0).requires_grad_(False)
    module.register_full_backward_hook(Seen(log, "hook"))
    assert dk.func.grad(lambda x: module(x).sum())(dk.ones(2)).tolist() == [2.0, 2.0]
    assert len(log) == 1
    with pytest.raises(dk.errors.TransformError, match="Scale: backward hooks cannot see gradients inside vmap or jvp"):
        dk.func.vmap(dk.func.grad(lambda x: module(x).sum()))(dk.ones((3, 2)))


def test_hooks_are_copied_with_the_module() -> None:
    module = Scale(2.0)
    module.register_forward_hook(_doubles)
    for made in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert made(dk.ones(1)).tolist() == [4.0]
        made._hooks.clear()
    assert module(dk.ones(1)).tolist() == [4.0]


def _doubles(module: nn.Module, args: Any, output: Any) -> Any:
    return output * 2


@pytest.mark.parametrize("create_graph", [False, True])
def test_backward_hooks_record_a_graph_where_the_pass_is_recorded(create_graph: bool) -> None:
    m = nn.Linear(2, 2)
    found: list[bool] = []
    m.register_full_backward_hook(lambda module, grad_input, grad_output: found.append(dk.is_grad_enabled()))
    m.register_full_backward_pre_hook(lambda module, grad_output: found.append(dk.is_grad_enabled()))
    m(dk.ones((1, 2), requires_grad=True)).sum().backward(create_graph=create_graph)
    assert found == [create_graph, create_graph]
