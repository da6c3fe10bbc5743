"""`ParameterDict` and `ParameterList` of values of any kind, and of others of their own kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dispatchkit.as_torch as torch

OF_ANY: Any = torch
nn: Any = OF_ANY.nn
X = OF_ANY.ones(2)


def names_of(module: Any) -> list[str]:
    return [name for name, _ in module.named_parameters()]


def test_a_dictionary_holds_modules_others_and_plain_values() -> None:
    nested = nn.ParameterDict({"slope": X})
    values = nn.ParameterDict({"deep": nested, "layer": nn.Linear(2, 2, bias=False), "rate": 0.1, "w": X})
    assert values["rate"] == 0.1
    assert values["deep"] is nested
    assert type(values["w"]) is type(nested["slope"])
    assert list(values) == ["deep", "layer", "rate", "w"]
    assert names_of(values) == ["w", "deep.slope", "layer.weight"]
    assert list(values.state_dict()) == ["w", "deep.slope", "layer.weight"]


def test_a_list_holds_modules_others_and_plain_values() -> None:
    values = nn.ParameterList([X, 3, None, nn.ParameterList([X]), "text"])
    assert [type(value).__name__ for value in values] == ["Parameter", "int", "NoneType", "ParameterList", "str"]
    assert names_of(values) == ["0", "3.0"]
    values[1] = X
    values += [5.0]
    assert names_of(values) == ["0", "1", "3.0"]
    assert (values[-1], len(values[1:3])) == (5.0, 2)


def test_a_dictionary_has_the_methods_of_dictionaries() -> None:
    values = nn.ParameterDict()
    values["b"] = X
    values.update({"z": 1, "a": 2})
    assert list(values) == ["b", "a", "z"]
    assert list(reversed(values)) == ["z", "a", "b"]
    assert values.setdefault("n") is None
    assert values.setdefault("a", 7) == values.get("a") == 2
    assert values.get("none", 4) == 4
    assert list(values | {"q": 1}) == ["b", "a", "z", "n", "q"]
    assert list({"q": 1} | values) == ["q", "b", "a", "z", "n"]
    assert list(values.copy().items()) == list(values.items())
    assert list(values.fromkeys(["k"], 3).items()) == [("k", 3)]
    assert values.popitem() == ("n", None)
    assert values.pop("a") == 2
    del values["b"]
    values.clear()
    assert (len(values), names_of(values)) == (0, [])


def test_an_attribute_that_is_set_is_read_by_its_name_and_no_member() -> None:
    values = nn.ParameterDict({"a": X})
    values.other = nn.Parameter(X)
    assert values["other"] is values.other
    assert list(values) == ["a"]
    assert names_of(values) == ["a", "other"]


@pytest.mark.parametrize(
    ("wrong", "error", "text"),
    [
        (lambda: nn.ParameterDict({1: X}), TypeError, "a key must be a text, which names an attribute, found 1, a int"),
        (lambda: nn.ParameterDict({"keys": X}), KeyError, "attribute 'keys' already exists"),
        (lambda: nn.ParameterDict({"x.y": X}), KeyError, r'name can\\\'t contain "\.", got: x\.y'),
        (lambda: nn.ParameterDict()["none"], AttributeError, "has no attribute 'none'"),
        (lambda: nn.ParameterDict().popitem(), KeyError, "popitem of a dictionary that is empty"),
        (lambda: nn.ParameterDict()(X), RuntimeError, "ParameterDict should not be called"),
        (lambda: nn.ParameterList([1])[1], IndexError, "index 1 is out of range for 1 members"),
    ],
)
def test_what_cannot_be_is_said(wrong: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        wrong()


def test_values_of_other_kinds_are_shown_by_their_types() -> None:
    shown = repr(nn.ParameterDict({"rate": 0.1, "w": X}))
    assert "(rate): Object of type: float" in shown
    assert "(w): Parameter containing: [torch.float64 of size 2]" in shown
