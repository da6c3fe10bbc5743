"""PyTorch's functions on tensors and array types: the operation of the same meaning, with PyTorch's values."""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.backends.arrays import foreign
from dispatchkit.interop.bridges import dense_tensor
from dispatchkit.types import MetadataTensor
from tests.interop.structured import KINDS, Diagonal, LowRank, Named, made

torch = pytest.importorskip("torch")
pytest.importorskip("array_api_compat")
bridge = __import__("dispatchkit.interop.torch", fromlist=["to_torch"])
names = __import__("dispatchkit.interop.torch.calls", fromlist=["path_of"])
translations = __import__("dispatchkit.as_torch.table", fromlist=["TRANSLATIONS"])
spelled: Any = __import__("dispatchkit.as_torch", fromlist=["Tensor"])
F = torch.nn.functional
SQUARE = torch.tensor([[2.0, 0.5, -1.0], [0.5, 3.0, 0.75], [-1.0, 0.75, 1.5]], dtype=torch.float64)
CLASSES = torch.tensor([0, 2, 1])

# PyTorch itself warns of casts in complex functions, of `T`, and of its own functions that will go.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    with dk.densify(on="allow"):
        yield
    foreign.clear()  # the tests of other modules go the way of programs that have NumPy's arrays alone


page = __import__("tests.interop.torch_page", fromlist=["functions"])
FUNCTIONS: dict[str, Any] = {
    path: function
    for path, function in page.functions().items()
    if names.operation_of(path) is not None or path in translations.TRANSLATIONS
}
Calls = list[Callable[[Any, Any], Any]]


REDUCTIONS = ("all", "any", "amax", "amin", "argmax", "argmin", "mean", "sum", "prod", "nanmean", "nansum")


def image(x: Any) -> Any:
    return x.reshape((1, 1, 3, 3))


REDUCTION: Calls = [lambda f, x: f(x), lambda f, x: f(x, 0), lambda f, x: f(x, dim=1), lambda f, x: f(x, 1, True)]
ALONG: Calls = [lambda f, x: f(x, 0), lambda f, x: f(x, dim=-1), lambda f, x: f(input=x, dim=1)]
SMOOTH: Calls = [*ALONG, lambda f, x: f(x.float(), dim=0, dtype=torch.float64)]
FFT: Calls = [lambda f, x: f(x), lambda f, x: f(x, 4, 0), lambda f, x: f(x, dim=0, norm="ortho")]
FFTN: Calls = [
    lambda f, x: f(x),
    lambda f, x: f(x, dim=-1),
    lambda f, x: f(x, (4, 2)),
    lambda f, x: f(x, dim=(0,), norm="forward"),
]
SHIFT: Calls = [lambda f, x: f(x), lambda f, x: f(x, 0), lambda f, x: f(x, dim=(0, 1))]
JOIN: Calls = [lambda f, x: f([x, x]), lambda f, x: f((x, x + 1), 1), lambda f, x: f([x, SQUARE], dim=-1)]
EXTREME: Calls = [*REDUCTION, lambda f, x: f(x, -x), lambda f, x: f(x, other=-x)]
SPREAD: Calls = [
    *(lambda f, x: f(x), lambda f, x: f(x, 0), lambda f, x: f(x, False), lambda f, x: f(x, 0, False)),
    *(lambda f, x: f(x, dim=1, correction=0, keepdim=True), lambda f, x: f(x, (0, 1), unbiased=False)),
]
SWAP: Calls = [lambda f, x: f(x, 0, 1), lambda f, x: f(x[:, :, None], 0, 2), lambda f, x: f(x, dim0=-1, dim1=0)]
LOSS: Calls = [
    lambda f, x: f(x, x * 0.5),
    lambda f, x: f(x, x * 0.5, reduction="sum"),
    lambda f, x: f(input=x, target=x * 0.25, reduction="none"),
]
OF_CLASSES: Calls = [
    lambda f, x: f(x, CLASSES),
    lambda f, x: f(x, CLASSES, weight=x[0] ** 2, ignore_index=2, reduction="sum"),
    lambda f, x: f(x, target=CLASSES, reduction="none"),
]
ARITHMETIC: Calls = [lambda f, x: f(x, x + 4), lambda f, x: f(x, 2.5), lambda f, x: f(x, other=SQUARE + 4)]
SCALED: Calls = [*ARITHMETIC, lambda f, x: f(x, x, alpha=2), lambda f, x: f(x, SQUARE, alpha=0.5)]
ROUNDED: Calls = [
    *ARITHMETIC,
    lambda f, x: f(x, x + 4, rounding_mode="floor"),
    lambda f, x: f(x, 0.4, rounding_mode="trunc"),
]
ONE: Calls = [lambda f, x: f(x)]
SAME: Calls = [lambda f, x: f(x), lambda f, x: f(input=x)]
TWO: Calls = [lambda f, x: f(x, x + 1), lambda f, x: f(SQUARE, x)]
VECTORS: Calls = [lambda f, x: f(x[0], x[1]), lambda f, x: f(SQUARE[0], x[1])]
LIKE: Calls = [lambda f, x: f(x), lambda f, x: f(x, dtype=torch.float32)]
TRIANGLE: Calls = [lambda f, x: f(x), lambda f, x: f(x, 1), lambda f, x: f(x, diagonal=-1)]
CLIPPED: Calls = [lambda f, x: f(x, 0, 1), lambda f, x: f(x, min=0.0), lambda f, x: f(x, max=x * 0.5)]
OF_THREE: Calls = [lambda f, x: f(x, x + 2, SQUARE), lambda f, x: f(x, x, x + 3, value=0.5)]
BOUNDED: Calls = [lambda f, x: f(x, 0.6), lambda f, x: f(x, x * 0.5)]
STACKED: Calls = [lambda f, x: f([x, SQUARE]), lambda f, x: f((x[0], x[1]))]
INDEXED: Calls = [lambda f, x: f(x, 1, CLASSES, SQUARE), lambda f, x: f(x, 0, CLASSES, x)]
CLOSE: Calls = [
    *(lambda f, x: f(x, x + 1e-9), lambda f, x: f(x, SQUARE * 1.1), lambda f, x: f(x, SQUARE * 1.1, rtol=0.2)),
    lambda f, x: f(x / 0, SQUARE / 0, equal_nan=True),
]
POWER: Calls = [lambda f, x: f(x, 3), lambda f, x: f(x, n=-1)]
MOVED: Calls = [lambda f, x: f(x[None], 0, -1), lambda f, x: f(x, (0, 1), (1, 0))]
VALUES: Calls = [lambda f, x: f(x, 0.1), lambda f, x: f(x)]
REDUCED: Calls = [
    *(lambda f, x: f(x, 1, CLASSES, SQUARE, "prod"), lambda f, x: f(x, 0, CLASSES * 0, x, "amax", include_self=False)),
    *(lambda f, x: f(x, 0, CLASSES[:2], x[:2], "mean"), lambda f, x: f(x, 1, CLASSES, -SQUARE, reduce="amin")),
]
ELEMENTS: Calls = [lambda f, x: f(x), lambda f, x: f(input=x / 0)]
PAIRS: Calls = [*ARITHMETIC[::2], lambda f, x: f(x, other=-x)]
PARTS: Calls = [lambda f, x: f(x[None] * x[:, :, None], 3), lambda f, x: f(x[None] * x[:, :, None], (1, 2))]
INTEGRALS: Calls = [lambda f, x: f(x), lambda f, x: f(x, SQUARE[0]), lambda f, x: f(x, dx=2.0, dim=0)]
SHRINK: Calls = [lambda f, x: f(x), lambda f, x: f(x, 0.75)]
BOTH_AXES: Calls = [lambda f, x: f(x[None]), lambda f, x: f(x, (4, 2)), lambda f, x: f(x, dim=(1, 0), norm="ortho")]
WITHOUT_CHANCE: Calls = [lambda f, x: f(x[None], 0.5, False), lambda f, x: f(x[None], p=0.0)]
DECIMALS: Calls = [lambda f, x: f(x), lambda f, x: f(x / 7, decimals=2), lambda f, x: f(x * 70, decimals=-1)]
WHOLE: Calls = [lambda f, x: f((x > 0) * 4 + 2, (x > -1) * 6)]
POOLED: Calls = [lambda f, x: f(x[None], 2), lambda f, x: f(x, 2, stride=1, padding=1), lambda f, x: f(x, (2,), 1)]
EXTREMES: Calls = [lambda f, x: f(x, 0), lambda f, x: f(x * 0, dim=-1), lambda f, x: f(torch.stack([x, -x]), 1)]
MIDDLE: Calls = [lambda f, x: f(x), lambda f, x: f(x[:2], 0), lambda f, x: f(x, dim=1, keepdim=True)]
INDEFINITE: Calls = [
    *(lambda f, x: f(x), lambda f, x: f(torch.stack([x - SQUARE, -x]))),
    lambda f, x: f(x * (2 + 1j), hermitian=True),
]
FACTORED: Calls = [lambda f, x: f(x), lambda f, x: f(x[:2]), lambda f, x: f(torch.stack([x.T[:, 1:], -x[:, :2]]))]
LOGITS: Calls = [lambda f, x: f(x * 0.2 + 0.4), lambda f, x: f(x, 0.25), lambda f, x: f(x[0], eps=0.125)]
GAMMAS: Calls = [lambda f, x: f(x + 4, 1), lambda f, x: f(x + 4, p=3)]
PARTIAL: Calls = [*ONE, lambda f, x: f(x, check_errors=True)]


SIGNS = torch.tensor([[1.0, -1.0, 1.0], [-1.0, -1.0, 1.0], [1.0, 1.0, -1.0]], dtype=torch.float64)
LABELS = torch.tensor([[0, 2, -1], [1, -1, 0], [2, 1, 0]])
DROPPED: Calls = [lambda f, x: f(x), lambda f, x: f(x, 0.0, True), lambda f, x: f(x, 1.0, training=True)]
UNPOOLED: Calls = [
    lambda f, x: f(x, CLASSES[None].repeat((3, 1)) * 2, 2),
    lambda f, x: f(image(x), torch.arange(9).reshape((1, 1, 3, 3)) * 4, 2, output_size=(6, 6)),
    lambda f, x: f(image(x)[None], torch.arange(9).reshape((1, 1, 1, 3, 3)) * 4, 2),
]
CALLS: dict[str, Calls] = {
    "alias_copy": SAME,
    "constant_pad_nd": [lambda f, x: f(x, (1, 2)), lambda f, x: f(x, pad=(0, 1, 2, 0), value=2.5)],
    **dict.fromkeys(("mvlgamma", "special.multigammaln"), GAMMAS),
    "special.spherical_bessel_j0": ELEMENTS[:1],
    "unsafe_split": [lambda f, x: f(x, 2), lambda f, x: f(x, 1, dim=1)],
    "unsafe_split_with_sizes": [lambda f, x: f(x, (1, 2), dim=1)],
    "addbmm": [lambda f, x: f(x, x[None], SQUARE[None]), lambda f, x: f(x[0], x[None], x[None], beta=2, alpha=0.5)],
    "addr": [lambda f, x: f(x, x[0], x[1]), lambda f, x: f(x[0], x[0], SQUARE[1], beta=2, alpha=0.5)],
    "block_diag": [lambda f, x: f(x, SQUARE[:1]), lambda f, x: f(x[0], x[1:])],
    "cartesian_prod": [lambda f, x: f(x[0], SQUARE[1, :2]), lambda f, x: f(x[0])],
    "combinations": [
        *(lambda f, x: f(x[0]), lambda f, x: f(x[0], 3), lambda f, x: f(x[0], r=2, with_replacement=True)),
        *(lambda f, x: f(x[0], 0), lambda f, x: f(x[0, :1], 2)),
    ],
    "complex": [lambda f, x: f(x, x + 1), lambda f, x: f(x.float(), x.float())],
    **dict.fromkeys(("cummax", "cummin"), EXTREMES),
    "cumulative_trapezoid": INTEGRALS,
    "diagonal_scatter": [
        *(lambda f, x: f(x, x[0] + 1), lambda f, x: f(x, x[0, :2], 1), lambda f, x: f(x, x[0, :1], offset=-2)),
        lambda f, x: f(x[None], x[:1] + 4, 0, 1, 2),
    ],
    "frac": SAME,
    "histc": [lambda f, x: f(x, 4), lambda f, x: f(x, bins=3, min=0, max=3)],
    "histogram": [
        *(lambda f, x: f(x, 4), lambda f, x: f(x, 3, range=(0.0, 3.0), density=True)),
        lambda f, x: f(x, SQUARE[1].sort()[0], weight=x + 2),
    ],
    "logcumsumexp": ALONG,
    **dict.fromkeys(("logit", "special.logit"), LOGITS),
    "masked_scatter": [lambda f, x: f(x, x > 0.6, SQUARE + 5), lambda f, x: f(x, x[0] > 0.6, source=x)],
    "mode": [lambda f, x: f(x.round()), lambda f, x: f(x.round(), 0, True), lambda f, x: f(x * 0, dim=1)],
    "msort": SAME,
    "nanmedian": [*MIDDLE, lambda f, x: f(torch.log(x), 1), lambda f, x: f(torch.log(x[:2]))],
    "nanquantile": [lambda f, x: f(x, 0.3), lambda f, x: f(torch.log(x), 0.6, dim=1, keepdim=True)],
    "nonzero_static": [lambda f, x: f(x > 0.6, size=3), lambda f, x: f(x > 2, size=4, fill_value=7)],
    "put": [lambda f, x: f(x, CLASSES, x[0]), lambda f, x: f(x, CLASSES * 0 + 4, SQUARE[0], accumulate=True)],
    "renorm": [lambda f, x: f(x, 2, 0, 1.5), lambda f, x: f(x, p=1, dim=-1, maxnorm=2.0)],
    **dict.fromkeys(("resolve_conj", "resolve_neg"), SAME),
    "select_scatter": [lambda f, x: f(x, x[0] + 1, 0, 1), lambda f, x: f(x, src=x[0], dim=-1, index=-1)],
    "split_with_sizes": [lambda f, x: f(x, (1, 2)), lambda f, x: f(x, split_sizes=[2, 1], dim=1)],
    "triangular_solve": [
        *(lambda f, x: f(x, SQUARE), lambda f, x: f(x, SQUARE, False), lambda f, x: f(x, SQUARE, transpose=True)),
        lambda f, x: f(x, SQUARE, unitriangular=True),
    ],
    "unique_consecutive": [
        *(lambda f, x: f(x > 0.6), lambda f, x: f(x[0] * 0, True, True), lambda f, x: f(x, return_inverse=True)),
        lambda f, x: f(torch.stack([x, x, -x]), return_counts=True, dim=0),
    ],
    "unsafe_chunk": [lambda f, x: f(x, 2), lambda f, x: f(x, 2, dim=1)],
    "view_as_complex": [
        lambda f, x: f(torch.stack([x, SQUARE], -1)),
        lambda f, x: f(input=torch.stack([x, x], 2).float()),
    ],
    "view_as_real": [lambda f, x: f(x * (1 + 2j))],
    "lu": [lambda f, x: f(x), lambda f, x: f(x[:2], True, True), lambda f, x: f(x, get_infos=True)],
    "lu_unpack": [
        *(lambda f, x: f(x, CLASSES.int() + 1), lambda f, x: f(x[:2], CLASSES[:2].int() % 2 + 1)),
        lambda f, x: f(x[:, :2], CLASSES[:2].int() + 1, unpack_data=False),
    ],
    "lu_solve": [lambda f, x: f(SQUARE, x, CLASSES.int() * 0 + 3), lambda f, x: f(x[:, :1], x, CLASSES.int() * 0 + 3)],
    "linalg.lu_solve": [
        *(lambda f, x: f(x, CLASSES.int() * 0 + 3, SQUARE), lambda f, x: f(x, CLASSES.int() * 0 + 3, x, left=False)),
        lambda f, x: f(x, CLASSES.int() * 0 + 3, B=SQUARE, adjoint=True),
    ],
    **dict.fromkeys(("linalg.lu", "linalg.lu_factor", "linalg.lu_factor_ex"), FACTORED),
    **dict.fromkeys(("linalg.ldl_factor", "linalg.ldl_factor_ex"), INDEFINITE),
    "linalg.ldl_solve": [
        lambda f, x: f(SQUARE, CLASSES.int() * 0 + 3, x),
        lambda f, x: f(SQUARE, torch.tensor([-3, -3, 3]).int(), x[:, :1], hermitian=True),
    ],
    "svd_lowrank": [lambda f, x: f(x, 3)[1], lambda f, x: f(x, q=3, M=x[:1])[1]],
    "pca_lowrank": [lambda f, x: f(x, 3)[1], lambda f, x: f(x, q=3, center=False)[1]],
    "linalg.lstsq": [
        *(lambda f, x: f(x, SQUARE), lambda f, x: f(x[:, :2], x[:, 2:]), lambda f, x: f(x[:2], x[:2])),
        *(lambda f, x: f(x[:, :2], x, driver="gels"), lambda f, x: f(x[:, :1] * x[:1], x, rcond=1e-9)),
    ],
    **dict.fromkeys(("linalg.cholesky_ex", "linalg.inv_ex"), PARTIAL),
    "linalg.solve_ex": [lambda f, x: f(x, SQUARE + 1), lambda f, x: f(x, x[0]), lambda f, x: f(x, x[:1], left=False)],
    "linalg.vander": [lambda f, x: f(x), lambda f, x: f(x[0], N=5)],
    **dict.fromkeys(("fft.hfft2", "fft.ihfft2"), BOTH_AXES),
    **dict.fromkeys(("fft.hfftn", "fft.ihfftn"), FFTN),
    **dict.fromkeys(("add", "sub", "subtract", "rsub"), SCALED),
    **dict.fromkeys(("div", "divide", "true_divide"), ROUNDED),
    **dict.fromkeys(REDUCTIONS, REDUCTION),
    **dict.fromkeys(("count_nonzero",), REDUCTION[:3]),
    **dict.fromkeys(("logsumexp", "special.logsumexp"), REDUCTION[1:]),
    **dict.fromkeys(("cat", "concat", "concatenate", "stack"), JOIN),
    **dict.fromkeys(("cumprod", "cumsum"), ALONG),
    **dict.fromkeys(("softmax", "log_softmax", "special.softmax", "special.log_softmax"), SMOOTH),
    **dict.fromkeys(("nn.functional.softmax", "nn.functional.log_softmax"), SMOOTH),
    **{f"fft.{name}": FFT for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{f"fft.{name}": FFTN for name in ("fftn", "ifftn", "rfftn", "irfftn")},
    **dict.fromkeys(("fft.fftshift", "fft.ifftshift"), SHIFT),
    **dict.fromkeys(("max", "min"), EXTREME),
    **dict.fromkeys(("std", "var"), SPREAD),
    **dict.fromkeys(("transpose", "swapdims"), SWAP),
    **{f"nn.functional.{name}": LOSS for name in ("l1_loss", "mse_loss", "smooth_l1_loss", "huber_loss")},
    **{f"nn.functional.{name}": OF_CLASSES for name in ("cross_entropy", "nll_loss")},
    **dict.fromkeys(("det", "inverse", "slogdet", "t", "ravel", "clone", "argwhere", "corrcoef"), ONE),
    **{f"linalg.{name}": ONE for name in ("det", "eigvalsh", "inv", "slogdet", "svdvals", "matrix_rank", "pinv")},
    **dict.fromkeys(("numel", "is_complex", "is_floating_point", "trace", "sinc", "special.sinc"), SAME),
    **dict.fromkeys(("matmul", "linalg.matmul", "linalg.solve", "kron"), TWO),
    **dict.fromkeys(("dot", "ger", "outer", "linalg.vecdot"), VECTORS),
    **dict.fromkeys(("zeros_like", "ones_like"), LIKE),
    **dict.fromkeys(("tril", "triu", "diag"), TRIANGLE),
    **{f"nn.functional.{name}": VALUES for name in ("celu", "elu", "leaky_relu", "softplus")},
    **{
        f"atleast_{n}d": [lambda f, x: f(x[0]), lambda f, x: f(x, SQUARE[0, 0]), lambda f, x: f([x])] for n in (1, 2, 3)
    },
    **dict.fromkeys(("angle", "deg2rad", "exp2", "isneginf", "isposinf", "isreal", "rad2deg", "reciprocal"), ELEMENTS),
    **dict.fromkeys(("frexp", "special.exp2"), ONE),
    "gcd": WHOLE,
    "lcm": WHOLE,
    "unravel_index": [lambda f, x: f((x > 0) * 5, (2, 3))],
    **dict.fromkeys(("fliplr", "flipud"), ELEMENTS),
    **dict.fromkeys(("fmax", "fmin", "fmod", "inner", "logaddexp2"), PAIRS),
    **dict.fromkeys(("dsplit", "hsplit", "vsplit"), PARTS),
    **dict.fromkeys(("column_stack", "dstack"), STACKED),
    **{f"fft.{name}2": BOTH_AXES for name in ("fft", "ifft", "rfft", "irfft")},
    **{f"nn.functional.{name}": WITHOUT_CHANCE for name in ("dropout1d", "dropout2d")},
    **{f"nn.functional.{name}": POOLED for name in ("avg_pool1d", "max_pool1d")},
    **{f"nn.functional.{name}": SHRINK for name in ("hardshrink", "softshrink")},
    "aminmax": [lambda f, x: f(x), lambda f, x: f(x, dim=1, keepdim=True)],
    "bucketize": [lambda f, x: f(x, SQUARE[1].sort()[0]), lambda f, x: f(x, SQUARE[1].sort()[0], right=True)],
    "cdist": [lambda f, x: f(x, SQUARE[:2]), lambda f, x: f(x[None], x[None], p=1.0)],
    "cholesky_inverse": [lambda f, x: f(x.tril()), lambda f, x: f(x.triu(), upper=True)],
    "cholesky_solve": [lambda f, x: f(x, SQUARE.tril()), lambda f, x: f(x, x.triu(), upper=True)],
    "diag_embed": [lambda f, x: f(x), lambda f, x: f(x, 1), lambda f, x: f(x, offset=-1, dim1=0, dim2=2)],
    "diagflat": [lambda f, x: f(x[0]), lambda f, x: f(x, offset=-1)],
    "dist": [lambda f, x: f(x, SQUARE + 1), lambda f, x: f(x, x + 1, p=1)],
    "float_power": [lambda f, x: f(x + 4, SQUARE), lambda f, x: f(x.float(), exponent=2)],
    "gradient": [
        *(lambda f, x: f(x), lambda f, x: f(x, dim=0, edge_order=2), lambda f, x: f(x, spacing=0.5)),
        lambda f, x: f(x, spacing=(SQUARE[0] * 0 + CLASSES.sort()[0], SQUARE[1].sort()[0]), dim=(0, 1)),
    ],
    "heaviside": [lambda f, x: f(x - 0.5, SQUARE), lambda f, x: f(x * 0, values=x)],
    "index_reduce": REDUCED,
    "ldexp": [lambda f, x: f(x, CLASSES), lambda f, x: f(input=x, other=CLASSES - 1)],
    "linalg.cond": [lambda f, x: f(x), lambda f, x: f(x, 1), lambda f, x: f(x, p="fro")],
    "linalg.multi_dot": [lambda f, x: f([x, SQUARE]), lambda f, x: f([x[0], x, SQUARE])],
    "linalg.solve_triangular": [
        lambda f, x: f(x, SQUARE, upper=True),
        lambda f, x: f(x, x, upper=False, left=False, unitriangular=True),
    ],
    "logdet": [lambda f, x: f(x), lambda f, x: f(input=x[None])],
    "nan_to_num": [
        lambda f, x: f(x / 0),
        lambda f, x: f((x - x) / 0, 2.0),
        lambda f, x: f(x / 0, posinf=1.0, neginf=0.0),
    ],
    "nn.functional.cosine_similarity": [lambda f, x: f(x, SQUARE + 1), lambda f, x: f(x[0], x, dim=0, eps=0.5)],
    "nn.functional.interpolate": [
        *(lambda f, x: f(x[None], 5), lambda f, x: f(image(x), scale_factor=2, mode="nearest-exact")),
        lambda f, x: f(image(x), (4, 5), mode="bilinear", align_corners=True),
        lambda f, x: f(x[None], scale_factor=1.7, mode="linear", recompute_scale_factor=True),
    ],
    "nn.functional.pairwise_distance": [lambda f, x: f(x, SQUARE + 1), lambda f, x: f(x, x[0], 1.0, keepdim=True)],
    "nn.functional.pixel_shuffle": [lambda f, x: f(x[:2].reshape((6, 1, 1))[:4], 2), lambda f, x: f(image(x), 1)],
    "nn.functional.pixel_unshuffle": [lambda f, x: f(x[None], 3), lambda f, x: f(image(x), downscale_factor=1)],
    "nn.functional.softmin": SMOOTH,
    "polar": [lambda f, x: f(x, SQUARE), lambda f, x: f(abs=x, angle=x)],
    "polygamma": [lambda f, x: f(2, x + 3)],
    "rot90": [lambda f, x: f(x), lambda f, x: f(x, 2), lambda f, x: f(x[None], k=-1, dims=(1, 2))],
    "scatter_reduce": [
        *(lambda f, x: f(x, 1, CLASSES[:, None], SQUARE, "sum"), lambda f, x: f(x, 0, CLASSES[None] * 0, x, "mean")),
        *(lambda f, x: f(x, 0, CLASSES[None, :2], x, "prod"), lambda f, x: f(x, -1, CLASSES[None], x, reduce="amax")),
        lambda f, x: f(x, 0, CLASSES[None], x, "amin", include_self=False),
        lambda f, x: f(x.long(), 0, CLASSES[None], x.long(), "mean", include_self=False),
        lambda f, x: f(x.long(), 0, CLASSES[None], x.long(), "amax", include_self=False),
    ],
    "slice_scatter": [lambda f, x: f(x, SQUARE[:2], 0, 1), lambda f, x: f(x, x[:, :2], dim=1, end=3, step=2)],
    "tensor_split": [lambda f, x: f(x, (0, 1)), lambda f, x: f(x, 2), lambda f, x: f(x, sections=4, dim=1)],
    **dict.fromkeys(("trapezoid", "trapz"), INTEGRALS),
    "vdot": VECTORS,
    "addmm": [lambda f, x: f(x, x, x), lambda f, x: f(x[0], SQUARE, x, beta=2, alpha=0.5)],
    "addmv": [lambda f, x: f(x[0], SQUARE, x[1]), lambda f, x: f(x[0], x, x[1], beta=2, alpha=0.5)],
    "baddbmm": [lambda f, x: f(x[None], SQUARE[None], x[None]), lambda f, x: f(x, x[None], x[None], beta=2)],
    **dict.fromkeys(("addcdiv", "addcmul"), OF_THREE),
    **dict.fromkeys(("isclose", "allclose"), CLOSE),
    "argsort": [lambda f, x: f(x), lambda f, x: f(x, 0, True), lambda f, x: f(x, dim=0, stable=True)],
    "broadcast_tensors": [lambda f, x: f(x, x[:1]), lambda f, x: f(SQUARE[0], x[None])],
    **dict.fromkeys(("clamp_max", "clamp_min"), BOUNDED),
    "equal": [lambda f, x: f(x, x), lambda f, x: f(x, SQUARE + 1), lambda f, x: f(x, x[0])],
    **dict.fromkeys(("hstack", "row_stack", "vstack"), STACKED),
    **dict.fromkeys(("index_add", "index_copy"), INDEXED),
    "index_fill": [lambda f, x: f(x, 0, CLASSES[:2], 4), lambda f, x: f(x, dim=-1, index=CLASSES[:1], value=0.5)],
    "isin": [lambda f, x: f(x, SQUARE[0]), lambda f, x: f(x, test_elements=SQUARE[0], invert=True)],
    "cross": [lambda f, x: f(x, x + SQUARE.T), lambda f, x: f(x, x[0] + x, dim=1)],
    **dict.fromkeys(("round", "special.round"), DECIMALS),
    "svd": [lambda f, x: abs(f(x)[2]), lambda f, x: f(x[:2])[1], lambda f, x: abs(f(x[:2], some=False)[2])[:, :2]],
    "kthvalue": [lambda f, x: f(x, 2), lambda f, x: f(x, 1, 0), lambda f, x: f(x, k=3, dim=0, keepdim=True)],
    "lerp": [lambda f, x: f(x, SQUARE + 1, 0.25), lambda f, x: f(x, x * x, weight=x)],
    "masked_select": [lambda f, x: f(x, x > 0.6), lambda f, x: f(x, SQUARE[0] > 0.6)],
    "median": [
        lambda f, x: f(x),
        lambda f, x: f(x[:2]),
        lambda f, x: f(x[:2], 0),
        lambda f, x: f(x, dim=1, keepdim=True),
    ],
    "meshgrid": [lambda f, x: f(x[0], x[1], indexing="ij"), lambda f, x: f(x[0], x[1], indexing="xy")],
    "narrow": [lambda f, x: f(x, 0, 1, 2), lambda f, x: f(x, dim=-1, start=-2, length=1)],
    "nn.functional.adaptive_max_pool1d": [lambda f, x: f(x, 2), lambda f, x: f(x, 2, return_indices=True)],
    "nn.functional.adaptive_max_pool2d": [lambda f, x: f(image(x), (2, None)), lambda f, x: f(image(x), 2, True)],
    "nn.functional.adaptive_max_pool3d": [lambda f, x: f(image(x), (1, 2, 1)), lambda f, x: f(image(x), 1, True)],
    **dict.fromkeys(("nn.functional.alpha_dropout", "nn.functional.feature_alpha_dropout"), DROPPED),
    "nn.functional.batch_norm": [
        *(lambda f, x: f(x, None, None, training=True), lambda f, x: f(x, SQUARE[0], SQUARE[1] ** 2, x[0], x[1])),
        lambda f, x: f(x, SQUARE[0] * 1, SQUARE[1] ** 2, None, None, True, 0.5, 1e-3),
    ],
    "nn.functional.bilinear": [
        lambda f, x: f(x, SQUARE, image(x)[0]),
        lambda f, x: f(x, x, image(x)[0], bias=x[0, :1]),
    ],
    "nn.functional.channel_shuffle": [lambda f, x: f(image(x).reshape((1, 3, 1, 3)), 3)],
    "nn.functional.cosine_embedding_loss": [
        *(lambda f, x: f(x, SQUARE.T, SIGNS[0]), lambda f, x: f(x, SQUARE.T, -SIGNS[0], 0.2, reduction="none")),
    ],
    "nn.functional.dropout3d": [lambda f, x: f(image(x), training=False)],
    "nn.functional.embedding_bag": [
        *(lambda f, x: f(CLASSES[None], x), lambda f, x: f(CLASSES, x, CLASSES[:2] * 0, mode="sum")),
        lambda f, x: f(CLASSES[None], x, mode="sum", per_sample_weights=x[:1], padding_idx=1),
    ],
    "nn.functional.fold": [lambda f, x: f(x.reshape((1, 1, 9)), (3, 3), 1), lambda f, x: f(x.reshape((1, 9, 1)), 3, 3)],
    "nn.functional.fractional_max_pool2d": [lambda f, x: f(image(x), 3, output_size=1, return_indices=True)],
    "nn.functional.fractional_max_pool3d": [lambda f, x: f(image(x) + x.reshape((1, 3, 1, 3)), 2, 1)],
    "nn.functional.gaussian_nll_loss": [
        *(lambda f, x: f(x, SQUARE + 1, x * x + 1), lambda f, x: f(x, SQUARE, x[0] ** 2, full=True, reduction="sum")),
    ],
    "nn.functional.hinge_embedding_loss": [lambda f, x: f(x, SIGNS), lambda f, x: f(x, -SIGNS, 0.5, reduction="sum")],
    "nn.functional.instance_norm": [
        *(lambda f, x: f(image(x)), lambda f, x: f(image(x), x[0, :1], SQUARE[1, :1] ** 2, use_input_stats=False)),
    ],
    "nn.functional.linear_cross_entropy": [
        *(lambda f, x: f(x, SQUARE, CLASSES), lambda f, x: f(x, SQUARE, CLASSES, linear_bias=x[0], reduction="sum")),
    ],
    "nn.functional.local_response_norm": [lambda f, x: f(image(x), 2), lambda f, x: f(x[None], 3, 0.5, 0.6, 2.0)],
    "nn.functional.margin_ranking_loss": [
        lambda f, x: f(x, SQUARE.T, SIGNS),
        lambda f, x: f(x, x, SIGNS, 0.5, reduction="none"),
    ],
    **{f"nn.functional.max_unpool{n}d": [UNPOOLED[n - 1]] for n in (1, 2, 3)},
    "nn.functional.multi_margin_loss": [
        *(lambda f, x: f(x, CLASSES), lambda f, x: f(x, CLASSES, 2, 0.5, SQUARE[0], reduction="none")),
    ],
    "nn.functional.multilabel_margin_loss": [lambda f, x: f(x, LABELS), lambda f, x: f(x, LABELS, reduction="none")],
    "nn.functional.multilabel_soft_margin_loss": [
        *(lambda f, x: f(x, (SQUARE > 0).double()), lambda f, x: f(x, SQUARE, SQUARE[0], reduction="sum")),
    ],
    "nn.functional.pdist": [lambda f, x: f(x), lambda f, x: f(x, p=1.0)],
    "nn.functional.poisson_nll_loss": [
        *(lambda f, x: f(x, SQUARE), lambda f, x: f(x * x, SQUARE + 2, False, full=True, eps=1e-3, reduction="sum")),
    ],
    "nn.functional.rrelu": [lambda f, x: f(x), lambda f, x: f(x, 0.1, 0.2)],
    "nn.functional.soft_margin_loss": [lambda f, x: f(x, SIGNS), lambda f, x: f(x, SIGNS, reduction="none")],
    "nn.functional.tanhshrink": [lambda f, x: f(x)],
    "nn.functional.triplet_margin_loss": [
        *(
            lambda f, x: f(x, SQUARE + 1, SQUARE.T),
            lambda f, x: f(x, SQUARE.T, x, 0.5, 1.0, swap=True, reduction="none"),
        ),
    ],
    "nn.functional.triplet_margin_with_distance_loss": [
        *(
            lambda f, x: f(x, SQUARE + 1, SQUARE.T),
            lambda f, x: f(x, SQUARE.T, x, margin=0.5, swap=True, reduction="sum"),
        ),
        lambda f, x: f(x, SQUARE.T, SQUARE, distance_function=lambda a, b: abs(a - b).sum(-1)),
    ],
    "nn.functional.unfold": [lambda f, x: f(image(x), 2), lambda f, x: f(image(x), (2, 1), (1, 2), 1, (1, 2))],
    "nn.functional.upsample": [lambda f, x: f(image(x), 2), lambda f, x: f(image(x), None, 2.0, "bilinear", True)],
    "nn.functional.upsample_bilinear": [lambda f, x: f(image(x), 5)],
    "nn.functional.upsample_nearest": [lambda f, x: f(image(x), scale_factor=2)],
    "nn.functional.one_hot": [lambda f, x: f((x > 0).long()), lambda f, x: f((x > 0).long(), num_classes=3)],
    "nn.functional.pad": [
        *(lambda f, x: f(x, (1, 2)), lambda f, x: f(x, (1, 0, 0, 2), value=2.5)),
        *(lambda f, x: f(image(x), (1, 2, 0, 1), mode="reflect"), lambda f, x: f(x[None], (1, 2), "replicate")),
        lambda f, x: f(image(x), (2, 1, 1, 0), mode="circular"),
    ],
    "nonzero": [lambda f, x: f(x > 0.6), lambda f, x: f(x > 0.6, as_tuple=True)],
    "repeat_interleave": [lambda f, x: f(x, 2), lambda f, x: f(x, CLASSES, dim=0), lambda f, x: f(x, repeats=2, dim=1)],
    "scatter": [
        *(lambda f, x: f(x, 1, CLASSES[:, None], SQUARE), lambda f, x: f(x, 0, CLASSES[None], value=7)),
        *(lambda f, x: f(x, dim=-1, index=CLASSES[:2, None], src=x), lambda f, x: f(x, 1, CLASSES[:, None], 2.0)),
    ],
    "searchsorted": [
        lambda f, x: f(SQUARE[1].sort()[0], x),
        lambda f, x: f(SQUARE[1].sort()[0], x, right=True),
    ],
    "select": [lambda f, x: f(x, 0, 1), lambda f, x: f(x, dim=-1, index=-1)],
    "split": [lambda f, x: f(x, 2), lambda f, x: f(x, [1, 2], dim=1), lambda f, x: f(x, split_size_or_sections=1)],
    **dict.fromkeys(("std_mean", "var_mean"), SPREAD),
    "tile": [lambda f, x: f(x, (2,)), lambda f, x: f(x, dims=(2, 1))],
    "unbind": [lambda f, x: f(x), lambda f, x: f(x, dim=1)],
    "unflatten": [lambda f, x: f(x.reshape((9,)), 0, (3, 3)), lambda f, x: f(x, dim=-1, sizes=(-1, 1))],
    "unique": [lambda f, x: f(x), lambda f, x: f(x, return_counts=True), lambda f, x: f(x, True, True, True)],
    "bmm": [lambda f, x: f(x[None], x[None])],
    "broadcast_to": [lambda f, x: f(x, (2, 3, 3)), lambda f, x: f(x, size=(1, 3, 3))],
    "chunk": [lambda f, x: f(x, 2), lambda f, x: f(x, 2, dim=1)],
    **dict.fromkeys(("clamp", "clip"), CLIPPED),
    "cov": [lambda f, x: f(x), lambda f, x: f(x, correction=0), lambda f, x: f(x, fweights=CLASSES)],
    "diagonal": [lambda f, x: f(x), lambda f, x: f(x, 1), lambda f, x: f(x[None], 0, 1, 2), lambda f, x: f(x[None])],
    "diff": [lambda f, x: f(x), lambda f, x: f(x, 2, 0), lambda f, x: f(x, dim=0, prepend=x[:1])],
    "einsum": [lambda f, x: f("ij,jk->ki", x, SQUARE), lambda f, x: f("ii", x), lambda f, x: f("ij,j->i", [x, x[0]])],
    "flatten": [lambda f, x: f(x), lambda f, x: f(x[None], 1), lambda f, x: f(x[None], start_dim=0, end_dim=1)],
    "flip": [lambda f, x: f(x, (0,)), lambda f, x: f(x, dims=[0, 1])],
    "full_like": [lambda f, x: f(x, 2.0), lambda f, x: f(x, fill_value=3, dtype=torch.int64)],
    "index_select": [lambda f, x: f(x, 0, CLASSES[:2]), lambda f, x: f(x, dim=1, index=CLASSES)],
    "linalg.cholesky": [lambda f, x: f(x), lambda f, x: f(x, upper=True)],
    "linalg.cross": [lambda f, x: f(x, x + 1), lambda f, x: f(x, x + 1, dim=0)],
    "linalg.diagonal": [lambda f, x: f(x), lambda f, x: f(A=x, offset=1)],
    "linalg.eig": [lambda f, x: f(x)[0]],
    "linalg.eigh": [lambda f, x: f(x)[0]],
    "linalg.eigvals": [lambda f, x: f(x)],
    "linalg.matrix_norm": [lambda f, x: f(x), lambda f, x: f(x, 1), lambda f, x: f(x, ord=2, keepdim=True)],
    **dict.fromkeys(("matrix_power", "linalg.matrix_power"), POWER),
    "linalg.norm": [lambda f, x: f(x), lambda f, x: f(x, 1), lambda f, x: f(x, ord=2, dim=0), lambda f, x: f(x, "nuc")],
    "linalg.qr": [lambda f, x: abs(f(x)[1])],
    "linalg.svd": [lambda f, x: f(x)[1], lambda f, x: f(x[:2], full_matrices=False)[1]],
    "linalg.vector_norm": [lambda f, x: f(x), lambda f, x: f(x, 1, 0), lambda f, x: f(x, ord=3, dim=1, keepdim=True)],
    "masked_fill": [lambda f, x: f(x, x > 0, 7.0)],
    **dict.fromkeys(("moveaxis", "movedim"), MOVED),
    "mv": [lambda f, x: f(x, x[0]), lambda f, x: f(SQUARE, x[0])],
    "nn.functional.adaptive_avg_pool2d": [lambda f, x: f(image(x), 1)],
    "nn.functional.adaptive_avg_pool1d": [lambda f, x: f(x, 2)],
    "nn.functional.adaptive_avg_pool3d": [lambda f, x: f(image(x), (None, 2, 1))],
    "nn.functional.avg_pool3d": [lambda f, x: f(image(x), (1, 2, 2)), lambda f, x: f(image(x), 1, padding=0)],
    "nn.functional.avg_pool2d": [lambda f, x: f(image(x), 2), lambda f, x: f(image(x), 2, stride=1, padding=1)],
    "nn.functional.binary_cross_entropy": [lambda f, x: f((x + 1.5) / 5, (SQUARE > 0).double())],
    "nn.functional.binary_cross_entropy_with_logits": [lambda f, x: f(x, (SQUARE > 0).double(), pos_weight=x[0] ** 2)],
    "nn.functional.conv1d": [lambda f, x: f(x[None], x[None]), lambda f, x: f(x, SQUARE[None], stride=2, padding=1)],
    "nn.functional.conv_transpose1d": [
        lambda f, x: f(x[None], x[:, None, :2]),
        lambda f, x: f(x, x[:, None], stride=2),
    ],
    "nn.functional.conv_transpose3d": [lambda f, x: f(image(x)[None], image(x)[None], stride=2, output_padding=1)],
    "nn.functional.conv3d": [lambda f, x: f(image(x)[None], image(x)[None], padding=1)],
    "nn.functional.conv_transpose2d": [
        lambda f, x: f(image(x), image(x)),
        lambda f, x: f(image(x), image(SQUARE), stride=2, padding=1, output_padding=1),
    ],
    "nn.functional.conv2d": [lambda f, x: f(image(x), image(x)), lambda f, x: f(image(x), image(SQUARE), padding=1)],
    "nn.functional.embedding": [lambda f, x: f(CLASSES, x)],
    "nn.functional.gelu": [lambda f, x: f(x), lambda f, x: f(x, approximate="tanh")],
    "nn.functional.glu": [lambda f, x: f(x[:2], 0), lambda f, x: f(x[:2], dim=0)],
    "nn.functional.group_norm": [lambda f, x: f(x, 1), lambda f, x: f(x, 3, weight=x[0], bias=x[1])],
    "nn.functional.hardtanh": [lambda f, x: f(x), lambda f, x: f(x, -0.5, 0.5)],
    "nn.functional.kl_div": [lambda f, x: f(x, x * x), lambda f, x: f(x, x, log_target=True, reduction="batchmean")],
    "nn.functional.layer_norm": [lambda f, x: f(x, (3,)), lambda f, x: f(x, (3,), x[0], x[1], 1e-3)],
    "nn.functional.rms_norm": [lambda f, x: f(x, (3,)), lambda f, x: f(x, (3,), x[0], 1e-3)],
    "nn.functional.linear": [lambda f, x: f(SQUARE, x), lambda f, x: f(x, SQUARE, bias=x[0])],
    "nn.functional.max_pool3d": [lambda f, x: f(image(x), (1, 2, 2), stride=1)],
    "nn.functional.max_pool2d": [lambda f, x: f(image(x), 2), lambda f, x: f(image(x), 2, stride=1)],
    "nn.functional.multi_head_attention_forward": [
        lambda f, x: f(
            *(x[:, None], SQUARE[:, None], x[:, None], 3, 1, x.repeat(3, 1), x.reshape(-1)),
            *(None, None, False, 0.0, SQUARE, x[0]),
        ),
        lambda f, x: f(
            *(x, x, x, 3, 3, SQUARE.repeat(3, 1), None, SQUARE[:1, None], x[:1, None], True, 0.0, SQUARE, None),
            attn_mask=SQUARE > 1,
            average_attn_weights=False,
        ),
    ],
    "nn.functional.normalize": [lambda f, x: f(x), lambda f, x: f(x, 1.0, 0), lambda f, x: f(x, p=3.0, dim=-1)],
    "nn.functional.prelu": [lambda f, x: f(x, x[0, :1])],
    "nn.functional.scaled_dot_product_attention": [
        lambda f, x: f(x[None], x[None], x[None]),
        lambda f, x: f(x[None], x[None], SQUARE[None], is_causal=True, scale=0.5),
    ],
    "nn.functional.threshold": [lambda f, x: f(x, 0.6, -1.0)],
    "norm": [*REDUCTION[:1], lambda f, x: f(x, 1), lambda f, x: f(x, p=2, dim=0), lambda f, x: f(x, dim=(0, 1))],
    "permute": [lambda f, x: f(x, (1, 0)), lambda f, x: f(x[None], dims=(2, 0, 1))],
    "quantile": [lambda f, x: f(x, 0.3), lambda f, x: f(x, SQUARE[0, :2] / 4, dim=1, interpolation="lower")],
    "reshape": [lambda f, x: f(x, (9,)), lambda f, x: f(x, shape=(-1, 1))],
    "roll": [lambda f, x: f(x, 2), lambda f, x: f(x, shifts=(1, 2), dims=(0, 1))],
    "sort": [lambda f, x: f(x), lambda f, x: f(x, 0, True), lambda f, x: f(x, stable=True, dim=0)],
    "special.polygamma": [lambda f, x: f(2, x + 3)],
    "squeeze": [lambda f, x: f(x[None]), lambda f, x: f(x[None], 1), lambda f, x: f(x[None], dim=0)],
    "imag": [lambda f, x: f(x * (1 + 2j))],
    "swapaxes": [*SWAP[:2], lambda f, x: f(x, axis0=-1, axis1=0)],
    "true_divide": ARITHMETIC,
    "take": [lambda f, x: f(x, CLASSES + 4)],
    "take_along_dim": [
        lambda f, x: f(x, CLASSES),
        lambda f, x: f(x, CLASSES[:, None], 1),
        lambda f, x: f(x, indices=CLASSES[None], dim=0),
    ],
    "tensordot": [lambda f, x: f(x, SQUARE, 1), lambda f, x: f(x, x, dims=([0], [1]))],
    "bincount": [lambda f, x: f((x[0] > 2) * 2), lambda f, x: f((x[0] > 2) * 2, minlength=4)],
    "index_put": [lambda f, x: f(x, (CLASSES,), SQUARE[0]), lambda f, x: f(x, (CLASSES, CLASSES), SQUARE[0], True)],
    "gather": [lambda f, x: f(x, 1, CLASSES[:, None]), lambda f, x: f(x, dim=0, index=CLASSES[None])],
    "scatter_add": [lambda f, x: f(x, 1, CLASSES[:, None], SQUARE)],
    "topk": [lambda f, x: f(x, 2), lambda f, x: f(x, k=1, dim=0)],
    "unsqueeze": [lambda f, x: f(x, 0), lambda f, x: f(x, dim=-1)],
    "where": [lambda f, x: f(x > 0, x, 0.0), lambda f, x: f(SQUARE > 0, x, SQUARE), lambda f, x: f(x > 2)],
}
INTEGERS = {"bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "bitwise_left_shift", "bitwise_right_shift"}


def calls_of(path: str) -> Calls:
    """Return calls of a function: those above, for others with one or two operands."""
    operation = names.operation_of(path)
    if path in CALLS or operation is None:
        return CALLS[path]
    domain: Callable[[Any], Any] = (lambda x: x * 0.2 + 0.4) if operation.parameters.unary else (lambda x: x + 2)
    if path in INTEGERS:
        domain = lambda x: (x > 0) * 3  # noqa: E731
    if path.startswith("arccosh") or path == "acosh":
        domain = lambda x: x + 3  # noqa: E731
    if operation.parameters.unary:
        return [lambda f, x: f(domain(x))]
    assert operation.parameters.binary, f"write calls of {path}"
    return [lambda f, x: f(domain(x), domain(x) * 2), lambda f, x: f(domain(SQUARE), domain(x))]


def flat(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [one for member in value for one in flat(member)]
    return [value]


@pytest.mark.parametrize("path", sorted(FUNCTIONS))
def test_values_are_those_of_pytorch(path: str) -> None:
    for call in calls_of(path):
        wanted = flat(call(FUNCTIONS[path], SQUARE))
        results = flat(call(FUNCTIONS[path], Named(SQUARE)))
        assert len(results) == len(wanted)
        for result, other in zip(results, wanted, strict=True):
            if not isinstance(other, torch.Tensor):
                assert result == other
                continue
            array = bridge.to_torch(result)
            assert array.dtype == other.dtype
            assert array.shape == other.shape
            torch.testing.assert_close(array, other, rtol=1e-10, atol=1e-12)


def test_a_tensor_of_pytorch_itself_is_refused_by_its_whole_name() -> None:
    cure = "not torch.Tensor; write torch.from_numpy(x.detach().numpy()) for it"
    with pytest.raises(TypeError, match=re.escape(cure)):
        spelled.mv(spelled.ones(3, 3), SQUARE[0])
    with pytest.raises(TypeError, match=r"got \(torch\.Tensor; write .*, Tensor\), but expected"):
        spelled.add(SQUARE, spelled.ones(3, 3))


def test_a_function_of_pytorch_itself_gives_its_tensor_and_the_gradient_of_one_in_its_spelling() -> None:
    x = spelled.tensor(SQUARE.tolist()).requires_grad_()
    y = torch.nn.functional.pairwise_distance(x, spelled.zeros(3, 3))
    assert type(y) is torch.Tensor
    y.sum().backward()
    t = SQUARE.clone().requires_grad_()
    torch.nn.functional.pairwise_distance(t, torch.zeros(3, 3)).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), t.grad.numpy(), rtol=1e-12)


CONSTANTS = ("SQUARE", "CLASSES", "SIGNS", "LABELS")
# Their calls make indices, which are NumPy's.
MIXED = {"nn.functional.max_unpool2d", "nn.functional.max_unpool3d"}


@pytest.mark.parametrize("path", sorted(FUNCTIONS.keys() - MIXED))
def test_functions_in_pytorchs_spelling_compute_on_pytorchs_arrays(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def spelled_over(x: Any) -> Any:
        return dk.asarray(x.clone()).as_subclass(spelled.Tensor)

    function = functools.reduce(getattr, path.split("."), spelled)
    wanted = [flat(call(FUNCTIONS[path], SQUARE)) for call in calls_of(path)]
    x = spelled_over(SQUARE)
    for name in CONSTANTS:
        monkeypatch.setitem(globals(), name, spelled_over(globals()[name]))
    monkeypatch.setitem(globals(), "torch", spelled)
    for call, expected in zip(calls_of(path), wanted, strict=True):
        results = flat(call(function, x))
        assert len(results) == len(expected)
        for result, other in zip(results, expected, strict=True):
            if isinstance(other, int | float | bool):
                assert result == other
                continue
            assert type(result) is spelled.Tensor
            assert type(result.array) is type(other)
            assert result.array.shape == other.shape
            np.testing.assert_allclose(result.numpy(), other.resolve_conj().numpy(), rtol=1e-10, atol=1e-12)


def test_most_functions_give_the_type_back() -> None:
    kept = [path for path in FUNCTIONS if isinstance(flat(calls_of(path)[0](FUNCTIONS[path], Named(SQUARE)))[0], Named)]
    assert len(kept) > 240


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda t, x: (t + x, x + t),
    "-": lambda t, x: (t - x, x - t),
    "*": lambda t, x: (t * x, x * t),
    "@": lambda t, x: (t @ x, x @ t),
    "/": lambda t, x: (x / t, t / (x + 5)),
    "//": lambda t, x: (x // t, t // (x + 5)),
    "%": lambda t, x: (x % t, t % (x + 5)),
    "**": lambda t, x: (t**x,),
    "==": lambda t, x: (t == x, x == t, t != x),
    "<": lambda t, x: (t < x, x < t, t >= x),
    "method": lambda t, x: (t.add(x, alpha=2), t.matmul(x), t.maximum(x)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_take_pytorchs_tensors_on_either_side(name: str, kind: str) -> None:
    for make in (lambda v: torch.tensor(v, dtype=torch.float64), np.asarray):
        x = made(make)[kind]
        wanted = OPERATORS[name](SQUARE + 4, bridge.to_torch(dense_tensor("", x)))
        for result, other in zip(OPERATORS[name](SQUARE + 4, x), wanted, strict=True):
            # A structure may become a wider one: a scalar matrix times a tensor is diagonal.
            assert type(result) in (torch.Tensor, type(x), dk.types.DiagonalTensor)
            torch.testing.assert_close(bridge.to_torch(result), other)


def test_structure_is_kept_where_a_rule_keeps_it() -> None:
    d, low = Diagonal([2.0, 3.0, 1.5]), made(np.asarray)["LowRank"]
    with dk.densify(on="error"):
        assert type(torch.add(d, d, alpha=2)) is Diagonal
        assert type(torch.mul(d, 2)) is Diagonal
        assert type(SQUARE[0, 0] * d) is Diagonal
        assert type(torch.transpose(low, 0, 1)) is LowRank
        assert type(SQUARE @ d) is torch.Tensor
        assert type(torch.linalg.solve(d, SQUARE)) is torch.Tensor
        assert torch.sum(d).item() == 6.5
        assert F.linear(SQUARE, d, SQUARE[0]).shape == (3, 3)


def test_a_function_without_an_operation_gets_the_dense_form_and_says_so() -> None:
    d = Diagonal([2.0, 3.0, 1.5])
    with dk.densify(on="warn"), pytest.warns(dk.DensifyWarning, match="made Diagonal dense"):
        assert torch.matrix_exp(d)[1, 1].item() == pytest.approx(np.exp(3.0))
    with dk.densify(on="error"), pytest.raises(dk.DensifyError):
        torch.matrix_exp(d)
    values, places = torch.topk(d, 1)
    assert (values[:, 0].tolist(), places[:, 0].tolist()) == ([2.0, 3.0, 1.5], [0, 1, 2])
    assert torch.allclose(d, torch.diag(torch.tensor([2.0, 3.0, 1.5], dtype=torch.float64)))
    assert type(torch.matrix_exp(Named(SQUARE))) is torch.Tensor


def test_results_are_written_where_they_are_wanted() -> None:
    d, wanted = Diagonal([2.0, 3.0, 1.5]), torch.diag(torch.tensor([2.0, 3.0, 1.5], dtype=torch.float64))
    t = SQUARE.clone()
    t += d
    torch.testing.assert_close(t, SQUARE + wanted)
    t[:] = d
    torch.testing.assert_close(t, wanted)
    t.mul_(d)
    torch.testing.assert_close(t, wanted**2)
    assert torch.exp(d, out=t) is t
    torch.testing.assert_close(t, torch.exp(wanted))
    with pytest.raises(TypeError, match="the result cannot be written into a Diagonal"):
        torch.exp(SQUARE, out=d)
    with pytest.raises(dk.TorchCallError, match="inplace=True would change a dense copy; leave it out"):
        F.relu(d, inplace=True)


@dk.array_type()
class Bare:
    """A type without rules and without a dense form."""

    shape, dtype = (3, 3), np.dtype(float)


def test_refusals_of_operators_are_no_type_errors_that_pytorch_swallows() -> None:
    bare = Bare()
    for function in (operator.eq, operator.ne, operator.add, operator.sub, operator.matmul):
        for operands in ((SQUARE, bare), (bare, SQUARE)):
            with pytest.raises(dk.TorchCallError, match=r"(?s)\[torch.Tensor, Bare\]: no impl.*Bare: no rule"):
                function(*operands)
    for arguments in ((SQUARE, bare), (bare, SQUARE)):
        with pytest.raises(dk.NoImplementationError):
            torch.add(*arguments)
    with pytest.raises(dk.TorchCallError) as caught:
        torch.matrix_exp(bare)
    assert str(caught.value) == (
        "'torch.matrix_exp' on [Bare]: no operation has its meaning, and Bare does not declare fallback.dense"
    )
    with pytest.raises(dk.TorchCallError, match=r"MetadataTensor does not declare fallback\.dense"):
        torch.geqrf(MetadataTensor([[1.0]], {"unit": "m"}))


def test_an_error_of_a_rule_comes_out_of_an_operator_as_what_it_is() -> None:
    @dk.array_type()
    class Fails:
        shape, dtype = (3, 3), np.dtype(float)

    @dk.implements(dk.equal)
    def equal(x1: dk.Tensor, x2: Fails, /) -> Any:
        raise KeyError("the rule's own")

    @dk.implements(dk.add)
    def add(x1: dk.Tensor, x2: Fails, /) -> Any:
        raise TypeError("the rule's own")

    with pytest.raises(KeyError, match="the rule's own"):
        operator.eq(SQUARE, Fails())
    with pytest.raises(dk.TorchCallError, match="the rule's own") as caught:
        SQUARE + Fails()
    assert type(caught.value.__cause__) is TypeError
    with pytest.raises(TypeError, match="the rule's own"):
        torch.add(SQUARE, Fails())


def test_types_of_other_libraries_are_asked_in_their_turn() -> None:
    class Other:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> str:
            return f"{func.__name__} of {len(args)}"

    assert torch.add(Diagonal([1.0]), Other()) == "add of 2"
    parameter = torch.nn.Parameter(SQUARE)
    assert (parameter + Diagonal([2.0, 3.0, 1.5])).requires_grad


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_flow_through_pytorchs_functions(kind: str) -> None:
    held: list[Any] = []

    def leaf(values: Any) -> Any:
        held.append(torch.tensor(values, dtype=torch.float64, requires_grad=True))
        return held[-1].detach()

    x = made(leaf)[kind]
    inside = [t for t in held if any(t is not None and a.data_ptr() == t.data_ptr() for a in arrays(x))]
    for t in inside:
        replace(x, t)
    t = SQUARE.clone().requires_grad_()

    def loss(a: Any) -> Any:
        total = torch.sum(torch.exp(F.linear(t, a) * 0.1)) + torch.sum(a @ t)
        return bridge.to_torch(total)

    found = torch.autograd.grad(loss(x), [t, *inside])
    wanted = torch.autograd.grad(loss(bridge.to_torch(dense_tensor("", x))), [t, *inside])
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other)
    assert inside


def arrays(x: Any) -> list[Any]:
    if isinstance(x, dk.Tensor):
        return [x.array]
    return [one.array for one in vars(x).values() if isinstance(one, dk.Tensor)]


def replace(x: Any, t: Any) -> None:
    """Put a tensor that requires a gradient in the place of the one with the same memory."""
    for one in [x] if isinstance(x, dk.Tensor) else vars(x).values():
        if isinstance(one, dk.Tensor) and one.array.data_ptr() == t.data_ptr():
            one.array = t


def test_gradients_flow_to_leaves_of_dispatchkit() -> None:
    w: Any = dk.tensor([2.0, 3.0, 1.5], requires_grad=True)
    torch.sum(torch.linalg.solve(Diagonal(w), SQUARE) ** 2).backward()
    v = torch.tensor([2.0, 3.0, 1.5], dtype=torch.float64, requires_grad=True)
    torch.sum(torch.linalg.solve(torch.diag(v), SQUARE) ** 2).backward()
    np.testing.assert_allclose(w.grad.numpy(), v.grad.numpy())


@pytest.mark.parametrize("kind", KINDS)
def test_what_makes_a_tensor_of_pytorch_gets_the_dense_form(kind: str) -> None:
    for make in (lambda v: torch.tensor(v, dtype=torch.float64), np.asarray):
        x = made(make)[kind]
        for function in (torch.as_tensor, torch.asarray, torch.from_dlpack, torch.tensor):
            torch.testing.assert_close(function(x), bridge.to_torch(dense_tensor("", x)))


def test_a_dense_form_for_pytorch_is_bounded_and_loses_no_gradient() -> None:
    with dk.densify(on="error"), pytest.raises(dk.DensifyError, match="__dlpack__"):
        torch.as_tensor(Diagonal([1.0]))
    with pytest.raises(dk.AutogradError, match=r"use x.detach\(\)"):
        torch.as_tensor(Diagonal(dk.tensor([1.0], requires_grad=True)))
    with pytest.raises(TypeError, match=r"__dlpack__: Bare has no dense form; define to_dense\(\)"):
        torch.as_tensor(Bare())


def test_the_page_lists_what_is_answered() -> None:
    assert page.make_page().count("`") > 500
