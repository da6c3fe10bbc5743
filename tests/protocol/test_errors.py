"""The texts of the exceptions and warnings, and the tree they stand in."""

import re
from typing import Any

import pytest

import dispatchkit.errors
from dispatchkit.errors import (
    AmbiguousImplementationError,
    AnomalyError,
    AnswerError,
    AutogradError,
    CompileError,
    DataLoaderError,
    DensifyError,
    DensifyWarning,
    DispatchError,
    DispatchWarning,
    FieldWarning,
    ForeignArgumentError,
    GradcheckError,
    GradientWarning,
    InplaceError,
    LoadError,
    LoopWarning,
    LostDerivativeError,
    MissingRuleError,
    MixedArraysError,
    ModeError,
    NoImplementationError,
    RandomnessError,
    RegistrationError,
    ReplacementWarning,
    SignatureWarning,
    StateDictError,
    TorchCallError,
    TransformError,
    UnitError,
    UnsupportedArgumentError,
)
from dispatchkit.wording import format_bytes

TREE = {
    DispatchError: (Exception,),
    NoImplementationError: (DispatchError, TypeError),
    UnsupportedArgumentError: (NoImplementationError,),
    AmbiguousImplementationError: (DispatchError, TypeError),
    RegistrationError: (DispatchError, TypeError),
    UnitError: (DispatchError, ValueError),
    AnswerError: (DispatchError, TypeError),
    ForeignArgumentError: (DispatchError, TypeError),
    MixedArraysError: (DispatchError, TypeError),
    DensifyError: (DispatchError, RuntimeError),
    TorchCallError: (DispatchError, RuntimeError),
    ModeError: (DispatchError, RuntimeError),
    AutogradError: (RuntimeError,),
    AnomalyError: (AutogradError,),
    GradcheckError: (AutogradError,),
    InplaceError: (AutogradError,),
    StateDictError: (RuntimeError,),
    TransformError: (AutogradError,),
    LostDerivativeError: (TransformError,),
    MissingRuleError: (TransformError, NotImplementedError),
    RandomnessError: (TransformError,),
    CompileError: (TypeError,),
    DataLoaderError: (RuntimeError,),
    LoadError: (ValueError,),
    GradientWarning: (UserWarning,),
    DispatchWarning: (UserWarning,),
    DensifyWarning: (DispatchWarning,),
    FieldWarning: (DispatchWarning,),
    LoopWarning: (DispatchWarning,),
    ReplacementWarning: (DispatchWarning,),
    SignatureWarning: (DispatchWarning,),
}


@pytest.mark.parametrize("cls", TREE, ids=lambda cls: cls.__name__)
def test_each_stands_at_its_place(cls: type) -> None:
    assert cls.__bases__ == TREE[cls]


def test_every_one_is_listed() -> None:
    assert {cls.__name__ for cls in TREE} == set(vars(dispatchkit.errors)["__all__"])


def test_the_tree_is_drawn_in_the_docstring() -> None:
    drawn = re.findall(r"── (\w+)", dispatchkit.errors.__doc__ or "")
    assert sorted(drawn) == sorted(vars(dispatchkit.errors)["__all__"])


CASES: list[tuple[Exception, str]] = [
    (LoadError("a.npz", "is truncated"), "load: a.npz is truncated"),
    (LoadError("a.npz", "is truncated", "x"), "load: entry 'x' of a.npz is truncated"),
    (
        NoImplementationError("lib.add", "__lib_function__", ["A", "B"]),
        "no implementation found for 'lib.add' on types that implement __lib_function__: [A, B]",
    ),
    (
        NoImplementationError(
            "lib.add", "__lib_function__", ["A"], ["A: no rule"], ["add_b(B) at b.py:3"], "def f(x: A):\n    ..."
        ),
        """no implementation found for 'lib.add' on types that implement __lib_function__: [A]
asked, in order:
  A: no rule
nearest implementations:
  add_b(B) at b.py:3
to cover it, write:
  def f(x: A):
      ...""",
    ),
    (
        UnsupportedArgumentError("lib.mean", "__lib_function__", ["A"], arguments=["the keyword 'axis'"]),
        "no implementation of 'lib.mean' for [A] takes the keyword 'axis', and no declared fallback answers the call",
    ),
    (
        AmbiguousImplementationError("lib.add", ["S", "S"], ["f(S, A) at a.py:1", "g(A, S) at a.py:5"], "S, S"),
        """ambiguous implementations of 'lib.add' for (S, S):
  f(S, A) at a.py:1
  g(A, S) at a.py:5
register (S, S) to resolve it""",
    ),
    (RegistrationError("implements: 3 is not a class"), "implements: 3 is not a class"),
    (AnswerError("lib.add", "f(A) at a.py:1", "returned None"), "lib.add: f(A) at a.py:1 returned None"),
    (ForeignArgumentError("lib.add", "x2", "list"), "lib.add: argument 'x2' is a list, not an array"),
    (
        ForeignArgumentError("lib.add", "x2", "list", "make one with lib.asarray"),
        "lib.add: argument 'x2' is a list, not an array; make one with lib.asarray",
    ),
    (
        DensifyError("lib.add", "A", 3_500_000),
        "'lib.add' would make A dense (3.5 MB), and densify(on=\"error\") forbids it",
    ),
    (
        DensifyError("lib.add", "A", None),
        "'lib.add' would make A dense, and densify(on=\"error\") forbids it",
    ),
    (
        DensifyError("A.shape", "A", None),
        "'A.shape' would make A dense, and densify(on=\"error\") forbids it; define A.shape",
    ),
    (
        DensifyError("lib.add", "A", 2000, 1000),
        "'lib.add' would make A dense (2.0 kB), which is past the limit of 1.0 kB set by densify",
    ),
    (TorchCallError("torch.exp", ["A", "torch.Tensor"], "no rule"), "'torch.exp' on [A, torch.Tensor]: no rule"),
    (ModeError("M was left out of order"), "M was left out of order"),
    (AutogradError("no graph"), "no graph"),
    (
        InplaceError("ExpBackward", (2, 3), "float64", 0, 2),
        (
            "a value needed by the backward of ExpBackward was changed by an in-place operation: float64 tensor "
            "of shape (2, 3) is at version 2, expected version 0; change a copy instead (detach() in place "
            "of detach_()), or change it after the backward pass"
        ),
    ),
    (
        GradcheckError("Jacobian mismatch for output 0", "[[1.]]", "[[2.]]", ["note"]),
        "Jacobian mismatch for output 0\nnumerical: [[1.]]\nanalytical: [[2.]]\nnote",
    ),
    (GradcheckError("backward is not repeatable"), "backward is not repeatable"),
    (
        LostDerivativeError("float", "grad"),
        (
            "float() on a tensor that grad differentiates would lose the derivative; compute with the tensor, or use "
            "float(x.detach()) where a constant is meant"
        ),
    ),
    (
        MixedArraysError("lib.add", "torch on cpu", "numpy on cpu"),
        (
            "lib.add: one array is of torch on cpu, another of numpy on cpu; bring both to one library and device "
            "first, with x.to(like=y)"
        ),
    ),
    (
        DataLoaderError("Squares", "Squares[3]", "raised KeyError: 'x'"),
        "DataLoader of Squares: Squares[3] raised KeyError: 'x'",
    ),
    (DispatchWarning("w"), "w"),
    (DensifyWarning("'lib.add' made A dense (8 B)"), "'lib.add' made A dense (8 B)"),
    (SignatureWarning("another default"), "another default"),
]


@pytest.mark.parametrize(("error", "text"), CASES, ids=lambda value: type(value).__name__)
def test_the_text(error: Exception, text: str) -> None:
    assert str(error) == text


def test_the_text_is_put_together_when_it_is_read() -> None:
    error = NoImplementationError("lib.add", "__lib_function__", ["A"])
    error.asked = ["A: added later"]
    assert "added later" in str(error)


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (2048, "2.0 kB"),
        (10**6, "1.0 MB"),
        (10**9, "1.0 GB"),
        (10**12, "1.0 TB"),
        (999_999, "1.0 MB"),
    ],
)
def test_sizes_read_as_people_write_them(nbytes: int, text: str) -> None:
    assert format_bytes(nbytes) == text


def test_every_error_is_one_except_clause_away() -> None:
    caught: list[Any] = []
    for error, _ in CASES:
        try:
            raise error
        except (DispatchError, AutogradError, CompileError, DataLoaderError, LoadError, DispatchWarning) as found:
            caught.append(found)
    assert len(caught) == len(CASES)
