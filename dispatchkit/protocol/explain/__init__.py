"""`explain`: who would answer a call, in which order, and why the others do not, read from the prediction."""

from dispatchkit.protocol.explain.call import explain_call

__all__ = ["explain_call"]
