"""`fallback.decompose`: the operation's body runs, and its inner calls reach the types again."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from dispatchkit.protocol.chain import Chain, Step, decline
from dispatchkit.protocol.fallbacks.base import RUNNING, FallbackStrategy, Followed, Follower
from dispatchkit.protocol.modes import Mode, answer_by_modes
from dispatchkit.protocol.observers import note_asked
from dispatchkit.protocol.outcome import Outcome
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Key


class Decompose(FallbackStrategy):
    """Run the operation's body, whose inner calls reach the types again."""

    name = "decompose"
    outcome = Outcome("decompose", "by running the operation's body on it", structured=True)
    decomposes = True

    @override
    def step(self, operation: Overridable, key: Key, cls: type) -> Step | str:
        body = operation.decomposition()
        if body is None:
            return f"{operation.name} does not decompose: its body is one call"

        def decompose_fallback(*args: Any, **kwargs: Any) -> Any:
            running = RUNNING.get()
            if (operation, key) in running:
                return decline("its body comes back to itself")
            mode = _Decomposing(operation)
            try:
                RUNNING.set(running | {(operation, key)})
                with mode:
                    return body(*args, **kwargs)
            except Undecomposable as failure:
                if failure.owner is not mode:
                    raise
                needed = failure.operation.qualified_name
            finally:
                RUNNING.set(running)
            return decline(f"it needs {needed}, which nobody answers")

        def follow(follower: Follower, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Followed:
            if follower.is_running(operation, key):
                return Followed(declines="its body comes back to itself")
            return follower.body(operation, key, body, args, kwargs)

        text = f"decompose: the body of {operation.name}"
        return Step(self.outcome, cls, decompose_fallback, text, follow=follow)


class Undecomposable(BaseException):
    """An inner call of a decomposition that nobody answers; it never leaves the library."""

    def __init__(self, owner: _Decomposing, operation: Overridable) -> None:
        super().__init__(f"nobody answers {operation.qualified_name} inside of a decomposition")
        self.owner = owner
        self.operation = operation


class _Decomposing(Mode):
    """Answers the calls inside a decomposition, without the fallbacks that come after it."""

    def __init__(self, operation: Overridable) -> None:
        self.protocol = operation.protocol

    def answer(self, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = answer_by_modes(operation, args, kwargs)
        if result is not NotImplemented:
            return result
        key = operation.parameters.key(args, kwargs)
        chain: Chain = operation.protocol.chain_without_later_fallbacks(operation, key)
        result, _ = chain.attempt(args, kwargs, on_step=note_asked)
        if result is NotImplemented:
            raise Undecomposable(self, operation)
        return result
