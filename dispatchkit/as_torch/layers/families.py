"""The classes that layers of one family derive from in PyTorch, which programs ask `isinstance` for and derive from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dispatchkit.as_torch.calling.reductions import reduction_of
from dispatchkit.as_torch.spelling import HOME, Module
from dispatchkit.nn import normalization

__all__ = ["FAMILIES", "in_families"]


def of_ranks(kind: str) -> tuple[str, ...]:
    """Return the layers of a kind for sequences, images and volumes."""
    return tuple(f"{kind}{rank}" for rank in ("1d", "2d", "3d"))


# By the class of PyTorch, the layers that derive from it there; those that learn their sizes at the first call do, too.
MEMBERS: dict[str, tuple[str, ...]] = {
    "_BatchNorm": (*of_ranks("BatchNorm"), "SyncBatchNorm"),
    "_InstanceNorm": of_ranks("InstanceNorm"),
    "_ConvTransposeNd": of_ranks("ConvTranspose"),
    "_DropoutNd": ("Dropout", *of_ranks("Dropout"), "AlphaDropout", "FeatureAlphaDropout"),
    **{f"_{kind}Nd": of_ranks(kind) for kind in ("MaxPool", "AvgPool", "LPPool", "MaxUnpool")},
    **{f"_{kind}Nd": of_ranks(kind) for kind in ("AdaptiveAvgPool", "AdaptiveMaxPool")},
    **{f"_{kind}Nd": of_ranks(kind) for kind in ("ReflectionPad", "ReplicationPad", "CircularPad")},
    "_ConstantPadNd": (*of_ranks("ConstantPad"), *of_ranks("ZeroPad")),
    "_WeightedLoss": (
        *("BCELoss", "CrossEntropyLoss", "LinearCrossEntropyLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss"),
        *("NLLLoss", "NLLLoss2d"),
    ),
    "RNNBase": ("GRU", "LSTM", "RNN"),
    "RNNCellBase": ("GRUCell", "LSTMCell", "RNNCell"),
}
MEMBERS["_NormBase"] = (*MEMBERS["_BatchNorm"], *MEMBERS["_InstanceNorm"])
MEMBERS["_ConvNd"] = (*of_ranks("Conv"), *MEMBERS["_ConvTransposeNd"])
MEMBERS["_Loss"] = (
    *MEMBERS["_WeightedLoss"],
    *(
        "BCEWithLogitsLoss",
        "CosineEmbeddingLoss",
        "CTCLoss",
        "GaussianNLLLoss",
        "HingeEmbeddingLoss",
        "HuberLoss",
        "KLDivLoss",
        "L1Loss",
    ),
    *("MarginRankingLoss", "MSELoss", "MultiLabelMarginLoss", "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss"),
    *("TripletMarginLoss", "TripletMarginWithDistanceLoss"),
)


class LossBase(Module):
    """A loss of your own: the reduction, as PyTorch's `_Loss` keeps it.

    Parameters
    ----------
    size_average, reduce : the old words for a reduction
    reduction : ``"mean"``, ``"sum"`` or ``"none"``

    Raises
    ------
    ValueError : for another reduction
    """

    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> None:
        super().__init__()
        given = {"size_average": size_average, "reduce": reduce, "reduction": reduction}
        reduction_of(type(self).__name__, ("log_target",), given)  # some of PyTorch's take "batchmean"
        self.reduction = given["reduction"]


class WeightedLossBase(LossBase):
    """A loss of your own with factors: the buffer `weight`, as PyTorch's `_WeightedLoss` keeps it.

    Parameters
    ----------
    weight : the factors, or None
    size_average, reduce, reduction : as of `LossBase`
    """

    def __init__(
        self, weight: Any = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class DropoutBase(Module):
    """A dropout of your own: the probability, as PyTorch's `_DropoutNd` keeps it.

    Parameters
    ----------
    p : probability of an element to become zero, from 0 to 1
    inplace : kept as an attribute

    Raises
    ------
    ValueError : for a probability that is none
    """

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"{type(self).__name__}: p must be a probability from 0 to 1, found {p}")
        self.p, self.inplace = p, inplace


# What families derive from, others by their names; all that are not here are modules without arguments.
BASES: dict[str, tuple[Any, ...]] = {
    "_BatchNorm": (normalization.BatchNorm, "_NormBase"),
    "_InstanceNorm": (normalization.InstanceNorm, "_NormBase"),
    "_ConvTransposeNd": ("_ConvNd",),
    "_DropoutNd": (DropoutBase,),
    "_Loss": (LossBase,),
    "_WeightedLoss": (WeightedLossBase, "_Loss"),
}


def _families() -> dict[str, Any]:
    """Return the classes by their names in PyTorch."""
    made: dict[str, Any] = {}
    for name in sorted(MEMBERS, key=lambda name: not MEMBERS.keys().isdisjoint(BASES.get(name, ()))):
        bases = tuple(made.get(base, base) for base in BASES.get(name, (Module,)))
        made[name] = type(name, bases, {"__module__": f"{HOME}.nn.modules"})
    return made


FAMILIES = _families()


def in_families(layers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the layers that derive from a family, each with its own constructor, not that of the family.

    No metaclass says who belongs to a family: a class that derives from one beside a class of another metaclass would
    have two.

    Parameters
    ----------
    layers : the layers as they are, by their names
    """
    made: dict[str, Any] = {}
    for family, members in MEMBERS.items():
        for name in members:
            layer: Any = made.get(name, layers.get(name))
            if layer is None or issubclass(layer, FAMILIES[family]):
                continue
            body = {"__module__": layer.__module__, "__doc__": layer.__doc__, "__init__": layer.__init__}
            made[name] = type(name, (FAMILIES[family], layer), body)
    return made
