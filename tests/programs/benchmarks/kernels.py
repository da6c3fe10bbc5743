"""Forward and backward passes of single functions in single precision beside PyTorch, and the memory of attention."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import dispatchkit as dk

from .harness import Effort, pytorch

__all__ = ["TOPIC", "kernel_lines"]

TOPIC = "kernels"
Function = Callable[[Any, Any], Callable[..., Any]]
TOKENS = 2048


def drawn(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype("float32")


def same(name: str, **keywords: Any) -> Function:
    """Return what gives a functional of either library."""
    return lambda library, arrays: partial(getattr(library.nn.functional, name), **keywords)


def layer_norm(library: Any, arrays: Any) -> Callable[..., Any]:
    return lambda x, w, b: library.nn.functional.layer_norm(x, (256,), w, b)


def batch_norm(library: Any, arrays: Any) -> Any:
    layer = library.nn.BatchNorm2d(32)
    return layer.float()


def attention(library: Any, arrays: Any) -> Callable[..., Any]:
    return lambda x: library.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)


IMAGES, MATRIX = (16, 32, 32, 32), (1000, 1000)
KERNELS: dict[str, tuple[Function, Callable[[], list[Any]]]] = {
    "gelu 1000×1000": (same("gelu"), lambda: [drawn(*MATRIX)]),
    "silu 1000×1000": (same("silu"), lambda: [drawn(*MATRIX)]),
    "embedding 4096 of 5000×256": (
        same("embedding"),
        lambda: [np.random.default_rng(0).integers(0, 5000, 4096), drawn(5000, 256)],
    ),
    "layer_norm 4096×256": (layer_norm, lambda: [drawn(4096, 256), drawn(256), drawn(256)]),
    "BatchNorm2d 16×32×32×32": (batch_norm, lambda: [drawn(*IMAGES)]),
    "conv2d 3×3": (same("conv2d", padding=1), lambda: [drawn(*IMAGES), drawn(32, 32, 3, 3)]),
    "conv2d 3×3, stride 2": (same("conv2d", padding=1, stride=2), lambda: [drawn(*IMAGES), drawn(32, 32, 3, 3)]),
    "conv2d 3×3, 4 groups": (same("conv2d", padding=1, groups=4), lambda: [drawn(*IMAGES), drawn(32, 8, 3, 3)]),
    "conv2d 3×3, depthwise": (same("conv2d", padding=1, groups=32), lambda: [drawn(*IMAGES), drawn(32, 1, 3, 3)]),
    "attention 4×8×128×32": (attention, lambda: [drawn(4, 8, 128, 32)]),
}


def passes(library: Any, make: Function, arrays: list[Any]) -> Callable[[], list[Any]]:
    """Return what goes forward and backward once, and gives the gradients."""
    tensors = [library.tensor(x, requires_grad=x.dtype.kind == "f") for x in arrays]
    function = make(library, arrays)
    g = library.tensor(drawn(*function(*tensors).shape))

    def run() -> list[Any]:
        for x in tensors:
            x.grad = None
        function(*tensors).backward(g)
        return [x.grad for x in tensors if x.requires_grad]

    return run


def seconds(work: Callable[[], Any]) -> float:
    """Return the time that this thread had the processor, which other programs do not change."""
    start = time.thread_time()
    work()
    return time.thread_time() - start


def kernel_lines(effort: Effort) -> Iterator[str]:
    """Give for each function both times and their ratio, and how much memory attention over many tokens takes."""
    torch = pytorch()
    yield "| float32, forward and backward | dispatchkit | PyTorch | ratio |"
    yield "| --- | --- | --- | --- |"
    for name, (make, arrays) in KERNELS.items():
        ours, theirs = (passes(library, make, arrays()) for library in (dk, torch))
        for one, other in zip(ours(), theirs(), strict=True):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-2, atol=1e-2)
        times = [(seconds(ours), seconds(theirs)) for _ in range(effort.repeats)]
        best = [min(one) for one in zip(*times, strict=True)]
        yield f"| {name} | {best[0] * 1e3:.2f} ms | {best[1] * 1e3:.2f} ms | {best[0] / best[1]:.2f} |"
    grown = [memory_of_attention(library) for library in ("dispatchkit", "torch")]
    yield f"\nattention over {TOKENS} tokens, 8 heads: dispatchkit takes {grown[0]:.0f} MB, PyTorch {grown[1]:.0f} MB"


def memory_of_attention(library: str) -> float:
    """Return how much a fresh process's memory grew for a pass forward and backward, in MB."""
    code = f"import {library}; from tests.programs.benchmarks.kernels import grow; grow({library})"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(found.stdout)


def grow(library: Any) -> None:
    """Print how many MB the memory of this process grows for attention over many tokens, causal."""

    def work(tokens: int) -> None:
        tensors = [library.tensor(drawn(1, 8, tokens, 64), requires_grad=True) for _ in range(3)]
        library.nn.functional.scaled_dot_product_attention(*tensors, is_causal=True).sum().backward()

    def peak() -> int:
        return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])

    work(16)
    before = peak()
    work(TOKENS)
    print((peak() - before) / 1024)
