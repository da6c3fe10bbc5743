"""A second model whose parameters are averages of those that a model had while it was trained."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.graph.recording import no_grad
from dispatchkit.nn.module import Module
from dispatchkit.tensor import Tensor

__all__ = ["AveragedModel", "get_ema_multi_avg_fn"]

MultiAverage = Callable[[list[Tensor], list[Tensor], Any], None]


class AveragedModel(Module):
    """A copy of a model with averages of its parameters over the steps of training.

    Parameters
    ----------
    model : to copy
    device : of the copy; that of the model if None
    avg_fn : called with an average, a parameter and the number of values averaged so far; returns the new average
    multi_avg_fn : called with a list of averages, which it changes in place, the list of the parameters and that
        number; such as `get_ema_multi_avg_fn` makes. Without either function the average is the mean of all values.
    use_buffers : whether floating-point buffers are averaged, too; other buffers are always those of the model

    Attributes
    ----------
    module : the copy, which calls and `eval` go to
    n_averaged : buffer, the number of values averaged so far

    Raises
    ------
    ValueError : if both functions are given

    Notes
    -----
    The state dictionary is that of PyTorch's class. Source: PyTorch, `torch.optim.swa_utils.AveragedModel`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from dispatchkit.nn.utils import AveragedModel, get_ema_multi_avg_fn
    >>> model = dk.nn.Linear(1, 1, bias=False)
    >>> averaged = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.75))
    >>> for value in (0.0, 1.0, 1.0):
    ...     _ = dk.nn.init.constant_(model.weight, value)
    ...     averaged.update_parameters(model)
    >>> averaged(dk.ones(1)).item()
    0.4375
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable[[Tensor, Tensor, Any], Any] | None = None,
        multi_avg_fn: MultiAverage | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise ValueError("AveragedModel: either avg_fn or multi_avg_fn may be given, not both")
        self.module: Any = copy.deepcopy(model)
        if device is not None:
            self.module.to(device)
        self.register_buffer("n_averaged", tensor_namespace.asarray(0, dtype="int64", device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the copy.

        Parameters
        ----------
        *args, **kwargs : for the copy of the model

        Returns
        -------
        Any
            What the copy returns, computed with the averages.
        """
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the parameters that a model has now into the averages; the first time they are copied.

        Parameters
        ----------
        model : of the same parameters and buffers as the copy

        Raises
        ------
        ValueError : if it has others; nothing has been changed then
        """
        averages, values = _tensors(self.module), _tensors(model)
        shapes = [{name: x.shape for name, x in tensors.items()} for tensors in (averages, values)]
        for name in [*shapes[0], *shapes[1]]:
            wanted, found = (str(each.get(name, "none")) for each in shapes)
            if wanted != found:
                raise ValueError(
                    f"AveragedModel.update_parameters: {name!r} of the model has shape {found}, that of the average is "
                    f"{wanted}"
                )
        averaged = [name for name, _ in self.module.named_parameters()]
        if self.use_buffers:
            averaged += [name for name, x in self.module.named_buffers() if x.is_floating_point()]
        if not self.n_averaged:
            averaged = []
        with no_grad():
            if averaged:
                self._average([averages[name] for name in averaged], [values[name].detach() for name in averaged])
            for name in averages.keys() - averaged:
                averages[name].copy_(values[name])
            self.n_averaged += 1

    def _average(self, averages: list[Tensor], values: list[Tensor]) -> None:
        number = self.n_averaged
        if self.multi_avg_fn is not None:
            self.multi_avg_fn(averages, values, number)
            return
        for average, value in zip(averages, values, strict=True):
            if self.avg_fn is None:
                average += (value - average) / (number.item() + 1)
            else:
                average.copy_(self.avg_fn(average.detach(), value, number))


def _tensors(model: Module) -> dict[str, Tensor]:
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}


def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiAverage:
    """Return the function of an exponential moving average, for `AveragedModel`.

    Parameters
    ----------
    decay : how much of the average is kept in each step, from 0 to 1

    Returns
    -------
    Callable
        A function ``(averages, values, number)``; each average becomes ``decay * average + (1 - decay) * value``.

    Raises
    ------
    ValueError : for another decay

    Notes
    -----
    Source: PyTorch, `torch.optim.swa_utils.get_ema_multi_avg_fn`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> average = dk.tensor([1.0])
    >>> dk.nn.utils.get_ema_multi_avg_fn(0.75)([average], [dk.tensor([3.0])], 1)
    >>> average
    tensor([1.5000])
    """
    if not 0 <= decay <= 1:
        raise ValueError(f"get_ema_multi_avg_fn: decay must be from 0 to 1, found {decay}")

    return partial(_move_exponentially, decay)


def _move_exponentially(decay: float, averages: list[Tensor], values: list[Tensor], number: Any) -> None:
    with no_grad():
        for average, value in zip(averages, values, strict=True):
            average += (1 - decay) * (value - average)
