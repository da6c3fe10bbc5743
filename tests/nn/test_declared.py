"""Modules declared by a function and fields: their constructors, and what subclasses of them may do."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit import nn
from dispatchkit.nn.activations import Activation
from dispatchkit.nn.functional import elu
from dispatchkit.nn.module import declared


def test_the_constructor_has_the_signature_of_the_fields() -> None:
    assert (
        str(inspect.signature(nn.Threshold))
        == "(threshold: 'float', value: 'float', inplace: 'bool' = False) -> 'None'"
    )
    assert str(inspect.signature(nn.BCELoss)) == "(weight: 'Any' = None, *, reduction: 'Reduction' = 'mean') -> 'None'"


@declared(elu)
class Bent(Activation):
    """Bend.

    Parameters
    ----------
    alpha : minus the limit

    Examples
    --------
    >>> 1
    1
    """

    alpha: float = 1.0
    inplace: bool = False


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: nn.Threshold(0.1), "Threshold.__init__() missing a required argument: 'value'"),  # type: ignore[call-arg]
        (lambda: nn.ELU(beta=1.0), "ELU.__init__() got an unexpected keyword argument 'beta'"),  # type: ignore[call-arg]
        (lambda: nn.BCELoss(None, "sum"), "BCELoss.__init__() too many positional arguments"),  # type: ignore[call-arg]
        (lambda: nn.ELU(1.0, alpha=2.0), "ELU.__init__() multiple values for argument 'alpha'"),  # type: ignore[misc]
    ],
)
def test_a_wrong_call_of_a_constructor_names_the_class_and_the_argument(make, text: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(TypeError) as raised:
        make()
    assert str(raised.value) == text


def test_defaults_are_attributes_of_instances_alone_so_that_parameters_can_take_their_place() -> None:
    assert not hasattr(nn.ELU, "alpha")
    module = nn.ELU()
    module.alpha = nn.Parameter(dk.tensor(0.5))  # type: ignore[assignment]
    assert [name for name, _ in module.named_parameters()] == ["alpha"]


def test_a_subclass_of_a_user_keeps_its_own_constructor_and_annotations() -> None:
    class Wide(nn.ELU):
        """Of a user."""

        width: int

        def __init__(self, width: int) -> None:
            super().__init__(alpha=2.0)
            self.width = width

    module = Wide(3)
    assert (module.width, module.alpha, module.inplace) == (3, 2.0, False)
    assert repr(module) == "Wide(alpha=2.0)"
    assert Wide.__doc__ == "Of a user."
    np.testing.assert_array_equal(module(dk.tensor([-1.0])).numpy(), elu(dk.tensor([-1.0]), alpha=2.0).numpy())


def test_a_docstring_is_completed_from_the_fields_and_the_function() -> None:
    assert inspect.getdoc(Bent) == (
        "Bend.\n\nParameters\n----------\nalpha : minus the limit\n"
        "inplace : whether the input is overwritten with the result\n\n"
        "Notes\n-----\nSee `dispatchkit.nn.functional.elu`. Source: PyTorch, `torch.nn.Bent`.\n\n"
        "Examples\n--------\n>>> import dispatchkit as dk\n>>> 1\n1"
    )
