"""Reading the JSON of a file that is not trusted."""

from __future__ import annotations

import json
from typing import Any

from dispatchkit.errors import LoadError
from dispatchkit.wording import format_bytes

__all__ = ["parsed"]

# Bytes of memory for a character of text, and for what begins or goes on with each of these, when all is built.
TEXT = 4
NODES = {"{": 400, "[": 150, ",": 64}
# What a structure may take under any limit.
SMALL = 2**20


def parsed(path: Any, text: str | bytes, limit: int) -> Any:
    """Return what JSON in a file says.

    Raises
    ------
    LoadError : if it is none, or would take more bytes of memory than `limit`
    """
    counted = text if isinstance(text, bytes) else text.encode()
    size = TEXT * len(counted) + sum(each * counted.count(mark.encode()) for mark, each in NODES.items())
    if size > max(limit, SMALL):
        raise LoadError(
            str(path),
            f"has a structure that may take {format_bytes(size)} of memory, more than the limit of "
            f"{format_bytes(limit)}; see load(limit=...)",
        )
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LoadError(str(path), f"its structure is not JSON that can be read: {error}") from error
