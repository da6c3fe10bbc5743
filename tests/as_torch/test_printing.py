"""What PyTorch's spelling prints is what PyTorch prints."""

from __future__ import annotations

from typing import Any

import pytest

import dispatchkit.as_torch as spelled

SHOWN: dict[str, Any] = {
    "tensor([1., 2.])": lambda t: t.tensor([1.0, 2.0]),
    "tensor([1., 2.], dtype=torch.float16)": lambda t: t.tensor([1.0, 2.0], dtype=t.float16),
    "tensor([1, 2], dtype=torch.uint8)": lambda t: t.tensor([1, 2], dtype=t.uint8),
    "tensor([], size=(2, 0), dtype=torch.int32)": lambda t: t.empty(2, 0, dtype=t.int32),
    "tensor([0.+1.j])": lambda t: t.tensor([1j]),
    "torch.Size([2, 3])": lambda t: t.ones(2, 3).shape,
    "torch.Size([3])": lambda t: t.ones(2, 3).size()[1:],
    "device(type='cpu')": lambda t: t.ones(1).device,
    "device(type='cuda', index=1)": lambda t: t.device("cuda:1"),
    "Parameter containing:\ntensor([1.], requires_grad=True)": lambda t: t.nn.Parameter(t.ones(1)),
}


@pytest.mark.parametrize("text", SHOWN)
def test_it_prints_as_pytorch(text: str) -> None:
    assert repr(SHOWN[text](spelled)) == text


@pytest.mark.parametrize("text", SHOWN)
def test_pytorch_prints_that(text: str) -> None:
    torch = pytest.importorskip("torch")
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        assert repr(SHOWN[text](torch)) == text
    finally:
        torch.set_default_dtype(before)


def test_dtypes_are_printed_beside_the_default() -> None:
    spelled.set_default_dtype(spelled.float32)
    try:
        shown = [repr(spelled.ones(1)), repr(spelled.ones(1, dtype=spelled.float64))]
    finally:
        spelled.set_default_dtype(spelled.float64)
    assert shown == ["tensor([1.])", "tensor([1.], dtype=torch.float64)"]


def test_texts_of_programs() -> None:
    x = spelled.ones(2, 3)
    assert f"{x.sum()} {x.mean():.2f} {x.device} {x.device.type} {x.shape}" == "6.0 1.00 cpu cpu torch.Size([2, 3])"
    assert type(x.device.type) is str
