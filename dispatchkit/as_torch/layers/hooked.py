"""The hooks of modules as PyTorch's programs look at them, clear them and take some away: `module._forward_hooks`."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from dispatchkit.as_torch.spelling import Module, spell
from dispatchkit.marks import override
from dispatchkit.nn.hooks import AFTER, BACKWARD_AFTER, BACKWARD_BEFORE, BEFORE, ForwardHook

__all__ = ["give_hooks"]

KINDS = {
    "_forward_pre_hooks": BEFORE,
    "_forward_hooks": AFTER,
    "_backward_pre_hooks": BACKWARD_BEFORE,
    "_backward_hooks": BACKWARD_AFTER,
}


class Hooks(MutableMapping[int, Any]):
    """The hooks of a kind of a module, by their keys.

    Parameters
    ----------
    module : the module
    kind : before or after `forward`, or going backwards
    """

    def __init__(self, module: Any, kind: str) -> None:
        self.module, self.kind = module, kind

    def _held(self) -> Mapping[int, Any]:
        held: Mapping[int, Any] = self.module._hooks.get(self.kind, {})
        return held

    @override
    def __getitem__(self, key: int) -> Any:
        hook = self._held()[key]
        return hook.function if isinstance(hook, ForwardHook) else hook

    @override
    def __setitem__(self, key: int, hook: Any) -> None:
        if self.kind in (BEFORE, AFTER):
            hook = ForwardHook(hook)
        self.module._hooks.setdefault(self.kind, OrderedDict())[key] = hook

    @override
    def __delitem__(self, key: int) -> None:
        del self.module._hooks[self.kind][key]

    @override
    def __iter__(self) -> Iterator[int]:
        return iter([*self._held()])

    @override
    def __len__(self) -> int:
        return len(self._held())

    @override
    def __repr__(self) -> str:
        return f"OrderedDict({dict(self)!r})"


def _hooks(kind: str) -> property:
    """Return the attribute that has the hooks of a kind."""

    def hooks(self: Any) -> Hooks:
        return Hooks(self, kind)

    def replace(self: Any, others: Mapping[int, Any]) -> None:
        replaced = dict(others)
        held = Hooks(self, kind)
        held.clear()
        held.update(replaced)

    return property(hooks, replace, doc=f"Each {kind} of the module, by its key.")


def _as_seen_by_hooks(self: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(map(spell, grads))


def give_hooks() -> None:
    """Give modules their hooks by PyTorch's names, and hooks gradients with PyTorch's methods."""
    Module._as_seen_by_hooks = _as_seen_by_hooks  # type: ignore[method-assign]
    for name, kind in KINDS.items():
        setattr(Module, name, _hooks(kind))
