"""The mark of methods that override another, which checkers read; `typing_extensions` takes long to load."""

import typing

__all__ = ["override"]

if typing.TYPE_CHECKING:
    from typing_extensions import override
else:
    override = getattr(typing, "override", lambda method: method)  # of Python 3.12
