"""`torch.nn.utils.rnn` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

PackedSequence: Any

invert_permutation: Any

pack_padded_sequence: Any

pack_sequence: Any

pad_packed_sequence: Any

pad_sequence: Any

unpack_sequence: Any

unpad_sequence: Any
