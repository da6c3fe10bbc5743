"""Devices by name, and what PyTorch asks of the machine."""

from __future__ import annotations

from typing import Any

from dispatchkit.marks import override


class device(str):  # noqa: N801  # PyTorch's name
    """A device by its name, such as ``"cpu"`` or ``"cuda:1"``.

    Parameters
    ----------
    type : the name, with or without a number behind a colon
    index : the number

    Raises
    ------
    RuntimeError : if there are two numbers, or one that is none

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.device("cuda:1").index, torch.device("cpu").index
    (1, None)
    """

    __module__ = "dispatchkit.as_torch"
    __slots__ = ()

    def __new__(cls, type: Any, index: int | None = None) -> device:
        if isinstance(type, int):
            raise RuntimeError(f"device: there is no accelerator here to have the number {type}; write 'cpu'")  # noqa: TRY004  # PyTorch's
        name, _, number = type.partition(":")
        if number and index is not None:
            raise RuntimeError(f"device: type must not have a number where index has one, found {type!r}")
        if not name or (":" in type and not number.isdecimal()):
            raise RuntimeError(f"device: the name must be such as 'cpu' or 'cuda:1', found {type!r}")
        if index is not None:
            type = f"{name}:{index}"
        return str.__new__(cls, type)

    @property
    def type(self) -> str:
        """The name without a number."""
        return str(self).partition(":")[0]

    @property
    @override
    def index(self) -> int | None:  # type: ignore[override]  # PyTorch's attribute rather than the method of str
        """The number, None where the name has none."""
        number = self.partition(":")[2]
        if number:
            return int(number)
        return None

    @override
    def __repr__(self) -> str:
        if self.index is None:
            return f"device(type={self.type!r})"
        return f"device(type={self.type!r}, index={self.index})"

    @override
    def __str__(self) -> str:
        return str.__str__(self)

    def __enter__(self) -> device:
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the block, which changes nothing: arrays stay where they are made."""
