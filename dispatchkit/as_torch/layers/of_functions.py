"""Layers and losses of PyTorch that call a function of `torch.nn.functional`, from one table of their options."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

from dispatchkit.as_torch.shared import signature_of
from dispatchkit.as_torch.spelling import FUNCTIONS, HOME, Module
from dispatchkit.marks import override

REQUIRED: Any = inspect.Parameter.empty
# Options that are arrays, which become buffers.
WEIGHTS = frozenset({"weight"})


class FunctionLayer(Module):
    """A layer that calls a function with the options that it was made with.

    Attributes
    ----------
    path : of the function inside PyTorch
    options : names and defaults of the options
    constructor : the options as parameters
    by_training : whether the function is given whether the layer is in training mode
    """

    path: ClassVar[str]
    options: ClassVar[dict[str, Any]] = {}
    constructor: ClassVar[inspect.Signature]
    by_training: ClassVar[bool] = False
    unused: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        bound = type(self).constructor.bind(*args, **kwargs)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            if name in WEIGHTS:
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)
        self._check()

    def _check(self) -> None:
        """Raise for options that the function would refuse at each call."""
        reduction = getattr(self, "reduction", "mean")
        if reduction not in ("mean", "sum", "none"):
            raise ValueError(f"{type(self).__name__}: reduction must be 'mean', 'sum' or 'none', found {reduction!r}")

    @override
    def forward(self, *inputs: Any, **more: Any) -> Any:
        """Call the function.

        Parameters
        ----------
        *inputs : what the function takes before its options
        **more : such as ``output_size``
        """
        values = {name: getattr(self, name) for name in self.options if name not in self.unused}
        if self.by_training:
            values["training"] = self.training
        return FUNCTIONS[self.path](*inputs, **values, **more)

    @override
    def extra_repr(self) -> str:
        """Return the options, as PyTorch shows them."""
        shown = [name for name in self.options if name not in (*WEIGHTS, "reduction", "return_indices", "inplace")]
        return ", ".join(f"{name}={getattr(self, name)}" for name in shown)


def function_layer(
    layer: str, function: str, by_training: bool = False, keywords: tuple[str, ...] = (), /, **options: Any
) -> type[FunctionLayer]:
    """Return the class of a layer.

    Parameters
    ----------
    layer : its name
    function : that of the function of `torch.nn.functional`
    by_training : whether that gets the mode
    keywords : options that are by name alone
    **options : defaults, in order; `REQUIRED` where there is none
    """
    signature = signature_of(keywords, options)
    members = {
        "__module__": f"{HOME}.nn",
        "__qualname__": layer,
        "__doc__": f"A layer that calls `torch.nn.functional.{function}` with the options of the same names.",
        "__signature__": signature,
        "constructor": signature,
        "path": f"nn.functional.{function}",
        "options": options,
        "by_training": by_training,
    }
    return type(layer, (FunctionLayer,), members)


WINDOWS = {"kernel_size": REQUIRED, "stride": None, "padding": 0}
LOSSES: dict[str, tuple[str, dict[str, Any]]] = {
    "CosineEmbeddingLoss": ("cosine_embedding_loss", {"margin": 0.0}),
    "CTCLoss": ("ctc_loss", {"blank": 0}),
    "HingeEmbeddingLoss": ("hinge_embedding_loss", {"margin": 1.0}),
    "MarginRankingLoss": ("margin_ranking_loss", {"margin": 0.0}),
    "MultiLabelMarginLoss": ("multilabel_margin_loss", {}),
    "MultiLabelSoftMarginLoss": ("multilabel_soft_margin_loss", {"weight": None}),
    "MultiMarginLoss": ("multi_margin_loss", {"p": 1, "margin": 1.0, "weight": None}),
    "PoissonNLLLoss": ("poisson_nll_loss", {"log_input": True, "full": False, "eps": 1e-8}),
    "SoftMarginLoss": ("soft_margin_loss", {}),
    "TripletMarginLoss": ("triplet_margin_loss", {"margin": 1.0, "p": 2.0, "eps": 1e-6, "swap": False}),
}


def _of_axes() -> dict[str, type[FunctionLayer]]:
    """Return the layers that there are for sequences, images and volumes."""
    made = {}
    for n in (1, 2, 3):
        made[f"AdaptiveMaxPool{n}d"] = function_layer(
            f"AdaptiveMaxPool{n}d", f"adaptive_max_pool{n}d", output_size=REQUIRED, return_indices=False
        )
        options = {"norm_type": REQUIRED, "kernel_size": REQUIRED, "stride": None, "ceil_mode": False}
        made[f"LPPool{n}d"] = function_layer(f"LPPool{n}d", f"lp_pool{n}d", **options)
        made[f"MaxUnpool{n}d"] = function_layer(f"MaxUnpool{n}d", f"max_unpool{n}d", **WINDOWS)
        pooled = {**WINDOWS, "dilation": 1, "return_indices": False, "ceil_mode": False}
        made[f"MaxPool{n}d"] = function_layer(f"MaxPool{n}d", f"max_pool{n}d", **pooled)
        if n > 1:
            options = {"kernel_size": REQUIRED, "output_size": None, "output_ratio": None, "return_indices": False}
            name = f"FractionalMaxPool{n}d"
            made[name] = function_layer(name, f"fractional_max_pool{n}d", **options, _random_samples=None)
    return made


def _plain() -> dict[str, type[FunctionLayer]]:
    """Return the layers without weights, and the losses."""
    grid = {"kernel_size": REQUIRED, "dilation": 1, "padding": 0, "stride": 1}
    made = [
        function_layer("AlphaDropout", "alpha_dropout", True, p=0.5, inplace=False),
        function_layer("FeatureAlphaDropout", "feature_alpha_dropout", True, p=0.5, inplace=False),
        function_layer("RReLU", "rrelu", True, lower=1 / 8, upper=1 / 3, inplace=False),
        function_layer("ChannelShuffle", "channel_shuffle", groups=REQUIRED),
        function_layer("CosineSimilarity", "cosine_similarity", dim=1, eps=1e-8),
        function_layer("PairwiseDistance", "pairwise_distance", p=2.0, eps=1e-6, keepdim=False),
        function_layer("Fold", "fold", output_size=REQUIRED, **grid),
        function_layer("Unfold", "unfold", **grid),
        function_layer("Hardshrink", "hardshrink", lambd=0.5),
        function_layer("Softshrink", "softshrink", lambd=0.5),
        function_layer("Tanhshrink", "tanhshrink"),
        function_layer("Softmin", "softmin", dim=None),
        function_layer("LocalResponseNorm", "local_response_norm", size=REQUIRED, alpha=1e-4, beta=0.75, k=1.0),
        function_layer("UpsamplingNearest2d", "upsample_nearest", size=None, scale_factor=None),
        function_layer("UpsamplingBilinear2d", "upsample_bilinear", size=None, scale_factor=None),
    ]
    for layer in made[:2]:
        layer.unused = frozenset({"inplace"})  # which PyTorch's layers keep, and do not give their functions
    keywords = {"full": False, "eps": 1e-6, "reduction": "mean"}
    made.append(function_layer("GaussianNLLLoss", "gaussian_nll_loss", False, tuple(keywords), **keywords))
    keywords = {"distance_function": None, "margin": 1.0, "swap": False, "reduction": "mean"}
    name = "triplet_margin_with_distance_loss"
    made.append(function_layer("TripletMarginWithDistanceLoss", name, False, tuple(keywords), **keywords))
    for name, (function, options) in LOSSES.items():
        more: dict[str, Any] = {"reduction": "mean"}
        if name == "CTCLoss":
            more = {"reduction": "mean", "zero_infinity": False}
        made.append(function_layer(name, function, **options, **more))
    return {layer.__name__: layer for layer in made}


class Padding(Module):
    """A layer that pads the last axes; each subclass says how.

    Parameters
    ----------
    padding : before and behind the last axis, then the one before it, and so on; or one number for all

    Attributes
    ----------
    axes : number of the axes
    mode : as of `torch.nn.functional.pad`
    value : of what is added, in the mode ``"constant"``
    """

    axes: ClassVar[int]
    mode: ClassVar[str]
    value: float = 0.0

    def __init__(self, padding: Any, *value: float) -> None:
        super().__init__()
        self.padding = padding
        if isinstance(padding, int):
            self.padding = (padding,) * (2 * self.axes)
        self.padding = tuple(self.padding)
        if len(self.padding) != 2 * self.axes:
            raise ValueError(
                f"{type(self).__name__}: padding must be a number or {2 * self.axes} of them, found {padding!r}"
            )
        takes = int(self.mode == "constant" and type(self).__name__.startswith("Constant"))
        if len(value) != takes:
            raise TypeError(f"{type(self).__name__} takes {takes} values behind padding, found {len(value)}")
        if value:
            self.value = value[0]

    @override
    def forward(self, input: Any) -> Any:
        """Pad an array."""
        if self.mode == "constant":
            return FUNCTIONS["nn.functional.pad"](input, self.padding, "constant", self.value)
        return FUNCTIONS["nn.functional.pad"](input, self.padding, self.mode)

    @override
    def extra_repr(self) -> str:
        """Return the numbers, as PyTorch shows them."""
        if type(self).__name__.startswith("Constant"):
            return f"padding={self.padding}, value={self.value}"
        return f"{self.padding}"


class ConstantPadding(Padding):
    """A layer that pads by a value.

    Parameters
    ----------
    padding : as of `Padding`
    value : the value
    """

    mode = "constant"

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding, value)


PADDINGS = {"Circular": "circular", "Reflection": "reflect", "Replication": "replicate", "Zero": "constant"}


def _pads() -> dict[str, type[Padding]]:
    """Return the layers that pad."""
    made: dict[str, type[Padding]] = {}
    for n in (1, 2, 3):
        for name, mode in PADDINGS.items():
            members: dict[str, Any] = {"axes": n, "mode": mode}
            made[f"{name}Pad{n}d"] = type(f"{name}Pad{n}d", (Padding,), members | _named("padding", mode))
        name = f"ConstantPad{n}d"
        made[name] = type(name, (ConstantPadding,), {"axes": n} | _named("padding", "constant"))
    return made


def _named(what: str, mode: str) -> dict[str, str]:
    return {"__module__": f"{HOME}.nn", "__doc__": f"A layer that pads the last axes, in the mode {mode!r} of {what}."}


LAYERS: dict[str, Any] = {**_of_axes(), **_plain(), **_pads()}
