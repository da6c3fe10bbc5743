"""`audit`: who answers which pair of types, and what is wrong with the answers, before any call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from dispatchkit import catalogue  # noqa: F401  # every operation is listed
from dispatchkit.progress import ProgressBar
from dispatchkit.protocol.engine import DispatchProtocol, misfit_in
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.naming import type_name
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form
from dispatchkit.report.auditing.findings import (
    KINDS,
    Reach,
    ambiguities,
    asymmetries,
    cycles,
    group_findings,
    losses,
    missing_pairs,
)
from dispatchkit.report.auditing.page import Audit
from dispatchkit.report.auditing.pairs import Chains, Decision, Pair, PairCall, calls_of_two, decide, names_of
from dispatchkit.report.operations import Named, operations_of


def audit(
    types: type | Iterable[type],
    *,
    operations: Named | None = None,
    protocol: DispatchProtocol = tensor_protocol,
    progress: bool | None = None,
) -> Audit:
    """Report who answers for every ordered pair of types, and list mistakes; no handler is called.

    Parameters
    ----------
    types : types that take part in the protocol, plain arrays, and numbers or raw arrays if they are of interest; one
        alone is compared with itself
    operations : a function, its name or a kind, or several; all by default
    protocol : whose functions are asked for
    progress : whether it shows how far it is; where None, the default, `set_progress` decides

    Returns
    -------
    Audit
        Has ``pairs`` and ``findings``, prints as tables; ``.to_json()``, ``.to_markdown()``, ``.to_html()`` write it.

    Raises
    ------
    TypeError : if something is no type, or one that neither takes part nor mixes with arrays
    KeyError : for a name that no function has
    ValueError : if there are no types

    Notes
    -----
    A call is one with two arrays of the pair, which may stand in every two parameters of an operation that take one, or
    as members of a sequence; further arrays are plain ones, what may be left out is, and indices are integers.

    The findings, the worst first. *Ambiguity*: two rules fit a call equally well. *Unreachable*: no call of the
    audited types gets to a handler, because it names an abstract class or more types than a call has, takes no call
    of the operation, or what comes before it always raises. *Cycle*: a superclass goes before its subclass by its
    priority. *Lossy*: a conversion declared ``lossy=True`` makes the answer. *Missing*: both types have a rule for
    an operation, and together nobody answers. *Asymmetry*: of two arguments that play the same part (``x1`` and
    ``x2``) the order decides who answers; rules for both orders are symmetric, and so are two types that become
    dense. *Shadowed*: a handler is asked only where another one declines, for all audited types. Findings of the
    same handlers, met again through subclasses, are one.

    What becomes dense, is unwrapped or converted is called again, and answers if somebody answers that call; the first
    field of a wrapper is taken for a plain array. Bodies are followed through their inner calls. Handlers may decline,
    as a call shows: `otherwise` says who comes next. Modes are no part of it.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> report = dk.audit([dk.types.ScalarTensor, dk.types.MetadataTensor, dk.Tensor])
    >>> report["ScalarTensor", "MetadataTensor"]["add"].winner
    'MetadataTensor'
    >>> report["Tensor", "ScalarTensor"]["matmul"].outcome
    'answers'
    >>> report.of_kind("ambiguity"), report.of_kind("unreachable")
    ((), ())
    """
    if isinstance(types, type):
        listed = [types]
    else:
        listed = list(dict.fromkeys(types))
    _check(listed, protocol)
    if operations is None:
        chosen = list(protocol.operations.values())
    else:
        chosen = operations_of(protocol, operations, "audit")
    calls = [call for operation in chosen for call in calls_of_two(operation)]
    with ProgressBar("audit", len(listed) ** 2 * len(calls), progress) as bar:
        return _audit(listed, chosen, calls, protocol, bar)


def _audit(
    listed: Sequence[type],
    chosen: Sequence[Overridable],
    calls: Sequence[PairCall],
    protocol: DispatchProtocol,
    bar: ProgressBar,
) -> Audit:
    names = names_of(listed)
    chains = Chains(protocol)
    decisions = {}
    for left, right in product(listed, listed):
        for call in calls:
            decisions[call, left, right] = _decision(chains, call, (left, right), names)
            bar.advance(1, f"{names[left]}, {names[right]}")
    of_pairs = list(decisions.values())
    rows: dict[tuple[type, ...], list[Decision]] = {(left, right): [] for left in listed for right in listed}
    for decision in of_pairs:
        rows[decision.types].append(decision)
    findings = [
        *ambiguities(of_pairs, names),
        *Reach(chains, listed, names).findings(chosen),
        *cycles(protocol.types, listed, names),
        *losses([*_alone(chains, chosen, listed, names), *of_pairs], names),
        *missing_pairs(of_pairs, names),
        *asymmetries({key: decision for key, decision in decisions.items() if key[0].alike}, names),
    ]
    pairs = []
    for (left, right), of_both in rows.items():
        of_pair = tuple([decision.row(names) for decision in of_both])
        pairs.append(Pair(names[left], names[right], of_pair))
    worst = {kind: place for place, kind in enumerate(KINDS)}
    ordered = sorted(group_findings(findings), key=lambda finding: worst[finding.kind])
    return Audit(tuple(names.values()), tuple(pairs), tuple(ordered))


def _decision(chains: Chains, call: PairCall, types: tuple[type, type], names: Mapping[type, str]) -> Decision:
    """Return who answers a call of two types."""
    base = chains.protocol.types.base
    if base is None:
        filler = types[0]
    else:
        filler = base
    text = call.text(names[types[0]], names[types[1]], names.get(filler) or type_name(filler))
    return decide(chains, call.operation, types, call.values(*types, filler), text)


def _check(types: Sequence[Any], protocol: DispatchProtocol) -> None:
    if not types:
        raise ValueError("audit: there are no types; give those that meet, as in audit([A, B])")
    for cls in types:
        if not isinstance(cls, type) or not protocol.types.accepts(cls):
            raise misfit_in("audit", cls, protocol)


def _alone(
    chains: Chains, operations: Sequence[Overridable], types: Sequence[type], names: dict[type, str]
) -> Iterator[Decision]:
    """Yield who answers operations of one array, for the types that a conversion with a loss starts from."""
    reachable = chains.protocol.conversions.reachable
    for cls in types:
        if not any(edge.lossy for _, _, path in reachable(cls) for edge in path):
            continue
        for operation in operations:
            arrays = operation.parameters.arrays
            if len(arrays) == 1 and arrays[0].form is Form.ONE:
                types_by_name = {arrays[0].name: cls}
                yield decide(chains, operation, (cls,), types_by_name, f"{operation.name}({names[cls]})")
