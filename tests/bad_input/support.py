"""How the tests of this directory read an error: its type, the operation and the argument in its text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

__all__ = ["Refusal", "refuses"]

# A call, the type of its error, the name of the operation, and texts that the message holds.
Refusal: TypeAlias = tuple[Callable[[], Any], type[Exception], str, tuple[str, ...]]


def refuses(call: Callable[[], Any], error: type[Exception], name: str, *texts: str) -> Exception:
    """Assert that a call raises, and that the message begins with the operation and holds further texts."""
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    assert re.match(rf"(dispatchkit\.)?([a-z]+\.)*{re.escape(name.rpartition('.')[2])}(: |\(\) )", message), message
    for text in texts:
        assert text in message, message
    return caught.value
