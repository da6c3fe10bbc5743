"""Methods of modules that only PyTorch has: they convert all tensors inside, replace a module, or need devices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

from dispatchkit import nn
from dispatchkit.as_torch.machine import settings
from dispatchkit.as_torch.spelling import FUNCTIONS, Module
from dispatchkit.backends.arrays import numpy_dtype

__all__ = ["give_module_methods"]


def _without_device(kind: str) -> Callable[..., NoReturn]:
    """Return a method that would bring a module to a device."""

    def bring(self: Any, device: Any = None) -> NoReturn:
        """Raise: there is no such device.

        Raises
        ------
        RuntimeError : saying so
        """
        raise RuntimeError(
            f"{type(self).__name__}.{kind}: no {kind.upper()} devices here; ask torch.{kind}.is_available()"
        )

    bring.__name__ = kind
    return bring


def convert_all(self: Any, dst_type: Any) -> Any:
    """Convert all parameters and buffers, whatever they are of, and return the module.

    Parameters
    ----------
    dst_type : the dtype, or the class of its tensors
    """
    dtype = numpy_dtype(getattr(dst_type, "of_dtype", dst_type))
    return self._apply(lambda x: x.to(dtype=dtype))


def to_empty(self: Any, *, device: Any, recurse: bool = True) -> Any:
    """Give all parameters and buffers memory that is not filled, and return the module.

    Parameters
    ----------
    device : of the memory
    recurse : whether the modules inside get it, too
    """
    for module in self.modules() if recurse else (self,):
        for held in (*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)):
            held[1].data = FUNCTIONS["empty_like"](held[1].data, device=device)
    return self


def share_memory(self: Any) -> Any:
    """Return the module: its memory can be seen by threads as it is."""
    return self


def set_submodule(self: Any, target: str, module: Any, strict: bool = False) -> None:
    """Put a module in the place of one inside.

    Parameters
    ----------
    target : path of the place, names with dots between them
    module : what comes there
    strict : whether there has to be one before

    Raises
    ------
    ValueError : for an empty path, or what is no module
    AttributeError : if the path leads through what is not there or no module
    """
    if target == "":
        raise ValueError("Cannot set the submodule without a target name!")
    if not isinstance(module, nn.Module):
        raise ValueError(  # noqa: TRY004  # PyTorch's
            f"`module` is not an nn.Module, found: {type(module)}"
        )
    outer, _, name = target.rpartition(".")
    parent = self.get_submodule(outer)
    if strict and not hasattr(parent, name):
        raise AttributeError(f"{type(parent).__name__} has no attribute `{name}`")
    if hasattr(parent, name) and not isinstance(getattr(parent, name), nn.Module):
        raise AttributeError(f"`{name}` is not an nn.Module")
    setattr(parent, name, module)


def _named_members(
    self: Any,
    get_members_fn: Callable[[Any], Iterable[tuple[str, Any]]],
    prefix: str = "",
    recurse: bool = True,
    remove_duplicate: bool = True,
) -> Iterator[tuple[str, Any]]:
    """Give what modules inside have by their paths, each once; libraries name what they keep themselves so.

    Parameters
    ----------
    get_members_fn : gives names and values of one module
    prefix : put before all names
    recurse : whether the modules inside are asked
    remove_duplicate : whether what comes again is left out
    """
    seen = set[int]()
    modules = [(prefix, self)]
    if recurse:
        modules = list(self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate))
    for path, module in modules:
        for name, value in get_members_fn(module):
            if value is None or id(value) in seen:
                continue
            if remove_duplicate:
                seen.add(id(value))
            yield f"{path}.{name}".lstrip("."), value


def give_module_methods() -> None:
    """Give modules the methods that only PyTorch has."""
    methods: dict[str, Any] = {kind: _without_device(kind) for kind in ("cuda", "ipu", "mtia", "xpu")}
    own = (to_empty, share_memory, set_submodule, _named_members)
    methods |= {"type": convert_all, "compile": settings.nothing, **{each.__name__: each for each in own}}
    for name, method in methods.items():
        setattr(Module, name, method)
