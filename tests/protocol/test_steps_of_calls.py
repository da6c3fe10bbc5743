"""What calls through fallbacks, NumPy's protocols and modes run is counted in lines, which no load changes."""

import copy
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.backends.arrays import foreign
from dispatchkit.protocol.observers import live, note_live
from dispatchkit.tree import copies_plainly, with_attributes
from dispatchkit.types import MetadataTensor
from tests.protocol.support import steps_of


@dk.array_type(fallback=dk.fallback.rewrap)
class Tagged(dk.ArrayMethods):
    def __init__(self, data: Any, tag: str) -> None:
        self.data, self.tag = data, tag


@dk.array_type()
class Subject:
    shape = ()
    dtype = np.dtype(float)


@dk.implements(dk.add)
def add_subjects(x1: Subject, x2: Subject, /) -> str:
    return "add"


@dk.implements(dk.mean)
def mean_subject(x: Subject, /, *, axis: int | None = None) -> tuple[str, int | None]:
    return "mean", axis


class Left:
    """What a test has left behind."""


class Passing(dk.TensorFunctionMode):
    def __tensor_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return func(*args, **kwargs)


def test_a_call_that_is_rewrapped_reads_no_declaration() -> None:
    x = Tagged(dk.ones(2), "a")
    assert dk.exp(x).tag == "a"
    assert steps_of(lambda: dk.exp(x)) < 90


def test_steps_are_those_of_a_process_without_modes_and_arrays_of_other_tests() -> None:
    x = dk.ones(2)
    dk.exp(x)
    alone = steps_of(lambda: dk.exp(x))
    left = Left()
    note_live(left)
    foreign.append(Left)
    try:
        assert steps_of(lambda: dk.exp(x)) == alone
        assert left in [entry() for entry in live]
        assert foreign[-1] is Left
    finally:
        foreign.remove(Left)


def test_numpys_functions_of_array_types_translate_no_arguments_where_there_are_none() -> None:
    s = Subject()
    calls = (lambda: np.add(s, s), lambda: np.mean(s), lambda: np.mean(s, axis=0))
    assert [call() for call in calls] == ["add", ("mean", None), ("mean", 0)]
    assert [steps_of(call) < 40 for call in calls] == [True] * 3


def test_numpys_functions_ask_anew_once_a_type_takes_part() -> None:
    class Late:
        __array_priority__ = 1000

    add: Any = np.add  # whose stub knows no other types
    with dk.local_registrations():
        dk.register_type(Late)
        dk.implements(dk.add, Late)(lambda x1, x2: "late")
        assert add(dk.ones(2), Late()) == "late"
    with pytest.raises(TypeError):
        add(dk.ones(2), Late())


def test_a_mode_learns_once_which_types_take_part() -> None:
    x = dk.ones(2)
    with Passing():
        dk.add(x, x)
        assert steps_of(lambda: dk.add(x, x)) < 80


def test_tensors_with_metadata_are_added_in_few_steps() -> None:
    x, y = MetadataTensor([1.0], {"a": 1, "b": 2}), MetadataTensor([2.0], {"b": 3, "c": 4})
    assert list((x + y).metadata.items()) == [("a", 1), ("b", 2), ("c", 4)]
    assert steps_of(lambda: x + y) < 100


class Slotted:
    __slots__ = ("data",)


class Counted(Tagged):
    copies = 0

    def __copy__(self) -> "Counted":
        type(self).copies += 1
        return Counted(self.data, self.tag)


class Numbered(int):
    pass


@pytest.mark.parametrize(("cls", "plain"), [(Tagged, True), (Slotted, False), (Counted, False), (Numbered, False)])
def test_only_classes_that_say_nothing_of_copies_are_copied_plainly(cls: type, plain: bool) -> None:
    assert copies_plainly(cls) is plain


def test_a_plain_copy_is_what_copy_gives() -> None:
    x = Tagged(dk.ones(2), "a")
    mine, theirs = with_attributes(x, [("tag", "b")], plainly=True), copy.copy(x)
    assert type(mine) is type(theirs)
    assert vars(mine) == {**vars(theirs), "tag": "b"}


def test_a_class_with_a_copy_of_its_own_is_rewrapped_by_it() -> None:
    before = Counted.copies
    assert type(dk.exp(Counted(dk.ones(2), "a"))) is Counted
    assert Counted.copies == before + 1
