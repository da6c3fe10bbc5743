"""The classes that layers of one family derive from in PyTorch, which programs ask `isinstance` for and derive from."""

from __future__ import annotations

from typing import Any

from dispatchkit.as_torch.calling.reductions import reduction_of
from dispatchkit.as_torch.spelling import HOME, Module
from dispatchkit.nn import normalization

__all__ = ["FAMILIES"]


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
        *("BCELoss", "CrossEntropyLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss", "NLLLoss2d"),
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


class Family(type(Module)):  # type: ignore[misc]  # the metaclass of modules
    """The metaclass of a class that layers count as instances of by their names, though they do not derive from it."""

    members: frozenset[str]

    def __instancecheck__(cls, instance: Any) -> bool:
        return cls.__subclasscheck__(type(instance))

    def __subclasscheck__(cls, subclass: type) -> bool:
        if super().__subclasscheck__(subclass):
            return True
        members = vars(cls).get("members", frozenset())
        homes = (f"{HOME}.nn", "dispatchkit.nn")
        return any(
            each.__name__.removeprefix("Lazy") in members and each.__module__ in homes for each in subclass.__mro__
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


# What classes of your own derive from by the name in PyTorch; all others are modules without arguments.
BASES: dict[str, tuple[type, ...]] = {
    "_BatchNorm": (normalization.BatchNorm,),
    "_InstanceNorm": (normalization.InstanceNorm,),
    "_DropoutNd": (DropoutBase,),
    "_Loss": (LossBase,),
    "_WeightedLoss": (WeightedLossBase,),
}


# Families of families.
WITHIN = {
    "_BatchNorm": "_NormBase",
    "_InstanceNorm": "_NormBase",
    "_ConvTransposeNd": "_ConvNd",
    "_WeightedLoss": "_Loss",
}


def _families() -> dict[str, Any]:
    """Return the classes by their names in PyTorch."""
    made: dict[str, Any] = {}
    for name in sorted(MEMBERS, key=lambda name: name in WITHIN):
        bases = BASES.get(name, (Module,))
        if name in WITHIN:
            bases = (*(base for base in bases if base is not Module), made[WITHIN[name]])
        body = {"__module__": f"{HOME}.nn.modules", "members": frozenset(MEMBERS[name])}
        made[name] = Family(name, bases, body)
    return made


FAMILIES = _families()
