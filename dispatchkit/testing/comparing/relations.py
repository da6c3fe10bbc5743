"""Results compared as types declare: for equality, within a tolerance, or by a function of an instance and a tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice, product
from typing import Any

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.variables import is_floating
from dispatchkit.protocol.naming import function_name
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.types.array_types import ArrayTypes
from dispatchkit.protocol.types.declaration import RELATIONS, Relation
from dispatchkit.testing.comparing.differences import (
    Difference,
    close,
    difference,
    elements_of,
    is_determined,
    members,
    value_text,
)


def relation_of(types: ArrayTypes, values: Iterable[Any]) -> Relation:
    """Return the loosest relation to dense forms among some values and members of them."""
    relations = [types.relation(type(value)) for value in members(list(values)) if types.participates(type(value))]
    return max(relations, key=_looseness, default=RELATIONS["equal"])


def _looseness(relation: Relation) -> tuple[bool, bool, float]:
    return not relation.compared, relation.holds is not None, relation.tolerance


def result_difference(
    operation: Overridable,
    result: Any,
    expected: Any,
    dense: Callable[[Any], Any],
    given: Sequence[Any],
    *,
    values: bool = True,
) -> Difference | None:
    """Compare the result of a call with that of the same call on dense forms, as the types in it declare.

    Parameters
    ----------
    operation : that was called
    result, expected : of the call, and of that on dense forms
    dense : makes plain tensors of results
    given : the array arguments
    values : whether elements are compared, and not containers, shapes and dtypes alone
    """
    relation = relation_of(operation.types, [*given, *members(result)])
    if not relation.compared:
        return None
    values = values and is_determined(operation)
    exact = values and relation.holds is None
    wrong = difference(
        dense(result), dense(expected), given, values=exact, operation=operation, tolerance=relation.tolerance
    )
    if wrong is not None or exact or not values:
        return wrong
    return unrelated_part(operation.types, result, expected, given)


def unrelated_part(types: ArrayTypes, result: Any, expected: Any, given: Sequence[Any]) -> Difference | None:
    """Return the first part of a result that is not right for the dense one, by the relations of the types in the call.

    Parameters
    ----------
    types : those of the protocol
    result, expected : the result with instances as they are, and the dense one
    given : the array arguments, by whose relation plain parts are right where they are not equal
    """
    wrong = _wrong_instance(types, result, expected)
    if wrong is not None:
        return wrong
    relation = relation_of(types, given)
    if relation.members is not None:  # which say what is sure of plain results
        return None
    related = [type(value) for value in members(list(given)) if types.relation(type(value)) is relation]
    for mine, right in zip(members(result), members(expected), strict=True):
        if _holds_of(types, mine) is not None:
            continue
        wrong = difference(mine, right, given, tolerance=relation.tolerance)
        if wrong is not None and not any(_is_right(relation, cls, mine, right) for cls in related):
            return wrong
    return None


def _is_right(relation: Relation, cls: type, mine: Any, right: Any) -> bool:
    """Return whether a plain result of rounded numbers is right by a relation, as if it were of its type."""
    if isinstance(right, (float, complex)):
        right = xp.asarray(right)
    if relation.holds is None or not is_floating(right):
        return False
    for form in (_itself, cls):
        try:
            if bool(relation.holds(form(mine), right)):
                return True
        except Exception:  # noqa: BLE001, S112  # the function asks for what a tensor, or this type, has not
            continue
    return False


def _itself(value: Any) -> Any:
    return value


def _holds_of(types: ArrayTypes, value: Any) -> Callable[[Any, Any], Any] | None:
    if types.participates(type(value)):
        return types.relation(type(value)).holds
    return None


def _wrong_instance(types: ArrayTypes, result: Any, expected: Any) -> Difference | None:
    """Return that an instance is not right for the dense result, by the relation of its type."""
    for mine, right in zip(members(result), members(expected), strict=True):
        holds = _holds_of(types, mine)
        if holds is not None and not bool(holds(mine, right)):
            text = f"one for which {function_name(holds)} is true of {value_text(right)}"
            return Difference("value", value_text(mine), text, f"{function_name(holds)} is false")
    return None


MOST_MEMBERS = 16


def member_difference(
    operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, dense: Callable[[Any], Any]
) -> Difference | None:
    """Compare a result with those of the same call on all that instances among its arguments stand for.

    Instances have to be right for each of these, plain results where all of these agree.

    Parameters
    ----------
    operation, args, kwargs : the call
    result : what it gave
    dense : makes plain tensors of the arguments
    """
    types, values = operation.types, [value for _, value in operation.parameters.values(args, kwargs)]
    relation = relation_of(types, values)
    if relation.holds is None or not is_determined(operation):
        return None
    answers: list[Any] = []
    choices = list(islice(product(*(_members_of(types, value, dense) for value in values)), MOST_MEMBERS + 1))
    for choice in choices[:MOST_MEMBERS]:
        chosen = iter(choice)
        plain_args, plain_kwargs = operation.parameters.replace(args, kwargs, lambda *_, chosen=chosen: next(chosen))
        try:
            expected = operation.function(*plain_args, **plain_kwargs)
        except Exception:  # noqa: BLE001, S112  # a member that has no answer asks for none
            continue
        wrong = _wrong_instance(types, result, expected)
        if wrong is not None:
            return wrong
        answers.append(expected)
    if relation.members is None or len(choices) > MOST_MEMBERS:
        return None
    return _beside_agreement(types, result, answers)


def _members_of(types: ArrayTypes, value: Any, dense: Callable[[Any], Any]) -> Sequence[Any]:
    members_of = None
    if types.participates(type(value)):
        members_of = types.relation(type(value)).members
    if members_of is None:
        return [dense(value)]
    return [dense(value), *members_of(value)]


def _beside_agreement(types: ArrayTypes, result: Any, answers: list[Any]) -> Difference | None:
    """Return that a plain result differs where the answers to all that its arguments stand for are the same."""
    for mine, *rights in zip(members(result), *map(members, answers), strict=False):
        found, arrays = elements_of(mine), list(map(elements_of, rights))
        comparable = all(isinstance(array, np.ndarray) and array.shape == found.shape for array in (found, *arrays))
        if not arrays or not comparable or _holds_of(types, mine) is not None:
            continue
        agreed = np.all([_close_elements(array, arrays[0]) for array in arrays], axis=0)
        wrong = agreed & ~_close_elements(found, arrays[0])
        if np.any(wrong):
            text = f"{value_text(arrays[0])}, on which all agree that the arguments stand for"
            return Difference("value", value_text(found), text, "other elements than all agree on")
    return None


def _close_elements(found: Any, expected: Any) -> Any:
    """Return element by element whether two arrays agree."""
    pairs = [close(np.asarray(mine), np.asarray(right)) for mine, right in zip(found.flat, expected.flat, strict=True)]
    return np.reshape(np.asarray(pairs, dtype=bool), expected.shape)
