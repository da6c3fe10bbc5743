"""Losses as modules: each calls the functional it is named after, with the options it was made with."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar, Literal

from dispatchkit.marks import override
from dispatchkit.nn import functional
from dispatchkit.nn.functional.losses import REDUCTIONS, Reduction, check_reduction
from dispatchkit.nn.module import DeclaredModule, declared

WEIGHTS = ("weight", "pos_weight")  # the options that are arrays, which become buffers


@declared(None)
class Loss(DeclaredModule):
    """What the losses share: the reduction, checked when the module is made, and weights that move with it.

    Attributes
    ----------
    _reductions : that there are
    """

    raised = "ValueError : for another reduction"
    shown = 0
    _reductions: ClassVar[tuple[str, ...]] = REDUCTIONS
    reduction: Reduction = "mean"

    @override
    def _set_options(self, options: dict[str, Any]) -> None:
        check_reduction(type(self).__name__, options["reduction"], self._reductions)
        for name in WEIGHTS:
            if name in options:
                self.register_buffer(name, options.pop(name))
        super()._set_options(options)

    @override
    def forward(self, x: Any, target: Any) -> Any:  # type: ignore[override]  # of two arrays
        """Compute the loss.

        Parameters
        ----------
        x, target : as the functional takes them

        Returns
        -------
        Array
            The loss: one number, or with ``reduction="none"`` one for each element or row.
        """
        return self.function(x, target, **self._values())


@declared(None)
class Weighted(Loss):
    """What losses share that take factors."""

    weight: Any = None
    _: KW_ONLY
    reduction: Reduction = "mean"


@declared(functional.mse_loss)
class MSELoss(Loss):
    """Square the differences between input and target.

    Examples
    --------
    >>> dk.nn.MSELoss()(dk.tensor([1.0, 2.0]), dk.tensor([1.0, 4.0]))
    tensor(2.)
    """


@declared(functional.l1_loss)
class L1Loss(Loss):
    """Take the distances between input and target.

    Examples
    --------
    >>> dk.nn.L1Loss()(dk.tensor([1.0, 2.0]), dk.tensor([1.0, 4.0]))
    tensor(1.)
    """


@declared(functional.huber_loss)
class HuberLoss(Loss):
    """Square small differences between input and target, and let the loss grow linearly with large ones.

    Parameters
    ----------
    delta : the difference, greater than 0, from which on the loss is linear

    Examples
    --------
    >>> dk.nn.HuberLoss("sum")(dk.tensor([1.0, 2.0]), dk.tensor([2.0, 12.0]))
    tensor(10.)
    """

    delta: float = 1.0


@declared(functional.smooth_l1_loss)
class SmoothL1Loss(Loss):
    """Take the distances between input and target, smoothed around 0.

    Parameters
    ----------
    beta : the difference, 0 or greater, from which on the loss is linear

    Examples
    --------
    >>> dk.nn.SmoothL1Loss("sum")(dk.tensor([1.0, 2.0]), dk.tensor([2.0, 12.0]))
    tensor(10.)
    """

    beta: float = 1.0


@declared(functional.kl_div)
class KLDivLoss(Loss):
    """Compare probabilities given by their logarithms with those of a target: Kullback-Leibler divergence.

    Parameters
    ----------
    reduction : ``"batchmean"``, which gives the divergence, ``"mean"``, ``"sum"`` or ``"none"``
    log_target : whether the target is of logarithms, too

    Examples
    --------
    >>> dk.nn.KLDivLoss("batchmean")(dk.log(dk.tensor([[0.5, 0.5]])), dk.tensor([[1.0, 0.0]]))
    tensor(0.6931)
    """

    _reductions = (*REDUCTIONS, "batchmean")
    reduction: Literal["none", "mean", "sum", "batchmean"] = "mean"  # type: ignore[assignment]  # one more
    log_target: bool = False


@declared(functional.nll_loss)
class NLLLoss(Weighted):
    """Take the logarithm of the probability of the right class, with a minus sign.

    Parameters
    ----------
    weight : of each class, tensor of shape (C,); a buffer
    reduction : ``"mean"``, with weights the weighted one, or ``"sum"`` of all losses, or ``"none"``

    Examples
    --------
    >>> dk.nn.NLLLoss()(dk.log(dk.tensor([[0.5, 0.5]])), dk.tensor([1]))
    tensor(0.6931)
    """

    _: KW_ONLY
    ignore_index: int = -100


@declared(functional.cross_entropy)
class CrossEntropyLoss(Weighted):
    """Compare scores of classes with the right class, or with the probability of each.

    Parameters
    ----------
    weight : of each class, tensor of shape (C,); a buffer
    reduction : ``"mean"``, with weights the weighted one, or ``"sum"`` of all losses, or ``"none"``
    label_smoothing : what part of the target, from 0 to 1, is replaced by equal probabilities

    Examples
    --------
    >>> dk.nn.CrossEntropyLoss()(dk.tensor([[0.0, 0.0, 0.0]]), dk.tensor([1]))
    tensor(1.0986)
    """

    _: KW_ONLY
    ignore_index: int = -100
    label_smoothing: float = 0.0


@declared(functional.binary_cross_entropy)
class BCELoss(Weighted):
    """Compare probabilities with whether, or how probably, something is so.

    Parameters
    ----------
    weight : factors for the losses, tensor that broadcasts to the shape of the input; a buffer

    Examples
    --------
    >>> dk.nn.BCELoss()(dk.tensor([0.5]), dk.tensor([1.0]))
    tensor(0.6931)
    """


@declared(functional.binary_cross_entropy_with_logits)
class BCEWithLogitsLoss(Weighted):
    """Compare scores with whether, or how probably, something is so.

    Parameters
    ----------
    weight : factors for the losses, tensor that broadcasts to the shape of the input; a buffer
    pos_weight : factors for the part of the target that is 1, tensor that broadcasts likewise; a buffer

    Examples
    --------
    >>> dk.nn.BCEWithLogitsLoss()(dk.tensor([0.0]), dk.tensor([1.0]))
    tensor(0.6931)
    """

    _: KW_ONLY
    pos_weight: Any = None
