"""The methods of the library's own protocol as functions, which the stub in the same folder shows with docstrings."""

from __future__ import annotations

from dispatchkit.protocol.instance import tensor_protocol

__all__ = ["array_type", "converts", "implements", "local_registrations", "overridable", "redispatch", "register_type"]

array_type = tensor_protocol.array_type
converts = tensor_protocol.converts
implements = tensor_protocol.implements
local_registrations = tensor_protocol.local_registrations
overridable = tensor_protocol.overridable
redispatch = tensor_protocol.redispatch
register_type = tensor_protocol.register_type
