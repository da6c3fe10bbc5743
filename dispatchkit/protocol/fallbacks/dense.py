"""`fallback.dense`: plain arrays in the place of every argument that can become one."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from dispatchkit.protocol.chain import Step, declined_of
from dispatchkit.protocol.densify import make_dense
from dispatchkit.protocol.fallbacks.base import FallbackStrategy, Followed, Follower, replaced
from dispatchkit.protocol.handlers import type_name
from dispatchkit.protocol.outcome import Outcome
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Key, flatten


class Dense(FallbackStrategy):
    """Make plain arrays of every argument whose type allows it, and call again."""

    name = "dense"
    outcome = Outcome("dense", "by becoming dense")

    @override
    def step(self, operation: Overridable, key: Key, cls: type) -> Step | str:
        types = operation.types
        if types.to_dense(cls) is None:
            return "cannot become dense: it has no to_dense()"
        makers = {
            other: maker
            for other in flatten(key)
            if (other is cls or self.name in types.fallback(other).names)
            and (maker := types.to_dense(other)) is not None
            and other is not types.base
        }

        if operation.loses_change(key, makers):
            return f"{operation.name} would change a dense copy, and the change be lost"

        skipped: list[str] = []  # why nothing else of the type answers, in one text once the chain is there

        def densified(name: str, value: Any) -> Any:
            maker = makers.get(type(value))
            if maker is None:
                return value
            if not skipped and (known := operation.chains.get(key)) is not None:
                skipped.append("; ".join(text for other, text in known.skipped if other is cls))
            declined = declined_of(operation)
            return make_dense(
                operation.qualified_name,
                type(value),
                maker,
                value,
                types.is_plain,
                reason="; ".join(filter(None, (declined, *skipped))),
                warned=declined,
            )

        def dense_fallback(*args: Any, **kwargs: Any) -> Any:
            args, kwargs = operation.parameters.replace(args, kwargs, densified)
            return operation.function(*args, **kwargs)

        def follow(follower: Follower, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Followed:
            if types.base is None:
                return Followed(result=follower.like(None, ()))
            base = types.base
            refused: list[tuple[str, str]] = []

            def as_dense(name: str, value: Any) -> Any:
                if follower.type_of(value) not in makers:
                    return value
                refused.append(follower.refused_copy(operation, value))
                return follower.like(value, (base,))

            args, kwargs = operation.parameters.replace(args, kwargs, as_dense)
            error = next((error for error, _ in refused if error), "")
            if error:
                return Followed(error=error)
            followed = follower.again(operation, args, kwargs)
            depends = next((text for _, text in refused if text), followed.depends)
            return followed if depends == followed.depends else followed._replace(depends=depends)

        names = ", ".join(map(type_name, makers))
        then = None if types.base is None else replaced(key, makers, types.base)
        return Step(self.outcome, cls, dense_fallback, f"dense: to_dense() of {names}", then=then, follow=follow)
