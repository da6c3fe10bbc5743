"""`torch._dynamo` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.as_torch._dynamo import _trace_wrapped_higher_order_op as _trace_wrapped_higher_order_op
from dispatchkit.as_torch._dynamo import eval_frame as eval_frame
from typing import Any

OptimizedModule: Any

allow_in_graph: Any

assume_constant_result: Any

disable: Any

disallow_in_graph: Any

graph_break: Any

is_compiling: Any

mark_dynamic: Any

mark_static_address: Any

maybe_mark_dynamic: Any

optimize: Any

reset: Any

run: Any
