"""Compiled steps: a step of training as one program of another library."""

from dispatchkit.interop.compiling.steps import CompiledStep, compile  # the public name is dispatchkit.compile

__all__ = ["CompiledStep", "compile"]
