"""Names of tests are the same in each process of a parallel run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import pytest_collection_modifyitems


def test_a_name_with_an_address_is_refused_where_tests_are_collected() -> None:
    steady: Any = SimpleNamespace(nodeid="tests/test_names_of_tests.py::test_one[at 0]")
    unsteady: Any = SimpleNamespace(nodeid="tests/test_names_of_tests.py::test_one[<function f at 0x7f1c8cf00d60>]")
    pytest_collection_modifyitems([steady])
    with pytest.raises(pytest.UsageError, match=r"name the parameters of .*<function f at .* by ids=, which hold no"):
        pytest_collection_modifyitems([steady, unsteady])
