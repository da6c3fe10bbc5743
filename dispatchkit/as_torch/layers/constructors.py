"""Layers whose constructors take more in PyTorch than those of the library, or the same in another order."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar

from dispatchkit.as_torch.calling.reductions import reduction_of
from dispatchkit.as_torch.shared import implicit_axis, signature_of
from dispatchkit.as_torch.spelling import FUNCTIONS, Module
from dispatchkit.marks import override

__all__ = ["constructed_as_in_pytorch"]


class Constructed(Module):
    """A layer that takes PyTorch's arguments, and gives the library's layer those that it has.

    Attributes
    ----------
    in_pytorch : the parameters, in order
    """

    in_pytorch: ClassVar[inspect.Signature]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        try:
            given = dict(type(self).in_pytorch.bind(*args, **kwargs).arguments)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}(): {error}") from None
        own = self._taken_out(given)
        super().__init__(**given)
        self._complete(own)

    def _taken_out(self, given: dict[str, Any]) -> dict[str, Any]:
        """Take what the library's layer has not out of the arguments, and return it."""
        raise NotImplementedError

    def _complete(self, own: Mapping[str, Any]) -> None:
        """Finish the layer by what was taken out."""


class Reducing(Constructed):
    """A loss that takes the old words for a reduction, `size_average` and `reduce`, besides the new one."""

    @override
    def _taken_out(self, given: dict[str, Any]) -> dict[str, Any]:
        reduction_of(type(self).__name__, type(self).in_pytorch.parameters, given)
        return {}


class Dropping(Constructed):
    """A dropout that takes `inplace`: whether the result is written into its argument."""

    @override
    def _taken_out(self, given: dict[str, Any]) -> dict[str, Any]:
        return {"inplace": given.pop("inplace", False)}

    @override
    def _complete(self, own: Mapping[str, Any]) -> None:
        self.inplace = own["inplace"]

    @override
    def forward(self, input: Any) -> Any:
        """Drop elements."""
        if type(self).__name__ == "Dropout" and not self.inplace:
            return super().forward(input)
        path = "nn.functional." + type(self).__name__.lower()
        return FUNCTIONS[path](input, self.p, self.training, self.inplace)


class Normalizing(Constructed):
    """A normalization that may scale without adding a bias, and takes a group of processes, which is of no use here."""

    bias: Any

    @override
    def _taken_out(self, given: dict[str, Any]) -> dict[str, Any]:
        given.pop("process_group", None)
        return {"bias": given.pop("bias", True)}

    @override
    def _complete(self, own: Mapping[str, Any]) -> None:
        if not own["bias"]:
            del self.bias
            self.bias = None


class Bounded(Constructed):
    """A `Hardtanh` that takes the old words for its bounds."""

    @override
    def _taken_out(self, given: dict[str, Any]) -> dict[str, Any]:
        for old, new in (("min_value", "min_val"), ("max_value", "max_val")):
            bound = given.pop(old, None)
            if bound is not None:
                given[new] = bound
        return {}


class AlongImplicitAxis(Constructed):
    """A softmax whose axis may be left open: it is chosen at each call, with PyTorch's warning."""

    @override
    def _taken_out(self, given: dict[str, Any]) -> dict[str, Any]:
        return {"dim": given.pop("dim", None)}

    @override
    def _complete(self, own: Mapping[str, Any]) -> None:
        self.dim = own["dim"]

    @override
    def forward(self, input: Any) -> Any:
        """Compute it along the axis."""
        chosen = self.dim
        if chosen is not None:
            return super().forward(input)
        self.dim = implicit_axis(type(self).__name__, input.ndim)
        try:
            return super().forward(input)
        finally:
            self.dim = chosen


REQUIRED = inspect.Parameter.empty
MEAN = {"reduction": "mean"}
REDUCTION = {"size_average": None, "reduce": None, **MEAN}
SCORES = {"weight": None, "size_average": None, "ignore_index": -100, "reduce": None, **MEAN}
LOSSES: dict[str, dict[str, Any]] = {
    "BCELoss": {"weight": None, **REDUCTION},
    "BCEWithLogitsLoss": {"weight": None, **REDUCTION, "pos_weight": None},
    "CosineEmbeddingLoss": {"margin": 0.0, **REDUCTION},
    "CrossEntropyLoss": {**SCORES, "label_smoothing": 0.0},
    "HingeEmbeddingLoss": {"margin": 1.0, **REDUCTION},
    "KLDivLoss": {**REDUCTION, "log_target": False},
    "L1Loss": REDUCTION,
    "MSELoss": REDUCTION,
    "MarginRankingLoss": {"margin": 0.0, **REDUCTION},
    "MultiLabelMarginLoss": REDUCTION,
    "MultiLabelSoftMarginLoss": {"weight": None, **REDUCTION},
    "MultiMarginLoss": {"p": 1, "margin": 1.0, "weight": None, **REDUCTION},
    "NLLLoss": SCORES,
    "PoissonNLLLoss": {
        "log_input": True,
        "full": False,
        "size_average": None,
        "eps": 1e-8,
        "reduce": None,
        **MEAN,
    },
    "SmoothL1Loss": {**REDUCTION, "beta": 1.0},
    "SoftMarginLoss": REDUCTION,
    "TripletMarginLoss": {"margin": 1.0, "p": 2.0, "eps": 1e-6, "swap": False, **REDUCTION},
}
PLACE = {"device": None, "dtype": None, "bias": True}
BATCHES = {"num_features": REQUIRED, "eps": 1e-5, "momentum": 0.1, "affine": True, "track_running_stats": True}
INSTANCES = {**BATCHES, "affine": False, "track_running_stats": False}
GROUPS = {"num_groups": REQUIRED, "num_channels": REQUIRED, "eps": 1e-5, "affine": True}
RANKS = ("1d", "2d", "3d")
NORMS: dict[str, dict[str, Any]] = {
    **{f"BatchNorm{rank}": {**BATCHES, **PLACE} for rank in RANKS},
    **{f"InstanceNorm{rank}": {**INSTANCES, **PLACE} for rank in RANKS},
    "GroupNorm": {**GROUPS, **PLACE},
    "SyncBatchNorm": {**BATCHES, "process_group": None, **PLACE},
}
TANH = {"min_val": -1.0, "max_val": 1.0, "inplace": False, "min_value": None, "max_value": None}
# By the layer, how it is made of the library's, and what it takes.
CONSTRUCTORS: dict[str, tuple[type[Constructed], inspect.Signature]] = {
    **{name: (Reducing, signature_of((), parameters)) for name, parameters in LOSSES.items()},
    **{f"Dropout{rank}": (Dropping, signature_of((), {"p": 0.5, "inplace": False})) for rank in ("", *RANKS)},
    **{name: (Normalizing, signature_of(("bias",), parameters)) for name, parameters in NORMS.items()},
    **{name: (AlongImplicitAxis, signature_of((), {"dim": None})) for name in ("LogSoftmax", "Softmax")},
    "Hardtanh": (Bounded, signature_of((), TANH)),
}


def constructed_as_in_pytorch(held: Mapping[str, Any], home: str) -> dict[str, Any]:
    """Return the layers that take PyTorch's arguments, by their names.

    Parameters
    ----------
    held : the layers as they are
    home : the module that they are of
    """
    made = {}
    for name, (how, signature) in CONSTRUCTORS.items():
        layer = held[name]
        members = {"__module__": home, "__doc__": layer.__doc__, "in_pytorch": signature, "__signature__": signature}
        made[name] = type(name, (how, layer), members)
    return made
