"""Names by which mypy knows the parts of dispatchkit that the plugin looks for."""

from __future__ import annotations

from mypy.errorcodes import ErrorCode

TENSOR = "dispatchkit.tensor.tensor.Tensor"
METHODS = "dispatchkit.tensor.surface.ArrayMethods"
OPERATION = "dispatchkit.declare.typing.Operation"
OPERATION_DECORATOR = "dispatchkit.declare.decorators.operation"
INSTANCE = "dispatchkit.protocol.instance"
TENSOR_PROTOCOL = f"{INSTANCE}.tensor_protocol"
PARAMETER = "dispatchkit.nn.parameter.Parameter"
PROTOCOL = "dispatchkit.protocol.engine.DispatchProtocol"
KINDS = "dispatchkit.protocol.kinds.kinds"
FALLBACKS = "dispatchkit.protocol.fallbacks.fallback"

CALL = ErrorCode("dispatch", "A call that nobody answers, or that holds what is no array", "dispatchkit")
HANDLER = ErrorCode("handler", "A handler that does not fit its operation", "dispatchkit")
