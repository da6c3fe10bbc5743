"""Compiled steps: a program that computes what the step as written computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.backends.arrays import foreign
from dispatchkit.backends.tracing import is_traced
from dispatchkit.interop.compiling.backends import BACKENDS
from tests.interop.structured import Diagonal

F = dk.nn.functional
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(16, 6)), RNG.integers(0, 3, size=16)
Make = Callable[[Any], Any]


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    yield
    foreign.clear()


def jax() -> Make:
    library = pytest.importorskip("jax")
    library.config.update("jax_enable_x64", True)
    return lambda array: library.numpy.asarray(array)


def torch(monkeypatch: pytest.MonkeyPatch) -> Make:
    """Return what makes arrays of PyTorch, whose traced graphs run as they are: inductor takes ten seconds for each."""
    pytest.importorskip("array_api_compat")
    library = pytest.importorskip("torch")
    monkeypatch.setattr("torch._inductor.compile", lambda graph, inputs: graph)
    return lambda array: library.asarray(np.array(array))


@pytest.fixture(params=["jax", "torch"])
def backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(params=["own arrays", "NumPy's"])
def make(request: pytest.FixtureRequest, backend: str, monkeypatch: pytest.MonkeyPatch) -> Make:
    own = jax() if backend == "jax" else torch(monkeypatch)
    return own if request.param == "own arrays" else np.array


OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "SGD": lambda p: dk.optim.SGD(p, lr=0.1),
    "momentum": lambda p: dk.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
    "dampening": lambda p: dk.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.5),
    "RMSprop": lambda p: dk.optim.RMSprop(p, lr=0.01, momentum=0.9, centered=True),
    "AdamW": lambda p: dk.optim.AdamW(p, lr=0.01, amsgrad=True),
    "Adagrad": lambda p: dk.optim.Adagrad(p, lr=0.1, lr_decay=0.1, initial_accumulator_value=0.1),
    "Adadelta": lambda p: dk.optim.Adadelta(p, eps=1e-2, weight_decay=0.01),
    "Adamax": lambda p: dk.optim.Adamax(p, lr=0.01),
    "NAdam": lambda p: dk.optim.NAdam(p, lr=0.01, momentum_decay=0.1, decoupled_weight_decay=True, weight_decay=0.1),
    "RAdam": lambda p: dk.optim.RAdam(p, lr=0.1),
    "ASGD": lambda p: dk.optim.ASGD(p, lr=0.1, lambd=0.01, t0=8),
    "Rprop": lambda p: dk.optim.Rprop(p, lr=0.01),
}


def trained(make: Make, name: str, backend: str | None, steps: int = 20) -> tuple[list[float], dict[str, Any], Any]:
    """Return losses, values and gradients, and the first weight, of a model with everything that is drawn or kept."""
    dk.manual_seed(0)
    model = dk.nn.Sequential(
        # Without a bias, whose gradient would be rounding errors, which Adam makes as large as others.
        dk.nn.Linear(6, 8, bias=False),
        dk.nn.BatchNorm1d(8),
        dk.nn.GELU(),
        dk.nn.Dropout(0.3),
        dk.nn.Linear(8, 3),
    )
    for tensor in (*model.parameters(), *model.buffers()):
        tensor.array = make(tensor.array)
    optimizer = OPTIMIZERS[name](model.parameters())
    schedule = dk.optim.lr_scheduler.StepLR(optimizer, 5, gamma=0.5)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        dk.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        return {"loss": loss, "step": "done"}

    run = step if backend is None else dk.compile(step, state=[model, optimizer], backend=backend)
    x, y = dk.Tensor(make(X)), dk.Tensor(make(Y))
    losses = []
    for _ in range(steps):
        found = run(x, y)
        assert found["step"] == "done"
        losses.append(found["loss"].detach().item())
        schedule.step()
    values = {name: value.numpy() for name, value in model.state_dict().items()}
    grads = {f"{name}.grad": p.grad.numpy() for name, p in model.named_parameters()}
    return losses, {**values, **grads}, model[0].weight


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_twenty_compiled_steps_equal_those_as_written(name: str, backend: str, make: Make) -> None:
    if make is np.array and name != "AdamW":
        pytest.skip("one optimiser shows how arrays go in and out")
    losses, values, weight = trained(make, name, None)
    np.testing.assert_allclose(losses, trained(np.array, name, None)[0], rtol=1e-8)
    found, others, other = trained(make, name, backend)
    np.testing.assert_allclose(found, losses, rtol=1e-10)
    assert losses[-1] < losses[0]
    for key, value in values.items():
        np.testing.assert_allclose(others[key], value, rtol=1e-10, atol=1e-12, err_msg=key)
    assert type(other.array) is type(weight.array)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script_method:DeprecationWarning")  # as PyTorch imports inductor
def test_inductor_compiles_a_step() -> None:
    pytest.importorskip("array_api_compat")
    library = pytest.importorskip("torch")
    w = dk.Tensor(library.ones(6, dtype=library.float64), requires_grad=True)
    held, optimizer = w.array, dk.optim.SGD([w], lr=0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = dk.sum((x * w) ** 2)
        loss.backward()
        optimizer.step()
        return loss

    run = dk.compile(step, state=optimizer, backend="torch")
    for _ in range(3):
        run(library.full((6,), 0.5, dtype=library.float64))
    np.testing.assert_allclose(w.detach().numpy(), np.full(6, 0.95**3))
    assert w.array is held


def test_a_weight_of_a_declared_type_is_trained_and_stays_one(backend: str, make: Make) -> None:
    model = dk.nn.Module()
    model.weight = dk.nn.Parameter(Diagonal(dk.Tensor(make(np.ones(6)))))
    optimizer = dk.optim.Adam(model.parameters(), lr=0.05)

    def step(x: Any, target: Any) -> Any:
        optimizer.zero_grad()
        found = model.weight @ x
        dk.sum((found - target) ** 2).backward()
        optimizer.step()
        return dk.add(model.weight, model.weight)

    run = dk.compile(step, state=[model, optimizer], backend=backend)
    with dk.densify(on="error"):
        for _ in range(5):
            found = run(dk.Tensor(make(X.T)), dk.Tensor(make(2 * X.T)))
    assert type(found) is type(model.weight) is Diagonal
    np.testing.assert_allclose(found.values.numpy(), 2 * model.weight.values.detach().numpy())
    assert (found.values.numpy() > 2.2).all()


def test_types_among_the_arguments_keep_their_type(backend: str, make: Make) -> None:
    run = dk.compile(lambda d, s: (d + d, s), backend=backend)
    found, text = run(Diagonal(dk.Tensor(make(np.asarray([1.0, 3.0])))), "text")
    assert type(found) is Diagonal
    assert found.values.tolist() == [2.0, 6.0]
    assert text == "text"


def test_a_program_is_made_for_each_shape_and_each_constant(backend: str, make: Make) -> None:
    traced = []

    def mean(x: Any, power: int) -> Any:
        traced.append((x.shape, power))
        return dk.mean(x**power)

    run = dk.compile(mean, backend=backend)
    for shape, power in (((4,), 2), ((5,), 2), ((4,), 2), ((4,), 3)):
        assert run(make(np.full(shape, 2.0)), power).item() == 2.0**power
    assert sorted(set(traced)) == [((4,), 2), ((4,), 3), ((5,), 2)]
    assert len(traced) == 6  # twice for each


def test_arguments_by_other_names_and_in_other_containers_are_another_program(backend: str, make: Make) -> None:
    one, two = (dk.Tensor(make(np.full(2, value))) for value in (1.0, 2.0))
    difference = dk.compile(lambda x, y: x - y, backend=backend)
    assert difference(x=two, y=one).tolist() == difference(y=one, x=two).tolist() == [1.0, 1.0]
    assert difference(y=two, x=one).tolist() == [-1.0, -1.0]
    by_key = dk.compile(lambda pair: pair["x"] - pair["y"], backend=backend)
    assert by_key({"x": two, "y": one}).tolist() == by_key({"y": one, "x": two}).tolist() == [1.0, 1.0]
    first = dk.compile(lambda *groups: sum(groups[0]), backend=backend)
    assert first([one, two], [one]).tolist() == [3.0, 3.0]
    assert first([one], [two, one]).tolist() == [1.0, 1.0]


def test_arrays_and_gradients_that_the_state_is_given_between_calls_are_seen(backend: str, make: Make) -> None:
    w = dk.Tensor(make(np.asarray([1.0, 2.0])), requires_grad=True)
    offset = dk.Tensor(make(np.asarray([1.0])))

    def step(x: Any) -> Any:
        loss = dk.sum(w * w * x) + dk.sum(offset)
        loss.backward()
        return loss

    def gradient() -> Any:
        assert w.grad is not None
        return w.grad.tolist()

    run = dk.compile(step, state=[w, offset], backend=backend)
    x = dk.Tensor(make(np.asarray(1.0)))
    assert [run(x).item() for _ in range(3)] == [6.0] * 3
    assert gradient() == [6.0, 12.0]
    w.array, w.grad = make(np.asarray([3.0, 1.0])), None
    assert run(x).item() == 11.0
    assert gradient() == [6.0, 2.0]
    offset.array = make(np.asarray([2.0, 5.0]))
    assert run(x).item() == 17.0
    assert gradient() == [12.0, 4.0]


def test_a_module_in_another_mode_is_another_program(backend: str, make: Make) -> None:
    drop = dk.nn.Dropout(0.5)
    run = dk.compile(lambda x: drop(x), state=drop, backend=backend)
    x = make(np.ones(100))
    first, second = run(x), run(x)
    assert bool(dk.any(first != second))
    drop.eval()
    assert run(x).tolist() == [1.0] * 100


def test_control_flow_on_values_is_one_error_with_the_line(backend: str, make: Make) -> None:
    def step(x: Any) -> Any:
        if dk.sum(x) > 0:  # the line
            return x
        return -x

    for function in (step, lambda x: dk.sum(x).item()):
        with pytest.raises(dk.CompileError) as caught:
            dk.compile(function, backend=backend)(make(np.ones(3)))
        assert "use dispatchkit.where" in str(caught.value) or "return the tensor" in str(caught.value)
    with pytest.raises(dk.CompileError, match=r"^line \d+ of .*py, `if dk.sum\(x\) > 0:  # the line`, asks"):
        dk.compile(step, backend=backend)(make(np.ones(3)))


def test_a_step_that_fails_leaves_everything_as_it_was(backend: str, make: Make) -> None:
    model = dk.nn.Linear(6, 2)
    for tensor in model.parameters():
        tensor.array = make(tensor.array)
    optimizer = dk.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    before = [(p, p.array, p.detach().numpy().copy()) for p in model.parameters()]

    def step(x: Any) -> None:
        model(x).sum().backward()
        optimizer.step()
        raise ValueError("stop")

    with pytest.raises(ValueError, match=r"^stop"):
        dk.compile(step, state=[model, optimizer], backend=backend)(make(X))
    for p, array, values in before:
        assert p.array is array
        assert p.grad is None
        np.testing.assert_array_equal(p.detach().numpy(), values)
    assert not optimizer.state


def test_what_the_state_lacks_is_missed_and_numbers_that_change_are_refused() -> None:
    jax()
    w = dk.tensor([1.0, 2.0], requires_grad=True)
    optimizer = dk.optim.SGD([w], lr=0.1, momentum=0.9)

    def step(x: Any) -> None:
        dk.sum(w * x).backward()
        optimizer.step()

    with pytest.raises(dk.CompileError, match=r"name in state= every module, optimiser and tensor that"):
        dk.compile(step, state=w)(np.ones(2))
    with pytest.raises(dk.CompileError, match=r"an argument requires a gradient; name it in state="):
        dk.compile(lambda x: x)(dk.ones(2, requires_grad=True))
    optimizer = dk.optim.SGD([w], lr=0.1)
    optimizer.state[w]["count"] = 1

    def count() -> None:
        optimizer.state[w]["count"] += 1

    with pytest.raises(dk.CompileError, match=r"changes 0\.0\.count, 1, which is a constant of the program"):
        dk.compile(count, state=optimizer)()


def test_numbers_that_the_library_would_round_and_other_libraries_are_refused() -> None:
    library = pytest.importorskip("jax")
    library.config.update("jax_enable_x64", False)
    try:
        with pytest.raises(dk.CompileError, match=r"jax would round float64 to float32; JAX has wider numbers after"):
            dk.compile(lambda x: x)(np.ones(2))
    finally:
        library.config.update("jax_enable_x64", True)
    with pytest.raises(ValueError, match=r"^compile: backend must be 'jax' or 'torch', found 'xla'$"):
        dk.compile(lambda x: x, backend="xla")
    strict = pytest.importorskip("array_api_strict")
    with pytest.raises(dk.CompileError, match=r"array_api_strict.*which backend='jax' does not compile"):
        dk.compile(lambda x: x)(dk.Tensor(strict.ones(2)))


def test_modes_and_records_see_the_step_as_written(backend: str, make: Make) -> None:
    run = dk.compile(lambda x: dk.exp(x) + 1, backend=backend)
    x = dk.Tensor(make(np.ones(2)))
    run(x)
    with dk.record_calls() as record:
        run(x)
    assert [call.name for call in record.calls] == ["exp", "add"]


BETWEEN: dict[str, Callable[[Any, Any], Any]] = {
    "nothing": lambda w, optimizer: None,
    "a new array": lambda w, optimizer: setattr(w, "array", -w.array),
    "a change in place": lambda w, optimizer: dk.no_grad()(w.mul_)(2.0),
    "a gradient": lambda w, optimizer: setattr(w, "grad", dk.ones_like(w)),
    "a gradient of NumPy's": lambda w, optimizer: setattr(w, "grad", dk.Tensor(np.ones((6, 3)))),
    "a change of the gradient": lambda w, optimizer: None if w.grad is None else w.grad.mul_(2.0),
    "no gradient": lambda w, optimizer: setattr(w, "grad", None),
    "zeros for gradients": lambda w, optimizer: optimizer.zero_grad(set_to_none=False),
    "a frozen tensor": lambda w, optimizer: optimizer.param_groups[1]["params"][0].requires_grad_(False),
    "another dtype": lambda w, optimizer: setattr(w, "array", w.array.astype(np.float32)),
    "a learning rate": lambda w, optimizer: optimizer.param_groups[0].update(lr=0.01),
    "an option": lambda w, optimizer: optimizer.param_groups[0].update(weight_decay=0.5),
    "no state": lambda w, optimizer: optimizer.state.clear(),
}


@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("forgets", ["first", "last", "zeros", "never"])
def test_a_step_sees_what_changes_between_its_calls(between: str, forgets: str) -> None:
    def losses(backend: str | None, make: Make) -> list[float]:
        w = dk.Tensor(make(np.ones((6, 3))), requires_grad=True)
        b = dk.Tensor(make(np.ones(3)), requires_grad=True)
        optimizer = dk.optim.SGD([{"params": [w]}, {"params": [b], "lr": 0.05}], lr=0.01, momentum=0.5)

        def step(x: Any) -> Any:
            if forgets in ("first", "zeros"):
                optimizer.zero_grad(set_to_none=forgets == "first")
            loss = dk.sum((x @ w + b - 1.0) ** 2)
            loss.backward()
            optimizer.step()
            if forgets == "last":
                optimizer.zero_grad()
            return loss

        run = step if backend is None else dk.compile(step, state=[optimizer], backend=backend)
        found = []
        for turn in range(8):
            if turn == 4:
                BETWEEN[between](w, optimizer)
            x = dk.Tensor(make(X if turn < 6 else X[:5].astype(np.float32) / 8))
            found.append(float(run(x / 8).item()))
            found += [0.0 if p.grad is None else float(p.grad.sum().item()) for p in (w, b)]
            found += [float(optimizer.state[p]["momentum_buffer"].sum().item()) for p in (w, b) if p in optimizer.state]
        return found

    rtol = 1e-6 if between == "another dtype" else 1e-9
    np.testing.assert_allclose(losses("jax", jax()), losses(None, np.array), rtol=rtol)


def test_gradients_of_calls_are_tensors_of_their_own() -> None:
    make = jax()
    w = dk.Tensor(make(np.ones(3)), requires_grad=True)

    def step(x: Any) -> None:
        w.grad = None
        dk.sum(w * x).backward()

    run = dk.compile(step, state=[w])
    gradients = []
    for turn in range(4):
        run(dk.Tensor(make(np.full(3, float(turn)))))
        gradients.append(w.grad)
    assert [g.tolist() for g in gradients if g is not None] == [[float(turn)] * 3 for turn in range(4)]


class Custom(dk.optim.Adam):
    """Begins with something else than zeros."""

    def step(self, closure: Any = None) -> Any:
        for p in self.param_groups[0]["params"]:
            if p.grad is not None and not self.state[p]:
                names = ("exp_avg", "exp_avg_sq")
                self.state[p].update(step=dk.tensor(0.0), **{name: dk.ones_like(p) for name in names})
        return super().step(closure)


BEGINNINGS: dict[str, tuple[Callable[[Any], Any], bool]] = {
    "SGD": (lambda p: dk.optim.SGD(p, lr=0.1, momentum=0.9), True),
    "RMSprop": (lambda p: dk.optim.RMSprop(p, lr=0.01, momentum=0.9, centered=True), True),
    "Adam": (lambda p: dk.optim.Adam(p, lr=0.01), True),
    "RAdam": (lambda p: dk.optim.RAdam(p, lr=0.01), True),
    "ASGD": (lambda p: dk.optim.ASGD(p, lr=0.01), False),
    "Rprop": (lambda p: dk.optim.Rprop(p, lr=0.01), False),
    "dampening": (lambda p: dk.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.5), False),
    "custom": (lambda p: Custom(p, lr=0.01), False),
}


@pytest.mark.parametrize("name", BEGINNINGS)
def test_a_first_step_is_compiled_where_the_state_begins_with_zeros(
    name: str, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = jax() if backend == "jax" else torch(monkeypatch)
    create, is_compiled = BEGINNINGS[name]
    traced = []

    def trained(backend: str | None) -> tuple[Any, Any]:
        w, unused = (dk.Tensor(make(np.ones(3)), requires_grad=True) for _ in range(2))
        optimizer = create([w, unused])

        def step(x: Any) -> None:
            traced.append(is_traced(w.array))
            optimizer.zero_grad()
            dk.sum(w * w * x).backward()
            optimizer.step()

        run = step if backend is None else dk.compile(step, state=optimizer, backend=backend)
        for _ in range(3):
            run(dk.Tensor(make(np.arange(3.0))))
        assert list(optimizer.state) == [w]
        return [w.tolist(), *(x.tolist() for x in optimizer.state[w].values())], list(optimizer.state[w])

    (values, names), (expected, others) = trained(backend), trained(None)
    for one, other in zip(values, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)
    assert names == others
    assert all(traced[:-3]) is is_compiled


def test_a_state_that_the_step_itself_begins_is_left_to_it(backend: str, make: Make) -> None:
    w = dk.Tensor(make(np.ones(3)), requires_grad=True)
    optimizer = dk.optim.SGD([w], lr=0.1, momentum=0.5)

    def step(x: Any) -> None:
        if w not in optimizer.state:
            optimizer.state[w]["momentum_buffer"] = dk.ones_like(w)
        optimizer.zero_grad()
        dk.sum(w * x).backward()
        optimizer.step()

    dk.compile(step, state=optimizer, backend=backend)(dk.Tensor(make(np.ones(3))))
    np.testing.assert_allclose(optimizer.state[w]["momentum_buffer"].numpy(), np.full(3, 1.5))


def test_a_failure_to_compile_leaves_no_state(backend: str, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    w = dk.Tensor(make(np.ones(3)), requires_grad=True)
    optimizer = dk.optim.Adam([w], lr=0.1)

    def step(x: Any) -> None:
        dk.sum(w * x).backward()
        optimizer.step()

    def fail(*args: Any) -> None:
        raise MemoryError("full")

    run = dk.compile(step, state=optimizer, backend=backend)
    monkeypatch.setattr(BACKENDS[backend], "compile", fail)
    with pytest.raises(MemoryError, match="full"):
        run(dk.Tensor(make(np.ones(3))))
    assert not optimizer.state
    assert w.grad is None
    assert w.tolist() == [1.0] * 3


@pytest.mark.parametrize(("reads", "programs"), [(False, 1), (True, 2)])
def test_a_step_that_forgets_its_gradients_first_is_compiled_once(
    reads: bool, programs: int, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = jax() if backend == "jax" else torch(monkeypatch)
    w = dk.Tensor(make(np.ones(3)), requires_grad=True)

    def step(x: Any) -> None:
        if not reads:
            w.grad = None
        dk.sum(w * x).backward()

    run = dk.compile(step, state=w, backend=backend)
    for turn in range(1, 4):
        run(dk.Tensor(make(np.full(3, 2.0))))
        assert w.grad is not None
        assert w.grad.tolist() == [2.0 * (turn if reads else 1)] * 3
    assert len(run._backend._programs) == programs


def test_programs_that_differ_in_what_their_text_does_not_say_are_two() -> None:
    make = jax()
    library = pytest.importorskip("jax")

    def inner(x: Any, count: int) -> Any:
        table = np.arange(3.0) * count
        return library.jit(lambda array: array + table)(x.array)

    def called(x: Any, count: int) -> Any:
        shape = library.ShapeDtypeStruct((3,), np.dtype(float))
        return library.pure_callback(lambda array: np.asarray(array) * count, shape, x.array)

    x = dk.Tensor(make(np.ones(3)))
    run, other = dk.compile(inner), dk.compile(called)
    assert [run(x, count).tolist() for count in (1, 2)] == [[1.0, 2.0, 3.0], [1.0, 3.0, 5.0]]
    assert [other(x, count).tolist() for count in (1, 2)] == [[1.0] * 3, [2.0] * 3]


def test_a_repeated_call_is_counted_as_a_change_and_observed() -> None:
    make = jax()
    w = dk.Tensor(make(np.ones(3)), requires_grad=True)

    def step(x: Any) -> Any:
        dk.sum(w * x).backward()
        with dk.no_grad():
            w.sub_(w.grad)
        w.grad = None
        return w.sum()

    run, x = dk.compile(step, state=[w]), dk.Tensor(make(np.ones(3)))
    versions = []
    for _ in range(4):
        run(x)
        versions.append(w._version)
    assert versions == sorted(set(versions))
    with dk.record_calls() as recorded:
        run(x)
    assert len(recorded.calls) > 3
    assert w.tolist() == [-4.0] * 3
