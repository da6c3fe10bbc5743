"""Layers that normalize: those of batches, of instances, of groups and of the last axes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.wrapping import wrap_array
from dispatchkit.graph.recording import no_grad
from dispatchkit.marks import override
from dispatchkit.nn.functional.channels_numpy import moments_of_channels
from dispatchkit.nn.functional.normalization import batch_norm, group_norm, layer_norm, rms_norm
from dispatchkit.nn.linear import register_zeros
from dispatchkit.nn.module import Module
from dispatchkit.ops.shared import integer
from dispatchkit.protocol.frames import caller_frame, warn_at
from dispatchkit.protocol.observers import live
from dispatchkit.tensor import Tensor


class Affine(Module):
    """What layers share that scale and move what they have normalized."""

    weight: Any
    bias: Any

    def reset_parameters(self) -> None:
        """Set the weight to ones and the bias to zeros."""
        with no_grad():
            for name, value in (("weight", 1.0), ("bias", 0.0)):
                parameter = self._parameters.get(name)
                if parameter is not None:
                    parameter.fill_(value)


def _moments(x: Any) -> tuple[Any, Any]:
    """Return means and unbiased variances of the channels of a batch, which no operation gives together."""
    if type(x) is Tensor and not live:
        moments = moments_of_channels(x.array)
        if moments is not NotImplemented:
            mean, var = moments
            return wrap_array(Tensor, mean), wrap_array(Tensor, var)
    axes = (0, *range(2, len(x.shape)))
    return tensor_namespace.mean(x, axis=axes), tensor_namespace.var(x, axis=axes, correction=1)


class BatchNorm(Affine):
    """What batch normalization is for any number of axes.

    Parameters
    ----------
    num_features : of channels
    eps : added to the variance
    momentum : share of a batch in the running statistics; None for the average over all batches
    affine : whether there are a weight and a bias
    track_running_stats : whether there are running statistics, by which evaluation normalizes
    device, dtype : of the parameters; the default floating-point dtype if None

    Attributes
    ----------
    weight, bias : parameters of shape (num_features,), or None
    running_mean, running_var : buffers of shape (num_features,), or None
    num_batches_tracked : buffer, the number of batches in training so far, or None
    """

    _shown = (
        "{0.num_features}, eps={0.eps}, momentum={0.momentum}, affine={0.affine}, "
        "track_running_stats={0.track_running_stats}"
    )
    axes: ClassVar[tuple[int, ...]] = ()
    _version = 2  # before, states had no `num_batches_tracked`
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_features = integer(type(self), "num_features", num_features, least=0)
        self.eps, self.momentum = eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        shape, place = (self.num_features,), {"device": device, "dtype": dtype}
        register_zeros(self, **place, weight=shape if affine else None, bias=shape if affine else None)
        for name in ("running_mean", "running_var"):
            buffer = None
            if track_running_stats:
                buffer = tensor_namespace.zeros(shape, **place)
            self.register_buffer(name, buffer)
        count = None
        if track_running_stats:
            count = tensor_namespace.zeros((), dtype="int64", device=device)
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    @override
    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, *lists: Any, **named: Any
    ) -> None:
        key = f"{prefix}num_batches_tracked"
        if self.num_batches_tracked is not None and local_metadata.get("version", 1) < 2 and key not in state_dict:
            state_dict[key] = self.num_batches_tracked
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *lists, **named)

    def reset_running_stats(self) -> None:
        """Forget the running statistics."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1.0)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Forget the running statistics, and set the weight to ones and the bias to zeros."""
        self.reset_running_stats()
        super().reset_parameters()

    def forward(self, x: Any) -> Any:
        """Normalize a batch, and in training take it into the running statistics.

        Parameters
        ----------
        x : array of shape (N, num_features, ...)

        Returns
        -------
        Array
            Array of the shape of `x`.
        """
        self._check(x)
        if self.training or not self.track_running_stats:
            y = self._by_batch(x)
        else:
            mean, var = self.running_mean, self.running_var
            y = batch_norm(x, mean, var, self.weight, self.bias, eps=self.eps)
        if self.training and self.track_running_stats:
            with no_grad():
                if isinstance(x, Tensor):
                    x = x.detach()
                self._track(x)
        return y

    def _check(self, x: Any) -> None:
        """Raise if a batch has other axes or channels."""
        if len(x.shape) not in self.axes:
            wanted = " or ".join(f"{n}-D" for n in self.axes)
            raise ValueError(f"{type(self).__name__}: expected {wanted} input, found shape {tuple(x.shape)}")
        self._check_channels(x)

    def _check_channels(self, x: Any) -> None:
        """Raise if a batch has other channels."""
        if x.shape[1] != self.num_features:
            raise ValueError(
                f"{type(self).__name__}: expected {self.num_features} channels, (N, {self.num_features}, ...), found "
                f"shape {tuple(x.shape)}"
            )

    def _by_batch(self, x: Any) -> Any:
        """Return a batch normalized by its own statistics."""
        return batch_norm(x, None, None, self.weight, self.bias, training=True, eps=self.eps)

    def _track(self, x: Any) -> None:
        """Take a batch into the running statistics."""
        count = self.num_batches_tracked + 1
        if self.momentum is None:
            share = 1.0 / count.item()
        else:
            share = self.momentum
        self._average(*_moments(x), share)
        self.num_batches_tracked.copy_(count)

    def _average(self, mean: Any, var: Any, share: float) -> None:
        """Take means and variances of the channels into the running ones."""
        # All is computed before anything is changed.
        mean = self.running_mean + share * (mean - self.running_mean)
        var = self.running_var + share * (var - self.running_var)
        self.running_mean.copy_(mean)
        self.running_var.copy_(var)


class BatchNorm1d(BatchNorm):
    """A layer that standardizes each channel of a batch of vectors or sequences, then scales and moves it.

    Parameters
    ----------
    num_features, eps, momentum, affine, track_running_stats, device, dtype : as for `BatchNorm2d`

    Notes
    -----
    Takes arrays of shape (N, C) or (N, C, L). Source: PyTorch, `torch.nn.BatchNorm1d`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> layer = dk.nn.BatchNorm1d(2, eps=0.0)
    >>> layer(dk.asarray([[1.0, 0.0], [3.0, 4.0]])).detach()
    tensor([[-1., -1.],
            [ 1.,  1.]])
    >>> layer.running_mean
    tensor([0.2000, 0.2000])
    """

    axes = (2, 3)


class BatchNorm2d(BatchNorm):
    """A layer that standardizes each channel of a batch of images, then scales and moves it.

    Parameters
    ----------
    num_features : of channels
    eps : added to the variance
    momentum : share of a batch in the running statistics; None for the average over all batches
    affine : whether there are a weight and a bias
    track_running_stats : whether there are running statistics, by which evaluation normalizes
    device, dtype : of the parameters; the default floating-point dtype if None

    Attributes
    ----------
    weight, bias : parameters of shape (num_features,), or None
    running_mean, running_var : buffers of shape (num_features,), or None
    num_batches_tracked : buffer, the number of batches in training so far, or None

    Notes
    -----
    Takes arrays of shape (N, C, H, W). Training normalizes by the statistics of the batch, evaluation by the running
    ones, whose variance is divided by the number of elements less 1. Source: PyTorch, `torch.nn.BatchNorm2d`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> layer = dk.nn.BatchNorm2d(8)
    >>> layer
    BatchNorm2d(8, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
    >>> layer(dk.ones((2, 8, 3, 3))).shape
    (2, 8, 3, 3)
    """

    axes = (4,)


class BatchNorm3d(BatchNorm):
    """A layer that standardizes each channel of a batch of volumes, then scales and moves it.

    Parameters
    ----------
    num_features, eps, momentum, affine, track_running_stats, device, dtype : as for `BatchNorm2d`

    Notes
    -----
    Takes arrays of shape (N, C, D, H, W). Source: PyTorch, `torch.nn.BatchNorm3d`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.BatchNorm3d(8)(dk.ones((2, 8, 3, 3, 3))).shape
    (2, 8, 3, 3, 3)
    """

    axes = (5,)


class InstanceNorm(BatchNorm):
    """What instance normalization is for any number of axes; see `InstanceNorm2d`."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)

    def forward(self, x: Any) -> Any:
        """Normalize each sample, and in training take the mean of their statistics into the running ones.

        Parameters
        ----------
        x : array of shape (N, num_features, ...), or without N for one sample

        Returns
        -------
        Array
            Array of the shape of `x`.
        """
        if len(x.shape) + 1 not in self.axes:
            return super().forward(x)
        return tensor_namespace.squeeze(super().forward(tensor_namespace.expand_dims(x, axis=0)), axis=0)

    @override
    def _check_channels(self, x: Any) -> None:
        if self.affine or self.track_running_stats or x.shape[1] == self.num_features:
            super()._check_channels(x)
        else:
            text = (
                f"{type(self).__name__}: expected {self.num_features} channels, found shape {tuple(x.shape)}; their "
                f"number is not used without affine=True or track_running_stats=True"
            )
            warn_at(caller_frame(), text, UserWarning)

    @override
    def _by_batch(self, x: Any) -> Any:
        if prod(x.shape[2:]) == 1:
            raise ValueError(
                f"{type(self).__name__}: expected more than 1 value per channel of a sample, found shape "
                f"{tuple(x.shape)}"
            )
        return group_norm(x, x.shape[1], self.weight, self.bias, self.eps)

    @override
    def _track(self, x: Any) -> None:
        axes = tuple(range(2, len(x.shape)))
        of_samples = tensor_namespace.mean(x, axis=axes), tensor_namespace.var(x, axis=axes, correction=1)
        mean, var = (tensor_namespace.mean(statistic, axis=0) for statistic in of_samples)
        share = 0.0
        if self.momentum is not None:
            share = self.momentum
        self._average(mean, var, share)


class InstanceNorm1d(InstanceNorm):
    """A layer that standardizes each channel of each sequence.

    Parameters
    ----------
    num_features, eps, momentum, affine, track_running_stats, device, dtype : as for `InstanceNorm2d`

    Notes
    -----
    Takes arrays of shape (N, C, L) or (C, L). Source: PyTorch, `torch.nn.InstanceNorm1d`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.InstanceNorm1d(2, eps=0.0)(dk.asarray([[[1.0, 3.0], [0.0, 8.0]]]))
    tensor([[[-1.,  1.],
             [-1.,  1.]]])
    """

    axes = (3,)


class InstanceNorm2d(InstanceNorm):
    """A layer that standardizes each channel of each image.

    Parameters
    ----------
    num_features : of channels
    eps : added to the variance
    momentum : share of a batch in the running statistics, none if None
    affine : whether there are a weight and a bias
    track_running_stats : whether there are running statistics, by which evaluation normalizes
    device, dtype : of the parameters; the default floating-point dtype if None

    Attributes
    ----------
    weight, bias : parameters of shape (num_features,), or None
    running_mean, running_var, num_batches_tracked : as for `BatchNorm2d`, of which the last stays 0, as in PyTorch

    Notes
    -----
    Takes arrays of shape (N, C, H, W) or (C, H, W). Source: Ulyanov, Vedaldi and Lempitsky, 2016; PyTorch,
    `torch.nn.InstanceNorm2d`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> layer = dk.nn.InstanceNorm2d(3)
    >>> layer
    InstanceNorm2d(3, eps=1e-05, momentum=0.1, affine=False, track_running_stats=False)
    >>> layer(dk.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """

    axes = (4,)


class InstanceNorm3d(InstanceNorm):
    """A layer that standardizes each channel of each volume.

    Parameters
    ----------
    num_features, eps, momentum, affine, track_running_stats, device, dtype : as for `InstanceNorm2d`

    Notes
    -----
    Takes arrays of shape (N, C, D, H, W) or (C, D, H, W). Source: PyTorch, `torch.nn.InstanceNorm3d`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.InstanceNorm3d(3)(dk.ones((2, 3, 4, 4, 4))).shape
    (2, 3, 4, 4, 4)
    """

    axes = (5,)


class LastAxes(Affine):
    """What layers share that normalize the last axes: the lengths of these, and what is added for stability."""

    _shown = "{0.normalized_shape}, eps={0.eps}, elementwise_affine={0.elementwise_affine}"

    def __init__(self, normalized_shape: int | Sequence[int], eps: Any, elementwise_affine: bool) -> None:
        super().__init__()
        if isinstance(normalized_shape, Sequence):
            lengths = normalized_shape
        else:
            lengths = (normalized_shape,)
        self.normalized_shape = tuple(integer(type(self), "normalized_shape", n, least=0) for n in lengths)
        self.eps, self.elementwise_affine = eps, elementwise_affine


class LayerNorm(LastAxes):
    """A layer that standardizes the last axes of an array, then scales and moves each of their elements.

    Parameters
    ----------
    normalized_shape : lengths of the axes, one or several
    eps : added to the variance
    elementwise_affine : whether there are a weight and a bias
    bias : whether there is a bias in addition to the weight
    device, dtype : of the parameters; the default floating-point dtype if None

    Attributes
    ----------
    weight, bias : parameters of the normalized shape, or None

    Notes
    -----
    Source: PyTorch, `torch.nn.LayerNorm`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> layer = dk.nn.LayerNorm(2)
    >>> layer
    LayerNorm((2,), eps=1e-05, elementwise_affine=True)
    >>> layer(dk.asarray([[1.0, 3.0]])).detach()
    tensor([[-1.0000,  1.0000]])
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(normalized_shape, eps, elementwise_affine)
        shape = None
        if elementwise_affine:
            shape = self.normalized_shape
        of_bias = None
        if bias:
            of_bias = shape
        register_zeros(self, device, dtype, weight=shape, bias=of_bias)
        self.reset_parameters()

    def forward(self, x: Any) -> Any:
        """Normalize the last axes.

        Parameters
        ----------
        x : array of shape (..., *normalized_shape)

        Returns
        -------
        Array
            Array of the shape of `x`.
        """
        return layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(LastAxes):
    """A layer that divides the last axes of an array by the root of their mean square, then scales each element.

    Parameters
    ----------
    normalized_shape : lengths of the axes, one or several
    eps : added to the mean square; the smallest difference of numbers near 1 if None
    elementwise_affine : whether there is a weight
    device, dtype : of the weight; the default floating-point dtype if None

    Attributes
    ----------
    weight : parameter of the normalized shape, or None

    Notes
    -----
    Source: Zhang and Sennrich, 2019; PyTorch, `torch.nn.RMSNorm`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.RMSNorm(2)(dk.asarray([[1.0, 7.0]])).detach()
    tensor([[0.2000, 1.4000]])
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(normalized_shape, eps, elementwise_affine)
        of_weight = None
        if elementwise_affine:
            of_weight = self.normalized_shape
        register_zeros(self, device, dtype, weight=of_weight)
        self.reset_parameters()

    def forward(self, x: Any) -> Any:
        """Normalize the last axes.

        Parameters
        ----------
        x : array of shape (..., *normalized_shape)

        Returns
        -------
        Array
            Array of the shape of `x`.
        """
        return rms_norm(x, self.normalized_shape, self.weight, self.eps)


class GroupNorm(Affine):
    """A layer that standardizes each group of channels, then scales and moves each channel.

    Parameters
    ----------
    num_groups, num_channels : of which each group has as many
    eps : added to the variance
    affine : whether there are a weight and a bias
    device, dtype : of the parameters; the default floating-point dtype if None

    Attributes
    ----------
    weight, bias : parameters of shape (num_channels,), or None

    Raises
    ------
    ValueError : if the groups do not divide the channels

    Notes
    -----
    Source: PyTorch, `torch.nn.GroupNorm`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.GroupNorm(2, 4)
    GroupNorm(2, 4, eps=1e-05, affine=True)
    """

    _shown = "{0.num_groups}, {0.num_channels}, eps={0.eps}, affine={0.affine}"

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_groups = integer(type(self), "num_groups", num_groups, least=1)
        self.num_channels = integer(type(self), "num_channels", num_channels, least=1)
        if self.num_channels % self.num_groups:
            raise ValueError(
                f"{type(self).__name__}: num_channels={num_channels} must be divisible by num_groups={num_groups}"
            )
        self.eps, self.affine = eps, affine
        shape = None
        if affine:
            shape = (self.num_channels,)
        register_zeros(self, device, dtype, weight=shape, bias=shape)
        self.reset_parameters()

    def forward(self, x: Any) -> Any:
        """Normalize groups of channels.

        Parameters
        ----------
        x : array of shape (N, num_channels, ...)

        Returns
        -------
        Array
            Array of the shape of `x`.
        """
        return group_norm(x, self.num_groups, self.weight, self.bias, self.eps)
