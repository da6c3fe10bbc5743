"""Images as tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.ops.creation.dtypes import get_default_dtype

__all__ = ["to_tensor"]


def to_tensor(image: Any, *, dtype: Any = None) -> Any:
    """Convert an 8-bit image to floating-point numbers from 0 to 1, channels first.

    Parameters
    ----------
    image : array or tensor of uint8, of shape (H, W, C) or (H, W), or an image of Pillow
    dtype : of the result, a floating one; the default dtype if None

    Returns
    -------
    Tensor
        Of shape (C, H, W), or (1, H, W) for an image without channels; 255 becomes 1.

    Raises
    ------
    TypeError : if the image is of another dtype than uint8
    ValueError : if it has neither two axes nor three

    Notes
    -----
    Source: torchvision, `torchvision.transforms.functional.to_tensor`, which also takes other dtypes, without scaling
    them. Pillow's images of other modes than 8-bit ones are converted by ``image.convert("RGB")`` or ``"L"`` before.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> import numpy as np
    >>> image = np.zeros((2, 3, 3), dtype=np.uint8)
    >>> image[0, 0] = 255, 51, 0
    >>> dk.data.to_tensor(image).shape, dk.data.to_tensor(image)[:, 0, 0]
    ((3, 2, 3), tensor([1.0000, 0.2000, 0.0000]))
    """
    array = np.asarray(image)
    if array.dtype != np.uint8:
        raise TypeError(f"to_tensor: an image is of uint8, from 0 to 255; found {array.dtype}")
    if array.ndim not in (2, 3):
        raise ValueError(f"to_tensor: an image has shape (H, W, C) or (H, W); found {array.shape}")
    channels = array[np.newaxis] if array.ndim == 2 else array.transpose(2, 0, 1)
    wanted = np.dtype(get_default_dtype() if dtype is None else dtype)
    if wanted.kind != "f":
        raise TypeError(f"to_tensor: dtype must be a floating one, found {wanted}")
    return tensor_namespace.asarray(np.divide(channels, wanted.type(255), dtype=wanted, order="C"))
