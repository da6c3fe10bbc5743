"""The mark of methods that override another; `typing_extensions` takes longer to load than most of this library."""

import typing

__all__ = ["override"]

if typing.TYPE_CHECKING:
    from typing_extensions import override
else:
    override = getattr(typing, "override", lambda method: method)  # of Python 3.12
