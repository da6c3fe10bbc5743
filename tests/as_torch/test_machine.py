"""Mixed precision, devices, types of tensors, and what programs say to the machine."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import pytest

import dispatchkit.as_torch as torch
from dispatchkit.as_torch import amp, nn
from dispatchkit.as_torch.cuda.amp import GradScaler as OfCuda
from dispatchkit.as_torch.cuda.amp import autocast as autocast_of_cuda


def test_autocast_computes_as_elsewhere() -> None:
    x = torch.ones(2, 2, dtype=torch.float32)
    with torch.autocast("cuda", dtype=torch.float32), autocast_of_cuda(), torch.amp.autocast(device_type="cpu"):
        assert (x @ x).dtype == torch.float32
    assert torch.autocast("cpu")(abs)(-1) == 1
    with pytest.raises(ValueError, match="autocast: device_type must be a name such as 'cpu', found True"):
        torch.autocast(True)


def test_a_scaler_for_cuda_is_transparent() -> None:
    p = nn.Parameter(torch.tensor([3.0]))
    optimizer = torch.optim.SGD([p], lr=0.5)
    for scaler in (torch.amp.GradScaler("cuda"), OfCuda(), torch.GradScaler("cpu", enabled=False)):
        loss = (p * p).sum()
        assert scaler.scale(loss) is loss
        assert (scaler.get_scale(), scaler.is_enabled(), scaler.state_dict()) == (1.0, False, {})
    loss.backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert p.item() == 0.0


def test_a_scaler_for_the_cpu_leaves_out_steps_that_are_not_finite() -> None:
    p = nn.Parameter(torch.tensor([1.0]))
    optimizer = torch.optim.SGD([p], lr=0.5)
    scaler = amp.GradScaler("cpu", init_scale=4.0, growth_interval=1)
    scaler.scale(p.sum()).backward()
    assert p.grad.item() == 4.0
    scaler.step(optimizer)
    scaler.update()
    assert (p.item(), scaler.get_scale()) == (0.5, 8.0)
    p.grad = torch.tensor([float("inf")])
    assert scaler.step(optimizer) is None
    scaler.update()
    assert (p.item(), scaler.get_scale()) == (0.5, 4.0)
    other = amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.get_scale() == 4.0


def test_scalers_refuse_what_pytorch_refuses() -> None:
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.5)
    scaler = amp.GradScaler("cpu")
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match=r"unscale_\(\) has already been called on this optimizer"):
        scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="No inf checks were recorded prior to update"):
        amp.GradScaler("cpu").update()
    with pytest.raises(ValueError, match="growth_factor must be greater than 1, found 1"):
        amp.GradScaler("cpu", growth_factor=1.0)
    with pytest.raises(RuntimeError, match="The source state dict is empty"):
        amp.GradScaler("cpu").load_state_dict({})


def test_compile_gives_functions_back() -> None:
    model = nn.Linear(2, 2)
    assert torch.compile(model, mode="max-autotune") is model

    @torch.compile(fullgraph=True)  # type: ignore[untyped-decorator]  # PyTorch's decorator keeps no types either
    def double(x: Any) -> Any:
        return 2 * x

    assert double(3) == 6
    with pytest.raises(TypeError, match="compile: found the argument 'speed', takes backend, disable"):
        torch.compile(model, speed=1)
    with pytest.raises(TypeError, match="compile: model must be a function or module, found int"):
        torch.compile(3)


def test_devices_have_a_type_and_a_number() -> None:
    device = torch.device("cuda:1")
    assert (device.type, device.index, str(device)) == ("cuda", 1, "cuda:1")
    assert torch.device("cpu").index is None
    assert torch.device("cuda", 0) == torch.device("cuda:0")
    for wrong in ("", ":1", "cuda:x"):
        with pytest.raises(RuntimeError, match="the name must be such as 'cpu' or 'cuda:1'"):
            torch.device(wrong)
    with pytest.raises(RuntimeError, match="must not have a number where index has one"):
        torch.device("cuda:1", 1)


def test_types_of_tensors_make_and_convert_and_tell() -> None:
    x = torch.FloatTensor([1.5, 2.0])
    assert x.dtype == torch.float32
    assert torch.LongTensor(2, 3).shape == (2, 3)
    assert x.type(torch.LongTensor).tolist() == [1, 2]
    assert x.type("torch.DoubleTensor").type() == "torch.DoubleTensor"
    assert isinstance(x, torch.FloatTensor)
    assert not isinstance(x, torch.DoubleTensor)


def test_default_types_of_tensors() -> None:
    before = torch.get_default_dtype()
    try:
        torch.set_default_tensor_type(torch.FloatTensor)
        assert torch.ones(1).dtype == torch.float32
        torch.set_default_tensor_type("torch.DoubleTensor")
        assert torch.ones(1).dtype == torch.float64
    finally:
        torch.set_default_dtype(before)


def test_what_is_said_to_the_machine_is_taken() -> None:
    torch.set_num_threads(4)
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = True
    torch.cuda.synchronize()
    assert (torch.cuda.current_device(), torch.distributed.is_initialized()) == (0, False)
    torch.set_default_device("cpu")
    with pytest.raises(RuntimeError, match="set_default_device: device must be 'cpu', found 'cuda:0'"):
        torch.set_default_device("cuda:0")
    assert torch.jit.script(abs) is abs


def test_generators_stand_where_they_stood() -> None:
    torch.manual_seed(3)
    assert torch.initial_seed() == 3
    state = torch.get_rng_state()
    with torch.random.fork_rng():
        inside = torch.rand(2)
    assert torch.rand(2).tolist() == inside.tolist()
    torch.set_rng_state(state)
    assert torch.rand(2).tolist() == inside.tolist()


def test_complex_numbers_are_drawn() -> None:
    torch.manual_seed(0)
    x = torch.randn(4000, dtype=torch.complex64)
    assert x.dtype == torch.complex64
    assert abs((x.real**2).mean().item() - 0.5) < 0.1
    assert torch.randn_like(x).dtype == torch.complex64
    y = torch.rand(3, 2, dtype=torch.complex128, requires_grad=True)
    assert (y.shape, y.requires_grad) == ((3, 2), True)


def test_batches_are_loaded_for_gpus_as_for_others() -> None:
    data = torch.utils.data.TensorDataset(torch.arange(4.0))
    loader = torch.utils.data.DataLoader(data, batch_size=2, pin_memory=True, persistent_workers=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [x.tolist() for (x,) in loader] == [[0.0, 1.0], [2.0, 3.0]]


def test_optimisers_take_how_they_would_be_computed() -> None:
    p = nn.Parameter(torch.ones(2))
    for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam", "RAdam", "Adadelta", "Adamax", "ASGD", "Rprop"):
        optimizer = getattr(torch.optim, name)([p], lr=0.1, foreach=True)
        p.grad = torch.ones(2)
        optimizer.step()
        assert type(optimizer).__name__ == name
    assert torch.optim.AdamW([p], fused=True, capturable=False).param_groups[0]["lr"] == 1e-3


def test_buffers_are_registered_when_they_are_assigned() -> None:
    class Holder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.kept = nn.Buffer(torch.ones(2))
            self.lost = nn.Buffer(torch.zeros(1), persistent=False)

    model = Holder()
    assert list(model.state_dict()) == ["kept"]
    assert [name for name, _ in model.named_buffers()] == ["kept", "lost"]
    assert type(model.kept) is torch.Tensor


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.weight = self.linear.weight
        self.buffer = nn.Buffer(torch.ones(2))
        self.again = self.buffer

    def forward(self, x: Any) -> Any:
        return self.linear(x) + x @ self.weight.T + self.buffer + self.again


def test_a_buffer_may_have_two_names() -> None:
    model = Tied()
    assert [name for name, _ in model.named_buffers()] == ["buffer"]
    assert [name for name, _ in model.named_buffers(remove_duplicate=False)] == ["buffer", "again"]
    assert list(model.state_dict()) == ["weight", "buffer", "again", "linear.weight", "linear.bias"]
    copied = copy.deepcopy(model)
    assert copied.buffer is copied.again
    for x in (model.buffer, copied.buffer):
        assert isinstance(x, nn.Buffer)
        assert not isinstance(x + 1, nn.Buffer)
    assert nn.Buffer().shape == (0,)


def test_tied_buffers_are_replaced_and_stacked_as_one() -> None:
    model, x = Tied(), torch.ones(1, 2)
    before = model(x)
    zeros = {"again": torch.zeros(2)}
    call = torch.func.functional_call
    assert torch.allclose(before - call(model, zeros, (x,)), torch.full((1, 2), 2.0))
    assert torch.allclose(before - call(model, zeros, (x,), tie_weights=False), torch.ones(1, 2))
    whole = {**dict(model.named_parameters()), **zeros}
    assert call(model, whole, (x,), strict=True).shape == (1, 2)
    parameters, buffers = torch.func.stack_module_state([model, Tied()])
    assert (list(parameters), list(buffers)) == (["weight", "linear.bias"], ["buffer"])


def test_jacobians_take_what_pytorchs_take() -> None:
    jacrev: Any = torch.func.jacrev  # the stub names no private argument
    jacobian = jacrev(lambda x: x**2, chunk_size=1, _preallocate_and_copy=True)(torch.tensor([1.0, 3.0]))
    assert jacobian.tolist() == [[2.0, 0.0], [0.0, 6.0]]
    gradient, value = torch.func.grad_and_value(func=lambda x: x**2)(torch.tensor(3.0))
    assert (gradient.item(), value.item()) == (6.0, 9.0)


def test_stacked_modules_are_called_as_one() -> None:
    models = [nn.Linear(2, 3) for _ in range(4)]
    parameters, buffers = torch.func.stack_module_state(models)
    assert (parameters["weight"].shape, buffers) == ((4, 3, 2), {})
    x = torch.ones(2)

    def call(state: Any, x: Any) -> Any:
        return torch.func.functional_call(models[0], state, (x,))

    y = torch.vmap(call, in_dims=(0, None))(parameters, x)
    np.testing.assert_allclose(y.detach().numpy(), [m(x).detach().numpy() for m in models])
    with pytest.raises(RuntimeError, match="Expected at least one model"):
        torch.func.stack_module_state([])


def test_gradient_and_value_come_together() -> None:
    gradient, value = torch.func.grad_and_value(lambda x: (x**2).sum())(torch.tensor([1.0, 3.0]))
    assert (gradient.tolist(), value.item()) == ([2.0, 6.0], 10.0)
    gradient, (value, aux) = torch.func.grad_and_value(lambda x: (x.sum(), "more"), has_aux=True)(torch.ones(2))
    assert (gradient.tolist(), value.item(), aux) == ([1.0, 1.0], 2.0, "more")


def test_gradients_of_sums_can_be_changed_in_place() -> None:
    p = nn.Parameter(torch.ones(3))
    (2 * p.sum()).backward()
    p.grad.mul_(2)
    p.grad[0] = 0.0
    assert p.grad.tolist() == [0.0, 4.0, 4.0]
