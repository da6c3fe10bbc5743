"""Averages of the parameters of a model over the steps of training, and the statistics of normalizations for them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.graph.recording import no_grad
from dispatchkit.nn.module import Module
from dispatchkit.nn.normalization import BatchNorm, InstanceNorm
from dispatchkit.tensor import Tensor

Average = Callable[[Tensor, Tensor, Any], Any]
MultiAverage = Callable[[list[Tensor], list[Tensor], Any], None]
# What an average changes by, of the same arguments as `Average`.
Change = Callable[[Tensor, Tensor, Any], Any]


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
    >>> from dispatchkit.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
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
        avg_fn: Average | None = None,
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
        _check_shapes(averages, values)
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
        if self.avg_fn is None:
            average_all = self.multi_avg_fn or get_swa_multi_avg_fn()
            average_all(averages, values, number)
            return
        for average, value in zip(averages, values, strict=True):
            average.copy_(self.avg_fn(average.detach(), value, number))


def _tensors(model: Module) -> dict[str, Tensor]:
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}


def _shape_of(tensors: dict[str, Tensor], name: str) -> Any:
    """Return the shape of a tensor, "none" where there is none of that name."""
    if name in tensors:
        return tensors[name].shape
    return "none"


def _check_shapes(averages: dict[str, Tensor], values: dict[str, Tensor]) -> None:
    """Raise if a model has not the parameters and buffers that the averages are of."""
    for name in [*averages, *values]:
        expected, shape = _shape_of(averages, name), _shape_of(values, name)
        if expected != shape:
            raise ValueError(
                f"AveragedModel.update_parameters: {name!r} of the model has shape {shape}, that of the average is "
                f"{expected}"
            )


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
    >>> dk.optim.swa_utils.get_ema_multi_avg_fn(0.75)([average], [dk.tensor([3.0])], 1)
    >>> average
    tensor([1.5000])
    """
    return partial(_average_in_place, partial(_toward_value, _checked_decay("get_ema_multi_avg_fn", decay)))


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """Return the function of an exponential moving average of one parameter, for ``avg_fn`` of `AveragedModel`.

    Parameters
    ----------
    decay : how much of the average is kept in each step, from 0 to 1

    Returns
    -------
    Callable
        A function ``(average, value, number)``, which returns ``decay * average + (1 - decay) * value``.

    Raises
    ------
    ValueError : for another decay

    Notes
    -----
    Source: PyTorch, `torch.optim.swa_utils.get_ema_avg_fn`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.optim.swa_utils.get_ema_avg_fn(0.75)(dk.tensor([1.0]), dk.tensor([3.0]), 1)
    tensor([1.5000])
    """
    return partial(_new_average, partial(_toward_value, _checked_decay("get_ema_avg_fn", decay)))


def get_swa_multi_avg_fn() -> MultiAverage:
    """Return the function of the mean of all values, for ``multi_avg_fn`` of `AveragedModel`.

    Returns
    -------
    Callable
        A function ``(averages, values, number)``, which changes the averages in place.

    Notes
    -----
    Source: PyTorch, `torch.optim.swa_utils.get_swa_multi_avg_fn`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> average = dk.tensor([1.0])
    >>> dk.optim.swa_utils.get_swa_multi_avg_fn()([average], [dk.tensor([4.0])], 2)
    >>> average
    tensor([2.])
    """
    return partial(_average_in_place, _toward_mean)


def get_swa_avg_fn() -> Average:
    """Return the function of the mean of all values of one parameter, for ``avg_fn`` of `AveragedModel`.

    Returns
    -------
    Callable
        A function ``(average, value, number)``, which returns the mean of ``number + 1`` values.

    Notes
    -----
    Source: PyTorch, `torch.optim.swa_utils.get_swa_avg_fn`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.optim.swa_utils.get_swa_avg_fn()(dk.tensor([1.0]), dk.tensor([4.0]), 2)
    tensor([2.])
    """
    return partial(_new_average, _toward_mean)


def _checked_decay(name: str, decay: float) -> float:
    if not 0 <= decay <= 1:
        raise ValueError(f"{name}: decay must be from 0 to 1, found {decay}")
    return decay


def _toward_value(decay: float, average: Tensor, value: Tensor, number: Any) -> Any:
    """Return what an exponential moving average changes by."""
    return (1 - decay) * (value - average)


def _toward_mean(average: Tensor, value: Tensor, number: Any) -> Any:
    """Return what the mean of a number of values changes by with one more."""
    return (value - average) / (int(number) + 1)


def _new_average(change: Change, average: Tensor, value: Tensor, number: Any) -> Any:
    with no_grad():
        return average + change(average, value, number)


def _average_in_place(change: Change, averages: list[Tensor], values: list[Tensor], number: Any) -> None:
    with no_grad():
        for average, value in zip(averages, values, strict=True):
            average += change(average, value, number)


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of a model's batch normalizations anew, by one pass over data.

    Parameters
    ----------
    loader : of batches, tensors or tuples and lists whose first member the model is called with
    model : in which they are; averaged parameters have statistics of their own
    device : to which batches are moved, if any

    Notes
    -----
    The statistics are averages over all batches. Modes and momentums are afterwards what they were, also if the model
    raises. Source: PyTorch, `torch.optim.swa_utils.update_bn`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> model = dk.nn.BatchNorm1d(1)
    >>> dk.optim.swa_utils.update_bn([dk.tensor([[1.0], [3.0]]), dk.tensor([[5.0], [7.0]])], model)
    >>> model.running_mean
    tensor([4.])
    """
    layers = [m for m in model.modules() if isinstance(m, BatchNorm) and not isinstance(m, InstanceNorm)]
    if not layers:
        return
    momentums = [layer.momentum for layer in layers]
    modes = [(module, module.training) for module in model.modules()]
    try:
        model.train()
        for layer in layers:
            layer.reset_running_stats()
            layer.momentum = None
        with no_grad():
            for batch in loader:
                x = batch
                if isinstance(batch, (list, tuple)):
                    x = batch[0]
                if device is not None:
                    x = x.to(device)
                model(x)
    finally:
        for layer, momentum in zip(layers, momentums, strict=True):
            layer.momentum = momentum
        for module, mode in modes:
            module.training = mode
