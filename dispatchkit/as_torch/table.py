"""PyTorch's names and arguments for operations: the one table of `dispatchkit.as_torch` and of calls from PyTorch.

An operation answers the function of PyTorch that has its name, but for what stands here: other names, other arguments,
and functions that mean something else, which `functions` puts in terms of operations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dispatchkit.backends.arrays import PLAIN
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.instance import tensor_protocol

# What PyTorch calls otherwise than the array API and so the operations.
NAMES = {
    **{name: f"linalg.{name}" for name in ("det", "matrix_power", "slogdet")},
    **{name: f"special.{name}" for name in ("digamma", "erf", "erfc", "erfinv", "polygamma", "xlogy")},
    **{f"special.{name}": name for name in ("expm1", "log1p", "logsumexp")},
    "alias_copy": "clone",
    "conj_physical": "conj",
    "fix": "trunc",
    "ger": "outer",
    "inverse": "linalg.inv",
    "lgamma": "special.gammaln",
    "repeat": "tile",
    "special.psi": "special.digamma",
    "spmm": "mm",
    "unbind": "unstack",
}
# Of the same name, but another meaning.
OTHERS = frozenset({"empty_like", "equal", "index_put", "nn.functional.batch_norm", "nn.functional.dropout"})
# Not overridable in PyTorch, or of random numbers: for `as_torch` alone.
CREATION = {
    "bernoulli": "random.bernoulli",
    "empty_like": "empty_like",
    "from_numpy": "asarray",
    "multinomial": "random.multinomial",
    "nn.functional.dropout": "nn.functional.dropout",
}
# What arguments are called, and by which parameters of operations they are taken.
KEYWORDS = {
    "dim": ("axis", "axes"),
    "dims": ("axes", "axis"),
    "keepdim": ("keepdims",),
    "size": ("shape",),
    "shifts": ("shift",),
    "diagonal": ("offset", "k"),
    "end": ("stop",),
    "index": ("indices",),
    "interpolation": ("method",),
    "steps": ("num",),
}
# The arguments of functions that do not follow from the parameters of their operations, in PyTorch's order.
ARGUMENTS = {
    "size": ("empty", "ones", "rand", "randn", "zeros"),
    "n m": ("eye",),
    "data": ("as_tensor", "asarray", "from_numpy"),
    "input": ("bernoulli",),
    "input shape": ("reshape", "view"),
    "input dims": ("flip", "permute", "repeat", "tile"),
    "input shifts dims": ("roll",),
    "input mat2": ("bmm", "mm", "spmm"),
    "input vec": ("mv",),
    "input vec2": ("ger", "outer"),
    "input tensor": ("dot",),
    "input axis0 axis1": ("swapaxes",),
    "input dim0 dim1": ("swapdims",),
    "input k dim largest sorted": ("topk",),
    "input dim keepdim dtype": ("nanmean", "nansum"),
    "x y dim": ("linalg.vecdot",),
}
# Taken for these, too.
SYNONYMS = {"A": "input", "axis": "dim", "keepdims": "keepdim", "dtype": "shape"}
# Taken for these in functions of these names.
SYNONYMS_OF = {
    **dict.fromkeys(
        ("tensor_split", "hsplit", "vsplit", "dsplit"),
        dict.fromkeys(("indices", "indices_or_sections", "tensor_indices_or_sections"), "sections"),
    ),
    "split": {"split_size": "split_size_or_sections", "input": "tensor"},
    "unsafe_split": {"split_size": "split_size_or_sections", "input": "tensor"},
    "linalg.lstsq": {"b": "B"},
    "multinomial": {"input": "probs"},
    "linalg.tensorsolve": {"other": "B"},
    "view": {"size": "shape"},
    "view_copy": {"size": "shape"},
    "repeat": {"repeats": "dims"},
    "isin": {"test_element": "test_elements", "element": "elements"},
}
# Given as several numbers, too, as in `x.view(2, 3)`.
SPREAD = frozenset({"size", "shape", "dims"})
# Methods that take the numbers of a list one by one.
SPREAD_METHODS = frozenset(
    {
        *("broadcast_to", "expand", "flip", "permute", "repeat", "reshape", "sum_to_size", "tile", "view"),
        *("count_nonzero", "dsplit", "hsplit", "squeeze", "vsplit"),
    }
)
# Of these, the methods that take one number as it is.
OF_SEVERAL_NUMBERS = frozenset({"count_nonzero", "dsplit", "hsplit", "squeeze", "vsplit"})
# What tensors of dispatchkit do not tell apart, or decide themselves.
IGNORED = frozenset({"inplace", "layout", "memory_format", "non_blocking", "pin_memory", "sparse_grad"})
# Taken where they say nothing, as None, by functions of PyTorch that have them.
UNUSED = {"driver": frozenset({"linalg.svd", "linalg.svdvals"}), "generator": frozenset({"nn.functional.rrelu"})}
# Arguments of these, by their names.
LAYOUTS = ("channels_last", "channels_last_3d", "contiguous_format", "preserve_format", "strided")
# Methods alone in PyTorch.
METHODS = frozenset({"expand", "new_empty_strided", "repeat", "sum_to_size", "unfold", "view"})
# Functions that are no methods in PyTorch.
NO_METHODS = frozenset(
    {
        *(
            "bucketize",
            "combinations",
            "constant_pad_nd",
            "fill",
            "gradient",
            "rsub",
            "searchsorted",
            "spmm",
            "std_mean",
        ),
        *("var_mean", "view_as_complex", "view_as_real", "alias_copy", "unfold_copy"),
        *("diagonal_copy", "expand_copy", "permute_copy", "split_with_sizes_copy", "squeeze_copy", "t_copy"),
        *("transpose_copy", "unbind_copy", "unsqueeze_copy", "view_copy", "as_strided_copy"),
    }
)
# Functions whose values at infinities and NaN, or arguments, are others than those of the operations of their names.
OF_OTHER_VALUES = frozenset({"sgn", "sign", "floor_divide", "fill"})
# What tensors have besides PyTorch's names: the library itself asks for it.
OF_THE_LIBRARY = frozenset({"array", "is_tracer", "from_dlpack", "persistent", "to_device"})
# What has a further name with ``_copy``, for a result in memory of its own.
COPIED = (
    *("diagonal", "expand", "narrow", "permute", "split_with_sizes", "squeeze", "t", "transpose", "unbind", "unfold"),
    *("unsqueeze", "view", "as_strided"),
)
# Functions whose results may be of another dtype than their integers.
OF_ANY_DTYPE = frozenset({"view", "view_copy", "inner"})
# Arguments that are axes.
AXES = frozenset({"dim", "dims", "dim0", "dim1", "dim2", "dimension", "axis", "axis0", "axis1", "start_dim", "end_dim"})
# Functions whose arguments of these names are no axes.
NO_AXES = frozenset({"tile", "repeat", "tensordot"})
# Functions whose axes may be those of the result, which has one more than the argument.
NEW_AXIS = frozenset({"diag_embed", "diff", "stack", "unsqueeze", "unsqueeze_copy"})
# Functions whose numbers keep the dtypes that NumPy gives them.
OF_DATA = frozenset({"as_tensor", "asarray", "from_numpy"})
# Functions of which no axes mean all of them.
NO_AXES_ARE_ALL = frozenset(
    {
        *("amax", "amin", "count_nonzero", "linalg.vector_norm", "logsumexp", "mean", "nanmean", "nansum"),
        *("special.logsumexp", "std", "std_mean", "sum", "var", "var_mean"),
    }
)
# Functions of an axis of what their operands are broadcast to.
AXES_OF_BOTH = frozenset({"linalg.vecdot", "nn.functional.cosine_similarity"})
# Functions that may be given an axis twice.
REPEATED_AXES = frozenset({"roll", "tensordot", "fft.fftshift", "fft.ifftshift"})
# Functions of an axis that a number has not.
NOT_OF_NUMBERS = frozenset(
    {
        *("cross", "fft.fftshift", "fft.ifftshift", "gradient", "linalg.cross", "narrow", "narrow_copy", "select"),
        *(
            "diagonal",
            "diagonal_copy",
            "split",
            "take_along_dim",
            "trapezoid",
            "trapz",
            "unbind",
            "unbind_copy",
            "unique",
            "unique_consecutive",
        ),
        *(f"fft.{kind}{name}{end}" for kind in ("", "i") for name in ("fft", "rfft", "hfft") for end in ("", "2", "n")),
    }
)
# Arguments that may have elements of any kind, or of one that the function looks at itself.
ARGUMENTS_OF_ANY_KIND = frozenset(
    {
        *("mask", "condition", "index", "indices", "repeats", "sorter", "dtype", "n", "pivots", "LU_pivots", "weight"),
        *("fweights", "aweights", "weights", "q", "target", "input_mask", "other_mask", "tensor_indices_or_sections"),
        *("size", "shape"),
    }
)
# Arguments of functions that count something, though others' of these names are operands.
COUNTS = {"diff": frozenset({"n"})}
# Functions that sum small unsigned integers in int64.
SUMS = frozenset({"cumprod", "cumsum", "nansum", "prod", "sum", "trace"})
# Arguments that decide the dtype of a result where they are plain numbers.
NUMBERS_AS_OPERANDS = frozenset({"other", "min", "max", "exponent", "value", "end"})
# Arguments that have part in the dtype in common where they are plain numbers.
NUMBERS_IN_COMMON = NUMBERS_AS_OPERANDS | {"input", "n", "x", "x1", "x2"}
# Functions whose results have memory of their own, where operations may give views.
COPIED_HERE = frozenset(
    {
        *("diag", "diff", "flip", "fliplr", "flipud", "logcumsumexp", "nan_to_num", "rot90"),
        *("nn.functional.pixel_shuffle", "nn.functional.pixel_unshuffle", "histogram", "triangular_solve"),
        "nn.functional.channel_shuffle",
    }
)
# Functions whose results are views in PyTorch and copies here, into which nothing is written.
VIEWS_THERE = frozenset({"adjoint", "conj", "unfold"})
# The names of results beyond those that PyTorch's own classes have.
RESULTS: dict[str, tuple[str, ...]] = {"std_mean": (), "var_mean": (), "lu": ("LU", "pivots", "info")}
# Functions that have axes of a number's own: of others a number is taken as one element along an axis.
OF_NUMBERS = frozenset({"diff", "gather", "nanquantile", "quantile", "unsqueeze", "unsqueeze_copy"})
# Modules that show what others have.
ALIASES = {
    **dict.fromkeys(("nn.modules", "nn.modules.module", "nn.parallel", "nn.parameter"), "nn"),
    **{f"utils.data.{name}": "utils.data" for name in ("dataloader", "dataset", "sampler")},
}
# PyTorch's classes of tensors by their dtypes.
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
NAMES_OF_DTYPES = ("Bool", "Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double")
CLASSES = {dtype: f"{name}Tensor" for dtype, name in zip(DTYPES, NAMES_OF_DTYPES, strict=True)}
# Their names, and those of complex numbers, for which there are no classes.
TYPES = CLASSES | {"complex64": "ComplexFloatTensor", "complex128": "ComplexDoubleTensor"}
# What to write for names that dispatchkit has and PyTorch lacks, and for those of PyTorch that it has otherwise.
INSTEAD = {
    **{name: f"dk.{name}" for name in ("average", "cbrt", "convolve", "einsum_path", "getitem", "interp", "setitem")},
    **{name: f"dk.{name}" for name in ("nanmax", "nanmin", "nanprod", "nanstd", "nanvar", "unique_all")},
    **dict.fromkeys(("unique_counts", "unique_inverse", "unique_values"), "unique"),
    **{f"linalg.{name}": name for name in ("outer", "tensordot", "trace")},
    **{f"linalg.{name}": f"dk.linalg.{name}" for name in ("cg", "matrix_transpose")},
    **{f"nn.functional.{name}": f"dk.nn.functional.{name}" for name in ("gru", "lstm", "standardize")},
    "bfloat16": "float32 or float64",
    **{name: f"x.{name}" for name in METHODS},
    "astype": "x.to(dtype)",
    "bitwise_invert": "bitwise_not",
    "broadcast_arrays": "broadcast_tensors",
    "conjugate": "conj",
    "copy": "x.clone()",
    **dict.fromkeys(("matvec", "rmatvec"), "x @ v"),
    **dict.fromkeys(("eigh", "eigvals", "eigvalsh"), "torch.linalg.eigh(x), eigvals or eigvalsh"),
    "cuda": "x.to(device) with arrays of a library that has devices",
    "cumulative_prod": "cumprod",
    "cumulative_sum": "cumsum",
    "expand_dims": "unsqueeze",
    "isdtype": "x.is_floating_point()",
    **dict.fromkeys(("rnn_relu", "rnn_tanh"), "torch.nn.RNN"),
    **dict.fromkeys(("dsmm", "hsmm", "smm"), "x @ y"),
    "convolution": "torch.nn.functional.conv2d or its like",
    "set_anomaly_enabled": "torch.autograd.set_detect_anomaly",
    "symeig": "torch.linalg.eigh",
    "matrix_transpose": "x.mT",
    "mod": "remainder",
    "nelement": "x.numel()",
    "pad": "nn.functional.pad",
    "permute_dims": "permute",
    "power": "pow",
    "sparse_csr_tensor": "dk.types.SparseTensor.csr",
    "take_along_axis": "take_along_dim",
    "unstack": "unbind",
    "vecdot": "linalg.vecdot",
}
Function = Callable[..., Any]
# Functions in terms of operations, and those of them by which calls from PyTorch are not answered.
TRANSLATIONS: dict[str, Function] = {}
ALONE: dict[str, Function] = {}


class NotTranslated(Exception):  # noqa: N818  # no error: another way is taken
    """A call that is not put in terms of operations."""


class Values(NamedTuple):
    """Elements, and where they stand along an axis."""

    values: Any
    indices: Any


def is_array(value: Any) -> bool:
    """Return whether a value is a tensor or of an array type."""
    if type(value) in PLAIN:
        return False
    return isinstance(value, Storage) or tensor_protocol.types.participates(type(value))


# Functions whose checks ask for the dtypes of arguments alone.
CHECKED_BY_TYPES = frozenset(
    {
        *("imag", "view_as_real", "mean", "linalg.vector_norm"),
        *("where", "sub", "subtract", "rsub", "clamp", "clip", "mvlgamma", "special.multigammaln", "repeat", "tile"),
        *(f"fft.{kind}{name}{end}" for kind in ("", "i") for name in ("fft", "rfft", "hfft") for end in ("", "2", "n")),
    }
)
