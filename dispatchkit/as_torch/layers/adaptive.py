"""`AdaptiveLogSoftmaxWithLoss`: the probabilities of many classes, of which rare ones stand in clusters."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from dispatchkit.as_torch.calling.results import named
from dispatchkit.as_torch.spelling import HOME, Module, adopt
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.marks import override
from dispatchkit.nn import Linear, ModuleList, Sequential


class AdaptiveLogSoftmaxWithLoss(Module):
    """A layer that gives the logarithms of probabilities of classes, with their mean as a loss.

    Parameters
    ----------
    in_features : length of the vectors
    n_classes : number of classes, the frequent ones first
    cutoffs : where the clusters begin
    div_value : how much shorter the vectors of each cluster are than those of the one before
    head_bias : whether the frequent classes and the clusters have a bias
    device, dtype : of the parameters

    Raises
    ------
    ValueError : for cutoffs that are not increasing whole numbers from 1 to n_classes - 1

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> layer = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 10, cutoffs=[3, 6])
    >>> layer(torch.ones(4, 8), torch.tensor([0, 4, 9, 2])).output.shape, layer.log_prob(torch.ones(4, 8)).shape
    ((4,), (4, 10))
    """

    __module__ = f"{HOME}.nn"

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        whole = all(int(each) == each for each in cutoffs)
        if not whole or cutoffs != sorted(set(cutoffs)) or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1:
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                f"value is between 1 and n_classes-1, found {cutoffs}"
            )
        self.in_features, self.n_classes, self.div_value, self.head_bias = in_features, n_classes, div_value, head_bias
        self.cutoffs, self.shortlist_size, self.n_clusters = [*cutoffs, n_classes], cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        place = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, head_bias, **place)
        self.tail = ModuleList()
        for number, (first, last) in enumerate(pairwise(self.cutoffs), 1):
            length = int(in_features // div_value**number)
            shorter = Linear(in_features, length, False, **place)
            self.tail.append(Sequential(shorter, Linear(length, last - first, False, **place)))

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        self.head.reset_parameters()
        for cluster in self.tail:
            for layer in cluster:
                layer.reset_parameters()

    @override
    def forward(self, input_: Any, target_: Any) -> Any:
        """Compute the logarithms of the probabilities of targets, and minus their mean.

        Parameters
        ----------
        input_ : vectors, of shape (N, in_features) or (in_features,)
        target_ : classes, of shape (N,) or ()
        """
        if target_.ndim > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if input_.ndim != target_.ndim + 1:
            raise RuntimeError(
                f"{target_.ndim}D target tensor expects {target_.ndim + 1}D input tensors, but found inputs with size "
                f"{input_.shape}"
            )
        if target_.ndim and input_.shape[0] != target_.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        least, most = int(xp.min(target_)), int(xp.max(target_))
        if least < 0 or most >= self.n_classes:
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{least}, {most}] were "
                "found. "
            )
        x, target = xp.reshape(input_, (-1, self.in_features)), xp.reshape(target_, (-1,))
        place, later = target, []
        for number, (first, last) in enumerate(pairwise(self.cutoffs)):
            is_here = (target >= first) & (target < last)
            place = xp.where(is_here, self.shortlist_size + number, place)
            [rows] = xp.nonzero(is_here)
            # A cluster that no target is in gets no gradient.
            if rows.shape[0]:
                logs = xp.log_softmax(self.tail[number](x[rows]), axis=1)
                later.append((rows, xp.take_along_axis(logs, (target[rows] - first)[:, None], axis=1)[:, 0]))
        head = xp.log_softmax(self.head(x), axis=1)
        output = xp.take_along_axis(head, place[:, None], axis=1)[:, 0]
        for rows, logs in later:
            output = xp.index_put(output, rows, logs, accumulate=True)
        loss = -xp.mean(output)
        return named("_ASMoutput", ("output", "loss"), (adopt(xp.reshape(output, target_.shape)), adopt(loss)))

    def log_prob(self, input: Any) -> Any:
        """Return the logarithms of the probabilities of all classes.

        Parameters
        ----------
        input : vectors, of shape (N, in_features)
        """
        head = xp.log_softmax(self.head(input), axis=1)
        parts = [head[:, : self.shortlist_size]]
        for number, cluster in enumerate(self.tail, self.shortlist_size):
            parts.append(xp.log_softmax(cluster(input), axis=1) + head[:, number : number + 1])
        return adopt(xp.concat(parts, axis=1))

    def predict(self, input: Any) -> Any:
        """Return the most probable classes, as the frequent classes and the clusters compare.

        Parameters
        ----------
        input : vectors, of shape (N, in_features)
        """
        first = xp.argmax(self.head(input), axis=1)
        return adopt(xp.where(first < self.shortlist_size, first, xp.argmax(self.log_prob(input), axis=1)))
