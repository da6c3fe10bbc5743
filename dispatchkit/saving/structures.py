"""Reading the JSON of a file that a stranger may have written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dispatchkit.errors import LoadError

__all__ = ["parsed"]


def parsed(path: Path, text: str | bytes) -> Any:
    """Return what JSON in a file says.

    Raises
    ------
    LoadError : if it is none
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LoadError(str(path), f"its structure is not JSON that can be read: {error}") from error
