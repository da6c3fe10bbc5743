"""What people use to compute and check derivatives."""

from __future__ import annotations

from dispatchkit.autograd.functional import backward, grad
from dispatchkit.autograd.gradcheck import gradcheck, gradgradcheck
from dispatchkit.graph.recording import enable_grad, is_grad_enabled, no_grad, set_grad_enabled

__all__ = [
    "backward",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "is_grad_enabled",
    "no_grad",
    "set_grad_enabled",
]
