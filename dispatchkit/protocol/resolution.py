"""Who answers a call: the candidates in the order they are asked, and the answers of each.

All this depends on the types of the arguments alone, so a chain is built once for each combination of types. It holds
the methods and rules of the candidates first, then the default of the protocol's base type, then the fallbacks that
the candidates have declared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from dispatchkit.errors import ForeignArgumentError
from dispatchkit.protocol.chain import Chain, StepMaker
from dispatchkit.protocol.densify import count_dense
from dispatchkit.protocol.fallbacks import FallbackStrategy
from dispatchkit.protocol.fallbacks.execution import Execution
from dispatchkit.protocol.naming import type_name
from dispatchkit.protocol.outcome import DEFAULT, FOREIGN, METHOD
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form, Key, flatten
from dispatchkit.protocol.ranking import rule_steps
from dispatchkit.protocol.rules import Rule
from dispatchkit.protocol.steps import Step, StepDecline, decline, skip
from dispatchkit.wording import class_name


def recall_chain(operation: Overridable, memory: dict[Any, Chain], key: Any, build: Callable[[], Chain]) -> Chain:
    """Return a chain from memory, or build it and keep it unless something is registered meanwhile."""
    chain = memory.get(key)
    if chain is None:
        journal = operation.protocol.journal
        generation = journal.generation
        chain = build()
        journal.keep(operation, generation, memory, (key,), chain)
    return chain


def answer_by_rules(operation: Overridable, cls: type, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Answer a call as the library's own protocol method of a type does; NotImplemented where it cannot.

    The type's rules come first, then for the base type's family its default, then the declared fallback.
    """
    keywords = dict(kwargs)
    key = operation.parameters.key(args, keywords)
    memory = operation.type_chains
    chain = recall_chain(operation, memory, (cls, key), lambda: build_type_chain(operation, key, cls))
    declined: list[StepDecline] = []
    result = chain.attempt(args, keywords, declined)
    if result is NotImplemented:
        reasons = [entry.text for entry in declined] + [step.text for step in chain.skipped]
        return decline("; ".join(reasons))
    return result


def candidates(types: Sequence[type], priority: Callable[[type], float]) -> list[type]:
    """Order types as they are asked: priority, then a subclass before its superclass, then left to right.

    >>> class A: ...
    >>> class B: ...
    >>> class S(A): ...
    >>> [cls.__name__ for cls in candidates([A, B, S], lambda cls: 0)]
    ['S', 'A', 'B']
    """
    ranked: dict[float, list[type]] = {}
    for cls in types:
        order = ranked.setdefault(priority(cls), [])
        place = next((i for i, other in enumerate(order) if issubclass(cls, other)), len(order))
        order.insert(place, cls)
    return [cls for rank in sorted(ranked, reverse=True) for cls in ranked[rank]]


def build_chain(
    operation: Overridable,
    key: Key,
    without: type | None = None,
    later_fallbacks: bool = True,
    trial: Sequence[Rule] = (),
) -> Chain:
    """Decide who answers calls of these types.

    Parameters
    ----------
    operation : that is called
    key : types of its array arguments
    without : a type that counts as one that declined
    later_fallbacks : whether the fallbacks that a type declares after `decompose` are on
    trial : rules that are taken to be registered, too
    """
    types = operation.types
    present = types.participating(key)
    order = candidates([cls for cls in present if cls is not types.base], types.rank)
    chain = Chain(operation, present, order, _foreign(operation, key))
    if chain.declared:
        return chain
    steps = chain.declared
    joined = _joined(operation, key, order)
    for cls in order:
        count_dense(operation.protocol, cls)
        if cls is without:
            steps.append(skip(cls, "taken to have declined"))
            continue
        written = _own_method(operation, present, cls)
        if joined[:1] == [cls]:
            written.append(_joining(operation, key, cls))
        written += rule_steps(operation, key, cls, trial)
        if not written:
            steps.append(skip(cls, f"no rule for {operation.name}"))
        # A handler is asked once, for whichever of its types it is found.
        known = {step.rule.registration for step in chain.handlers if step.rule is not None}
        steps += [step for step in written if step.rule is None or step.rule.registration not in known]
    default = _default(operation, key, order)
    if default is not None:
        steps.append(default)
        return chain
    for cls in order:
        chain.makers += _fallbacks(operation, key, cls, later_fallbacks)
    return chain


def build_type_chain(operation: Overridable, key: Key, cls: type) -> Chain:
    """Return what the library's own protocol method of one type answers: its rules, default and fallback."""
    types = operation.types
    present = types.participating(key)
    chain = Chain(operation, present, [cls], [*rule_steps(operation, key, cls)])
    family = types.base is not None and all(map(operation.computes, present))
    default = None
    if family:
        default = _default_step(operation, key, types.results_of(cls))
    if default is not None:
        chain.declared.append(default)
    elif not types.takes_default(cls):
        chain.makers += _fallbacks(operation, key, cls, later=True)
    return chain


def build_plain_chain(operation: Overridable, key: Key) -> Chain:
    """Return what answers where overrides are off: the default, if all types are of the base type's family."""
    types = operation.types
    present = types.participating(key)
    chain = Chain(operation, present, [], _foreign(operation, key))
    if chain.declared:
        return chain
    if types.base is None or all(map(operation.computes, present)):
        default = _default_step(operation, key, types.base)
        if default is not None:
            chain.declared.append(default)
    off = [cls for cls in present if not types.ranks_as_base(cls)]
    chain.declared += [skip(cls, "overrides are switched off") for cls in off]
    return chain


def _fallbacks(operation: Overridable, key: Key, cls: type, later: bool) -> list[StepMaker]:
    """Return what makes the steps of a type's fallbacks; with `later` of those after decomposition, too."""
    strategies = [FallbackStrategy.named[name] for name in operation.types.fallback(cls).names]
    if not later:
        last = next((place for place, strategy in enumerate(strategies) if strategy.decomposes), -1)
        strategies = strategies[: last + 1]
    if operation.by_fields is not None:
        implied = [
            strategy for strategy in FallbackStrategy.named.values() if strategy.implied and strategy not in strategies
        ]
        strategies = [*implied, *strategies]
    return [partial(_fallback, strategy, operation, key, cls) for strategy in strategies]


def _fallback(strategy: FallbackStrategy, operation: Overridable, key: Key, cls: type) -> Step:
    answer = strategy.step(operation, key, cls)
    if isinstance(answer, str):
        return skip(cls, answer)
    return answer


def _joined(operation: Overridable, key: Key, order: Sequence[type]) -> list[type]:
    """Return the types in sequences of which an operation makes one array by calling others."""
    if operation.joins is None:
        return []
    members = {cls for entry in key if isinstance(entry, tuple) for cls in entry}
    return [cls for cls in order if cls in members and not operation.computes(cls)]


def _joining(operation: Overridable, key: Key, cls: type) -> Step:
    """Return the step that makes one array of a sequence in which there are instances of a type."""
    joins = operation.joins
    assert joins is not None

    def execute(execution: Execution, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return execution.join(operation, key, joins, args, kwargs)

    text = f"{operation.name} stacks the members of the sequence"
    return FallbackStrategy.named["decompose"].executed_step(cls, execute, text)


def _own_method(operation: Overridable, present: tuple[type, ...], cls: type) -> list[Step]:
    """Return the step for a `__tensor_function__` that a type wrote itself, of calls with these types."""
    types = operation.types
    method = types.own_method(cls)
    if method is None or types.is_generated(cls):
        return []
    function, name = operation.function, types.method
    plain = not isinstance(method, (classmethod, staticmethod))

    def own_method(*args: Any, **kwargs: Any) -> Any:
        owner: Any = cls
        if plain:
            owner = next(v for _, v in operation.parameters.values(args, kwargs) if type(v) is cls)
        return getattr(owner, name)(function, present, args, kwargs)

    return [Step(METHOD, cls, own_method, f"{type_name(cls)}.{name}")]


def _default(operation: Overridable, key: Key, order: Sequence[type]) -> Step | None:
    """Return the default of the base type, where it computes every type of the call."""
    if not all(map(operation.computes, order)):
        return None
    types = operation.types
    results = [types.results_of(cls) for cls in order]
    return _default_step(operation, key, next((cls for cls in results if cls is not types.base), types.base))


def _default_step(operation: Overridable, key: Key, result: type | None) -> Step | None:
    call = operation.default(key, result)
    if call is None:
        return None
    base = operation.types.base
    return Step(DEFAULT, result or object, call, "default" if base is None else f"default of {type_name(base)}")


def _foreign(operation: Overridable, key: Key) -> list[Step]:
    """Return the step that raises for the first argument that is no array; none where all are."""
    parameters, types = operation.parameters, operation.types
    if not parameters.strict:
        return []
    for p, entry in zip(parameters.arrays, key, strict=True):
        if p.form in (Form.INDEX, Form.LOOSE):
            continue
        optional = parameters.signature.parameters[p.name].default is None
        for cls in flatten((entry,)):
            if not types.accepts(cls) and not (optional and cls is type(None)):
                one_by_one = p.form is Form.STAR and cls in (list, tuple)
                if one_by_one:
                    advice = f"give them one by one: {operation.name}(x1, x2)"
                else:
                    advice = types.advice_for(cls)
                refusal = _refusal(operation, p.name, cls, isinstance(entry, tuple), advice)
                return [Step(FOREIGN, cls, refusal, f"{cls.__name__} is no array")]
    return []


def _refusal(operation: Overridable, parameter: str, cls: type, member: bool, advice: str) -> Callable[..., Any]:
    """Return an answer that raises for an argument that is no array.

    Parameters
    ----------
    operation, parameter : the operation that was called, and the name of the argument
    cls : its type
    member : whether it is one of several in a sequence
    advice : what the message says to write instead
    """
    name = class_name(cls)

    def refuse(*args: Any, **kwargs: Any) -> Any:
        operation.check_call(args, kwargs)
        raise ForeignArgumentError(operation.qualified_name, parameter, name, advice, member=member)

    return refuse
