"""Layers that do what two did: a convolution or a linear layer with the batch normalization behind it."""

from __future__ import annotations

import copy
from typing import Any

from dispatchkit import nn
from dispatchkit.as_torch.spelling import spell
from dispatchkit.declare.namespace import tensor_namespace as xp

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights", "skip_init"]


def _fused(weight: Any, bias: Any, mean: Any, variance: Any, eps: float, factor: Any, shift: Any, shape: Any) -> Any:
    """Return the weight and the bias of a layer with a normalization behind it.

    Parameters
    ----------
    weight, bias : of the layer; the bias may be None
    mean, variance, eps : of the normalization
    factor, shift : its weight and bias, or None
    shape : in which numbers for each output are multiplied with the weight
    """
    scale = 1 / xp.sqrt(variance + eps)
    if factor is not None:
        scale = scale * factor
    if bias is None:
        bias = xp.zeros_like(mean)
    fused = (bias - mean) * scale
    if shift is not None:
        fused = fused + shift
    parts = ((weight * xp.reshape(scale, shape), weight), (fused, bias))
    return tuple(spell(nn.Parameter(xp.astype(x.detach(), of.dtype), of.requires_grad)) for x, of in parts)


def fuse_conv_bn_weights(
    conv_w: Any,
    conv_b: Any,
    bn_rm: Any,
    bn_rv: Any,
    bn_eps: float,
    bn_w: Any,
    bn_b: Any,
    transpose: bool = False,
) -> Any:
    """Return the weight and the bias of a convolution with a batch normalization behind it.

    Parameters
    ----------
    conv_w, conv_b : of the convolution; the bias may be None
    bn_rm, bn_rv, bn_eps : mean, variance and `eps` of the normalization
    bn_w, bn_b : its weight and bias, or None
    transpose : whether the convolution is a transposed one
    """
    shape = [1] * len(conv_w.shape)
    shape[int(transpose)] = -1
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def fuse_linear_bn_weights(
    linear_w: Any, linear_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any
) -> Any:
    """Return the weight and the bias of a linear layer with a batch normalization behind it.

    Parameters
    ----------
    linear_w, linear_b : of the layer; the bias may be None
    bn_rm, bn_rv, bn_eps : mean, variance and `eps` of the normalization
    bn_w, bn_b : its weight and bias
    """
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, (-1, 1))


def _fused_copy(layer: Any, bn: Any, function: Any, **options: Any) -> Any:
    """Return a copy of a layer that normalizes, too.

    Raises
    ------
    AssertionError : in training, and where the normalization has no means
    """
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    fused = copy.deepcopy(layer)
    moments = (bn.running_mean, bn.running_var, bn.eps)
    fused.weight, fused.bias = function(fused.weight, fused.bias, *moments, bn.weight, bn.bias, **options)
    return fused


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """Return one convolution that does what a convolution and a batch normalization do when they do not train.

    Parameters
    ----------
    conv, bn : the layers
    transpose : whether the convolution is a transposed one

    Raises
    ------
    AssertionError : in training, and where the normalization has no means

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> conv, bn = torch.nn.Conv1d(1, 2, 3).eval(), torch.nn.BatchNorm1d(2).eval()
    >>> x, fused = torch.ones(1, 1, 5), torch.nn.utils.fuse_conv_bn_eval(conv, bn)
    >>> torch.allclose(fused(x), bn(conv(x)))
    True
    """
    return _fused_copy(conv, bn, fuse_conv_bn_weights, transpose=transpose)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """Return one linear layer that does what it and a batch normalization do when they do not train.

    Parameters
    ----------
    linear, bn : the layers

    Raises
    ------
    AssertionError : in training, where the normalization has no means, and for another number of outputs
    """
    if bn.num_features not in (1, linear.out_features):
        raise AssertionError(
            f"To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    return _fused_copy(linear, bn, fuse_linear_bn_weights)


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a layer whose parameters are to be set; here they are drawn all the same.

    Parameters
    ----------
    module_cls : its class
    *args, **kwargs : of the class
    """
    return module_cls(*args, **kwargs)
