"""Losses as modules: each calls the functional it is named after, with the options it was made with."""

from __future__ import annotations

from typing import Any, Literal

from dispatchkit.nn import functional
from dispatchkit.nn.functional.losses.reduction import REDUCTIONS, Reduction, check_reduction
from dispatchkit.nn.module import Module

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CrossEntropyLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "NLLLoss",
    "SmoothL1Loss",
]


class Loss(Module):
    """What the losses share: the reduction, checked when the module is made, and weights that move with it.

    Parameters
    ----------
    reduction : how losses are put together
    accepted : the reductions there are
    weights : arrays by name, each of which becomes a buffer; None where it is left out

    Raises
    ------
    ValueError : for another reduction
    """

    def __init__(self, reduction: str, accepted: tuple[str, ...] = REDUCTIONS, **weights: Any) -> None:
        super().__init__()
        check_reduction(type(self).__name__, reduction, accepted)
        self.reduction: Any = reduction
        for name, weight in weights.items():
            self.register_buffer(name, weight)


class MSELoss(Loss):
    """Square the differences between input and target.

    Parameters
    ----------
    reduction : ``"mean"`` or ``"sum"`` of all losses, or ``"none"``

    Raises
    ------
    ValueError : for another reduction

    Notes
    -----
    See `dispatchkit.nn.functional.mse_loss`. Source: PyTorch, `torch.nn.MSELoss`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.MSELoss()(dk.tensor([1.0, 2.0]), dk.tensor([1.0, 4.0]))
    tensor(2.)
    """

    def __init__(self, reduction: Reduction = "mean") -> None:
        super().__init__(reduction)

    def forward(self, x: Any, target: Any) -> Any:
        """Compute the loss.

        Parameters
        ----------
        x, target : arrays of one shape
        """
        return functional.mse_loss(x, target, reduction=self.reduction)


class L1Loss(Loss):
    """Take the distances between input and target.

    Parameters
    ----------
    reduction : ``"mean"`` or ``"sum"`` of all losses, or ``"none"``

    Raises
    ------
    ValueError : for another reduction

    Notes
    -----
    See `dispatchkit.nn.functional.l1_loss`. Source: PyTorch, `torch.nn.L1Loss`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.L1Loss()(dk.tensor([1.0, 2.0]), dk.tensor([1.0, 4.0]))
    tensor(1.)
    """

    def __init__(self, reduction: Reduction = "mean") -> None:
        super().__init__(reduction)

    def forward(self, x: Any, target: Any) -> Any:
        """Compute the loss.

        Parameters
        ----------
        x, target : arrays of one shape
        """
        return functional.l1_loss(x, target, reduction=self.reduction)


class HuberLoss(Loss):
    """Square small differences between input and target, and let the loss grow linearly with large ones.

    Parameters
    ----------
    reduction : ``"mean"`` or ``"sum"`` of all losses, or ``"none"``
    delta : the difference, greater than 0, from which on the loss is linear

    Raises
    ------
    ValueError : for another reduction

    Notes
    -----
    See `dispatchkit.nn.functional.huber_loss`. Source: PyTorch, `torch.nn.HuberLoss`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.HuberLoss("sum")(dk.tensor([1.0, 2.0]), dk.tensor([2.0, 12.0]))
    tensor(10.)
    """

    def __init__(self, reduction: Reduction = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        self.delta = delta

    def forward(self, x: Any, target: Any) -> Any:
        """Compute the loss.

        Parameters
        ----------
        x, target : arrays of one shape
        """
        return functional.huber_loss(x, target, reduction=self.reduction, delta=self.delta)


class SmoothL1Loss(Loss):
    """Take the distances between input and target, smoothed around 0.

    Parameters
    ----------
    reduction : ``"mean"`` or ``"sum"`` of all losses, or ``"none"``
    beta : the difference, 0 or greater, from which on the loss is linear

    Raises
    ------
    ValueError : for another reduction

    Notes
    -----
    See `dispatchkit.nn.functional.smooth_l1_loss`. Source: PyTorch, `torch.nn.SmoothL1Loss`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.SmoothL1Loss("sum")(dk.tensor([1.0, 2.0]), dk.tensor([2.0, 12.0]))
    tensor(10.)
    """

    def __init__(self, reduction: Reduction = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction)
        self.beta = beta

    def forward(self, x: Any, target: Any) -> Any:
        """Compute the loss.

        Parameters
        ----------
        x, target : arrays of one shape
        """
        return functional.smooth_l1_loss(x, target, reduction=self.reduction, beta=self.beta)


class KLDivLoss(Loss):
    """Compare probabilities given by their logarithms with those of a target: Kullback-Leibler divergence.

    Parameters
    ----------
    reduction : ``"batchmean"``, which gives the divergence, ``"mean"``, ``"sum"`` or ``"none"``
    log_target : whether the target is of logarithms, too

    Raises
    ------
    ValueError : for another reduction

    Notes
    -----
    See `dispatchkit.nn.functional.kl_div`. Source: PyTorch, `torch.nn.KLDivLoss`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.KLDivLoss("batchmean")(dk.log(dk.tensor([[0.5, 0.5]])), dk.tensor([[1.0, 0.0]]))
    tensor(0.6931)
    """

    def __init__(
        self, reduction: Literal["none", "mean", "sum", "batchmean"] = "mean", log_target: bool = False
    ) -> None:
        super().__init__(reduction, (*REDUCTIONS, "batchmean"))
        self.log_target = log_target

    def forward(self, x: Any, target: Any) -> Any:
        """Compute the loss.

        Parameters
        ----------
        x, target : arrays of one shape
        """
        return functional.kl_div(x, target, reduction=self.reduction, log_target=self.log_target)


class NLLLoss(Loss):
    """Take the logarithm of the probability of the right class, with a minus sign.

    Parameters
    ----------
    weight : of each class, tensor of shape (C,); a buffer
    ignore_index : number in the target whose places do not count
    reduction : ``"mean"``, with weights the weighted one, or ``"sum"`` of all losses, or ``"none"``

    Raises
    ------
    ValueError : for another reduction

    Notes
    -----
    See `dispatchkit.nn.functional.nll_loss`. Source: PyTorch, `torch.nn.NLLLoss`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.NLLLoss()(dk.log(dk.tensor([[0.5, 0.5]])), dk.tensor([1]))
    tensor(0.6931)
    """

    def __init__(self, weight: Any = None, *, ignore_index: int = -100, reduction: Reduction = "mean") -> None:
        super().__init__(reduction, weight=weight)
        self.ignore_index = ignore_index

    def forward(self, x: Any, target: Any) -> Any:
        """Compute the loss.

        Parameters
        ----------
        x : logarithms of probabilities, of shape (C,), (N, C) or (N, C, d1, ..., dK)
        target : numbers of classes, of the shape of `x` without C
        """
        return functional.nll_loss(x, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class CrossEntropyLoss(Loss):
    """Compare scores of classes with the right class, or with the probability of each.

    Parameters
    ----------
    weight : of each class, tensor of shape (C,); a buffer
    ignore_index : number in the target whose places do not count
    reduction : ``"mean"``, with weights the weighted one, or ``"sum"`` of all losses, or ``"none"``
    label_smoothing : what part of the target, from 0 to 1, is replaced by equal probabilities

    Raises
    ------
    ValueError : for another reduction

    Notes
    -----
    See `dispatchkit.nn.functional.cross_entropy`. Source: PyTorch, `torch.nn.CrossEntropyLoss`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.CrossEntropyLoss()(dk.tensor([[0.0, 0.0, 0.0]]), dk.tensor([1]))
    tensor(1.0986)
    """

    def __init__(
        self,
        weight: Any = None,
        *,
        ignore_index: int = -100,
        reduction: Reduction = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(reduction, weight=weight)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, x: Any, target: Any) -> Any:
        """Compute the loss.

        Parameters
        ----------
        x : scores, of shape (C,), (N, C) or (N, C, d1, ..., dK)
        target : numbers of classes, of the shape of `x` without C; or probabilities, of the shape of `x`
        """
        return functional.cross_entropy(
            x,
            target,
            self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class BCELoss(Loss):
    """Compare probabilities with whether, or how probably, something is so.

    Parameters
    ----------
    weight : factors for the losses, tensor that broadcasts to the shape of the input; a buffer
    reduction : ``"mean"`` or ``"sum"`` of all losses, or ``"none"``

    Raises
    ------
    ValueError : for another reduction

    Notes
    -----
    See `dispatchkit.nn.functional.binary_cross_entropy`. Source: PyTorch, `torch.nn.BCELoss`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.BCELoss()(dk.tensor([0.5]), dk.tensor([1.0]))
    tensor(0.6931)
    """

    def __init__(self, weight: Any = None, *, reduction: Reduction = "mean") -> None:
        super().__init__(reduction, weight=weight)

    def forward(self, x: Any, target: Any) -> Any:
        """Compute the loss.

        Parameters
        ----------
        x, target : arrays of probabilities, of one shape
        """
        return functional.binary_cross_entropy(x, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(Loss):
    """Compare scores with whether, or how probably, something is so.

    Parameters
    ----------
    weight : factors for the losses, tensor that broadcasts to the shape of the input; a buffer
    reduction : ``"mean"`` or ``"sum"`` of all losses, or ``"none"``
    pos_weight : factors for the part of the target that is 1, tensor that broadcasts likewise; a buffer

    Raises
    ------
    ValueError : for another reduction

    Notes
    -----
    See `dispatchkit.nn.functional.binary_cross_entropy_with_logits`. Source: PyTorch, `torch.nn.BCEWithLogitsLoss`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.BCEWithLogitsLoss()(dk.tensor([0.0]), dk.tensor([1.0]))
    tensor(0.6931)
    """

    def __init__(self, weight: Any = None, *, reduction: Reduction = "mean", pos_weight: Any = None) -> None:
        super().__init__(reduction, weight=weight, pos_weight=pos_weight)

    def forward(self, x: Any, target: Any) -> Any:
        """Compute the loss.

        Parameters
        ----------
        x : scores
        target : probabilities, of the shape of `x`
        """
        return functional.binary_cross_entropy_with_logits(
            x, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )
