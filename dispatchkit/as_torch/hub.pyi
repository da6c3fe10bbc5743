"""`torch.hub` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

download_url_to_file: Any

get_dir: Any

load: Any

load_state_dict_from_url: Any

urlparse: Any
