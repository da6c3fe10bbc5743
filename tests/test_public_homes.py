"""Public objects name their public home, in pickles, too, and `dir` shows them and no more."""

import doctest
import pickle
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

import pytest

import dispatchkit as dk
import dispatchkit.conftest  # what is tested: examples are found by it
import dispatchkit.report
import dispatchkit.testing
from dispatchkit.declare.namespace import defining_module

HOMES = [
    "dispatchkit",
    *(
        f"dispatchkit.{name}"
        for name in (
            *("autograd", "data", "fft", "func", "linalg", "nn", "nn.functional", "nn.init", "nn.utils", "optim"),
            *("optim.lr_scheduler", "random", "report", "special", "testing", "types", "types.structured"),
        )
    ),
]


def test_functions_and_classes_name_the_module_that_users_import_them_from() -> None:
    values: list[Any] = [
        dk.add,
        dk.Tensor,
        dk.linalg.inv,
        dk.nn.Linear,
        dk.nn.functional.gelu,
        dk.errors.RegistrationError,
    ]
    assert [value.__module__ for value in values] == [
        "dispatchkit",
        "dispatchkit",
        "dispatchkit.linalg",
        "dispatchkit.nn",
        "dispatchkit.nn.functional",
        "dispatchkit.errors",
    ]
    assert repr(dk.Tensor) == "<class 'dispatchkit.Tensor'>"


def test_what_several_modules_show_belongs_to_the_outermost() -> None:
    assert dk.matmul is dk.linalg.matmul
    assert (dk.matmul.__module__, dk.no_grad.__module__) == ("dispatchkit", "dispatchkit")


@pytest.mark.parametrize("home", HOMES)
def test_every_public_function_and_class_is_pickled_by_a_public_name(home: str) -> None:
    module = import_module(home)
    for name in module.__all__:
        value = getattr(module, name)
        if isinstance(value, (type, FunctionType)) and value.__module__.startswith("dispatchkit"):
            assert value.__module__ in (*HOMES, "dispatchkit.errors"), name
            assert pickle.loads(pickle.dumps(value)) is value, name


@pytest.mark.parametrize("home", HOMES)
def test_dir_shows_the_public_names_and_no_more(home: str) -> None:
    module = import_module(home)
    shown = [name for name in dir(module) if not (name.startswith("__") and name.endswith("__"))]
    assert shown == sorted(name for name in module.__all__ if not name.startswith("__"))


def test_a_pickle_names_the_public_home() -> None:
    assert b"cdispatchkit\nexp\n" in pickle.dumps(dk.exp, 0)
    assert b"cdispatchkit\nTensor\n" in pickle.dumps(dk.Tensor, 0)


def test_examples_are_found_in_the_module_that_defines_a_function() -> None:
    place = defining_module(dk.exp)
    assert place == "dispatchkit.ops.elementwise.exponential"
    found: dict[str, ModuleType] = {name: import_module(name) for name in (place, "dispatchkit")}
    names = {name: [test.name for test in doctest.DocTestFinder().find(module)] for name, module in found.items()}
    assert f"{place}.exp" in names[place]
    assert "dispatchkit.exp" not in names["dispatchkit"]
