"""What `check_type` says, takes and refuses."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import dispatchkit as dk
from dispatchkit.testing import (
    Conformance,
    ConformanceError,
    TypeConformance,
    Wrapper,
    check_type,
    tensors,
)
from dispatchkit.testing.findings import Subject
from dispatchkit.testing.lines import own_places
from dispatchkit.types import ScalarTensor
from tests.testing.broken import Box, Branches, Forgets, Keeps, Mutates, NumPyInside, Raises, Unpicklable, Value
from tests.testing.faults.ten import Reversed

pytest_plugins = "pytester"


def samples() -> list[Any]:
    return [Wrapper([1.0, 2.0], "m")]


def failing(cls: Any, *operations: Any, data: Any = (1.0, 2.0), **options: Any) -> Conformance:
    with pytest.raises(ConformanceError) as caught:
        check_type(cls, [cls(data)], metadata=("tag",), operations=operations, **options)
    assert isinstance(caught.value, AssertionError)
    assert str(caught.value) == str(caught.value.conformance)
    return caught.value.conformance


MESSAGES = {
    "value": """\
value: dispatchkit.exp(Value (2,))
    found:    [ 5.43656366, 14.7781122 ]
    expected: [2.71828183, 7.3890561 ]""",
    "raises": """\
raises: dispatchkit.exp(Raises (2,))
    found:    ValueError: exp of a box
    expected: an answer, or a decline""",
    "keywords": """\
keywords: dispatchkit.sum(Keeps (2, 2), keepdims=True)
    found:    what a call without 'keepdims' gives
    expected: 'keepdims' honoured""",
    "mutation": """\
mutation: dispatchkit.exp(Mutates (2,))
    found:    'x' became [2.71828183, 7.3890561 ]
    expected: 'x' still [1., 2.]""",
    "metadata": """\
metadata: dispatchkit.exp(Forgets (2,))
    found:    {'tag': ''}
    expected: {'tag': 'm'}""",
    "gradient": """\
gradient: dispatchkit.exp(NumPyInside (2,))
    found:    [0., 0.] (does it leave dispatchkit, with NumPy inside or detach?)
    expected: [ 1.35914091, 11.08358415]""",
    "pickle": """\
pickle: pickle protocol 2 of(Unpicklable)
    found:    """,
}
CALLS: dict[str, Any] = {
    "value": (Value, dk.exp),
    "raises": (Raises, dk.exp),
    "keywords": (Keeps, dk.sum),
    "mutation": (Mutates, dk.exp),
    "metadata": (Forgets, dk.exp),
    "gradient": (NumPyInside, dk.exp),
    "pickle": (Unpicklable, dk.exp),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_failure_reads_as_the_call_with_both_values(name: str) -> None:
    cls, operation = CALLS[name]
    found = failing(cls, operation, data=((1.0, 2.0), (3.0, 4.0)) if name == "keywords" else (1.0, 2.0))
    text = re.sub(r"\n    handler: .*", "", str(found))
    assert MESSAGES[name] in text
    place = r"broken\.py:\d+$" if name != "pickle" else "^    program:$"
    assert re.search(place, str(found), re.MULTILINE)
    assert re.search(rf"^  {name} +\d+ tried  \d+ FAILED$", str(found), re.MULTILINE)


def test_advice_goes_with_what_a_transformation_refuses() -> None:
    (failure,) = failing(Branches, dk.exp).failures
    assert failure.check == "vmap"
    assert failure.found.startswith("TransformError: ")
    assert failure.found.endswith(" (is a value asked for that a batch has not?)")


def test_a_long_list_of_failures_is_cut() -> None:
    found = failing(NumPyInside, dk.exp)
    many = Conformance("T", ("gradient",), found.failures * 30)
    assert str(many).endswith("gradient: and 10 more")


def test_what_is_refused_is_no_failure_and_is_told() -> None:
    @dk.array_type(fallback=dk.fallback.refuse)
    class Narrow(Box):
        pass

    with dk.local_registrations():

        @dk.implements(dk.exp)
        def exp_narrow(x: Narrow, /) -> Any:
            return x.filled(dk.exp(x.data))

        @dk.implements(dk.sin)
        def sin_narrow(x: Narrow, /) -> Any:
            raise dk.NoImplementationError("sin", "__tensor_function__", ["Narrow"])

        found = check_type(
            Narrow, [Narrow([1.0])], operations=[dk.exp, dk.sin, dk.linalg.inv], skip=["pickle"], metadata=()
        )
    assert found.refused == ("dispatchkit.sin",)
    assert found.unreached == ("dispatchkit.linalg.inv",)
    assert "  refused (1): dispatchkit.sin" in str(found)
    assert "  not reached (1): dispatchkit.linalg.inv" in str(found)


def test_what_is_skipped_is_not_checked() -> None:
    assert [failure.operation for failure in failing(Value, dk.exp, dk.sum).failures] == ["dispatchkit.exp"]
    for skip in ("value", "value:exp", "value:dispatchkit.exp"):
        assert check_type(Value, [Value([1.0])], operations=[dk.exp, dk.sum], skip=[skip, "programs"]).failures == ()
    assert failing(Value, dk.exp, skip=["value:sum"]).failures


def test_an_unknown_check_cannot_be_skipped() -> None:
    with pytest.raises(
        ValueError, match=r"^skip: there is no check 'values'; the checks are dense, copy, deepcopy, pickle, "
    ):
        check_type(Wrapper, samples, skip=["values"])
    with pytest.raises(ValueError, match=r"^checks: there is no check 'values'; the checks are dense, copy, deepcopy"):
        check_type(Wrapper, samples, checks=["values"])


ERRORS: dict[str, tuple[Any, Any, type[Exception], str]] = {
    "no part": (list, [[1.0]], TypeError, r"^check_type: list takes no part in __tensor_function__; decorate it with "),
    "an instance": (Wrapper(1.0), [], TypeError, r"^check_type: takes a type, not an instance of Wrapper; give i"),
    "no samples": (Wrapper, [], ValueError, r"^check_type: there are no samples of Wrapper; give one instance at le"),
    "another sample": (Wrapper, [1.0], TypeError, r"^check_type: a sample of Wrapper is a float$"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_what_cannot_be_checked_is_an_error(name: str) -> None:
    cls, given, error, text = ERRORS[name]
    with pytest.raises(error, match=text):
        check_type(cls, given)


def test_a_type_needs_a_dense_form() -> None:
    @dk.array_type()
    class Opaque:
        pass

    with pytest.raises(TypeError, match=r"^check_type: .*Opaque has no dense form to compare with; define to_dense\("):
        check_type(Opaque, [Opaque()])


def test_a_dense_form_may_be_given() -> None:
    @dk.array_type(fallback=dk.fallback.rewrap, fields=("data",))
    class Opaque:
        def __init__(self, data: Any) -> None:
            self.data = data
            self.shape, self.dtype = data.shape, data.dtype

    found = check_type(
        Opaque,
        lambda: [Opaque(dk.asarray([1.0, 2.0]))],
        to_dense=lambda x: x.data,
        operations=[dk.exp, dk.add],
        skip=["pickle"],
    )
    assert found.tried["value"] > 1


def test_calls_are_adapted_to_the_shapes_of_the_samples() -> None:
    reached: list[Any] = [
        dk.reshape,
        dk.broadcast_to,
        dk.permute_dims,
        dk.tile,
        dk.concat,
        dk.where,
        dk.take,
        dk.linalg.solve,
    ]
    out_of_reach: list[Any] = [dk.bitwise_and, dk.linalg.outer]  # for integers, and for vectors
    found = check_type(
        ScalarTensor, [ScalarTensor(3, 2.0)], operations=[*reached, *out_of_reach], skip=["gradient", "vmap"]
    )
    assert found.unreached == ("dispatchkit.bitwise_and", "dispatchkit.linalg.outer")
    assert found.tried["value"] >= 2 * len(reached)


def test_depth_says_how_many_calls_are_looked_into() -> None:
    tried = [
        check_type(Wrapper, samples, from_dense=Wrapper, operations=[dk.sum], depth=depth, skip=["methods"]).tried
        for depth in (1, 2, None)
    ]
    assert [one["gradient"] for one in tried] == [2, 3, 6]
    assert len({one["value"] for one in tried}) == 1


def test_a_type_of_which_a_wrong_result_has_another_number_of_arrays() -> None:
    class Pairs(Box):
        pass

    with dk.local_registrations():

        @dk.implements(dk.exp)
        def exp_pairs(x: Pairs, /) -> Any:
            return x, x

        found = failing(Pairs, dk.exp, skip=["pickle"])
    assert [(one.check, one.found, one.expected) for one in found.failures] == [("container", "a tuple", "one result")]


def test_a_hash_is_the_same_each_time() -> None:
    class Restless(Box):
        count = itertools.count()

        def __hash__(self) -> int:
            return next(self.count)

    with dk.local_registrations():
        conformance = failing(Restless, dk.exp, checks=["attributes"])
    assert {(failure.check, failure.found, failure.expected) for failure in conformance.failures} == {
        ("attributes", "two numbers for one object", "the same number each time")
    }


def test_eigenvectors_may_be_turned() -> None:
    class Turned(Box):
        pass

    with dk.local_registrations():

        @dk.implements(dk.linalg.eigh)
        def eigh_turned(x: Turned, /) -> Any:
            values, vectors = dk.linalg.eigh(x.data)
            return type(dk.linalg.eigh(x.data))(x.filled(values), x.filled(-vectors))

        found = check_type(
            Turned,
            lambda: [Turned([1.0])],
            from_dense=Turned,
            operations=[dk.linalg.eigh],
            metadata=("tag",),
            skip=["pickle"],
        )
    assert found.tried["value"]


class TestClassOfTests:
    def test_checks_of_the_type_and_operations_are_tests(self, pytester: pytest.Pytester) -> None:
        pytester.makepyfile(
            """
            import dispatchkit as dk
            from dispatchkit.testing import TypeConformance, Wrapper

            class TestWrapper(TypeConformance):
                skip = ("pickle",)
                operations = [dk.add, dk.matmul]

                def samples(self):
                    return [Wrapper([1.0])]
            """
        )
        result = pytester.runpytest("-p", "no:cacheprovider", "-p", "no:randomly", "--collect-only", "-q")
        lines = [line.partition("::test_")[2] for line in result.outlines if "::" in line]
        of_type = ["dense", "copy", "deepcopy", "gradient", "attributes", "alias", "assignment", "repr", "programs"]
        of_operations = ["operation[additive-add]", "operation[product-matmul]"]
        assert lines == [*(f"conforms[{name}]" for name in of_type), *of_operations]
        result = pytester.runpytest("-p", "no:cacheprovider", "--collect-only", "-q", "-k", "matmul")
        assert [line for line in result.outlines if "::" in line] == [
            line for line in result.outlines if line.endswith("test_operation[product-matmul]")
        ]

    def test_a_failing_check_fails_its_test(self) -> None:
        class Suite(TypeConformance):
            def samples(self) -> list[Any]:
                return [Unpicklable([1.0])]

        with pytest.raises(ConformanceError, match=r"^conformance of Unpicklable: 1 failures in 1 checks"):
            Suite().test_conforms("pickle")
        Suite().test_conforms("copy")

    def test_a_failing_operation_fails_its_test_alone(self) -> None:
        class Suite(TypeConformance):
            metadata = ("tag",)

            def samples(self) -> list[Any]:
                return [Value([1.0])]

        with pytest.raises(ConformanceError, match=r"value: dispatchkit\.exp\(Value \(1,\)\)\n    handler:  exp_v"):
            Suite().test_operation("exponential-exp")
        Suite().test_operation("exponential-log")

    def test_samples_may_be_a_strategy(self) -> None:
        class Suite(TypeConformance):
            metadata = ("tag",)

            def samples(self) -> Any:
                return st.builds(Value, tensors(shape=(2,)))

        with pytest.raises(ConformanceError, match=r"value: dispatchkit\.exp"):
            Suite().test_operation("exponential-exp")

    def test_samples_must_be_defined(self) -> None:
        class Suite(TypeConformance):
            pass

        with pytest.raises(NotImplementedError, match=r"^Suite must define samples\(self\), a list of instances"):
            Suite().test_conforms("value")


def test_a_type_with_a_lock_does_not_hang() -> None:
    import threading

    lock = threading.Lock()

    class Locked(Box):
        pass

    with dk.local_registrations():

        @dk.implements(dk.exp)
        def exp_locked(x: Locked, /) -> Any:
            with lock:
                return x.filled(dk.exp(x.data))

        found = check_type(Locked, [Locked([1.0])], operations=[dk.exp], metadata=("tag",), skip=["pickle"], depth=1)
    assert found.tried["threads"] == 2


def test_checks_leave_no_setting_behind() -> None:
    before = np.geterr()
    check_type(Wrapper, samples, operations=[dk.exp])
    assert np.geterr() == before
    with pytest.warns(dk.DensifyWarning):
        dk.cos(ScalarTensor(2, 1.0))


def test_rules_that_no_call_entered_are_listed() -> None:
    class Rare(Box):
        pass

    with dk.local_registrations():

        @dk.implements(dk.add)
        def add_rare(x1: Rare, x2: Wrapper, /) -> Any:
            return x1

        found = check_type(Rare, [Rare([1.0])], operations=[dk.add], metadata=("tag",), skip=["pickle"])
    assert len(found.unentered) == 1
    assert "rules that no call entered (1), for want of samples that reach them:\n    add_rare(" in str(found)


def test_samples_are_asked_for() -> None:
    with pytest.raises(ValueError, match=r"^check_type: there are no samples of Value; give one instance at least$"):
        check_type(Value, operations=[dk.exp])


def test_more_samples_never_find_less() -> None:
    class Single(Box):
        pass

    with dk.local_registrations():

        @dk.implements(dk.exp)
        def exp_single(x: Single, /) -> Any:
            wrong = x.dtype == dk.float32
            return x.filled(dk.exp(x.data.detach() if wrong else x.data))

        single = Single(dk.asarray([1.0, 2.0], dtype=dk.float32))
        others = [Single([1.0]), Single([[1.0, 2.0]]), Single([1, 2]), Single(0.5)]
        for samples_given in ([single], [*others, single], [single, *others]):
            with pytest.raises(ConformanceError) as caught:
                check_type(Single, samples_given, operations=[dk.exp], metadata=("tag",), skip=["pickle"], depth=1)
            assert [one.check for one in caught.value.conformance.failures] == ["gradient"]


def test_a_function_without_jvp_refuses_and_does_not_fail() -> None:
    class Backward(dk.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return dk.sin(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * dk.cos(ctx.saved_tensors[0])

    class WithoutForwardMode(Box):
        pass

    with dk.local_registrations():

        @dk.implements(dk.sin)
        def sin_backward(x: WithoutForwardMode, /) -> Any:
            return x.filled(Backward.apply(x.data))

        samples_given = [WithoutForwardMode([1.0, 2.0])]
        found = check_type(WithoutForwardMode, samples_given, operations=[dk.sin], metadata=("tag",), skip=["pickle"])
    assert found.failures == ()


def test_exceptions_by_which_a_type_refuses_are_named() -> None:
    class Refusing(Box):
        pass

    with dk.local_registrations():

        @dk.implements(dk.exp)
        def exp_refusing(x: Refusing, /) -> Any:
            raise LookupError("not today")

        options: dict[str, Any] = {"operations": [dk.exp], "metadata": ("tag",), "skip": ["pickle"]}
        with pytest.raises(ConformanceError, match=r"raises: dispatchkit\.exp"):
            check_type(Refusing, [Refusing([1.0])], **options)
        found = check_type(Refusing, [Refusing([1.0])], tests=dk.TypeTests(refuses=[LookupError]), **options)
    assert found.refused == ("dispatchkit.exp",)


def test_a_law_says_what_metadata_a_result_has() -> None:
    def law(op: Any, tags: list[Any]) -> Any:
        return "e" if op is dk.exp else NotImplemented

    found = check_type(Wrapper, samples, operations=[dk.sin], metadata={"tag": law})
    assert found.tried["metadata"]
    with pytest.raises(ConformanceError, match=r"found:    {'tag': 'm'}\n    expected: {'tag': 'e'}"):
        check_type(Wrapper, samples, operations=[dk.exp], metadata={"tag": law})


def test_a_program_names_a_class_that_cannot_be_imported() -> None:
    class Local(Box):
        pass

    with dk.local_registrations():

        @dk.implements(dk.exp)
        def exp_local(x: Local, /) -> Any:
            return x.filled(x.data)

        found = failing(Local, dk.exp, skip=["pickle"])
    program = found.failures[0].program
    assert "Local is defined inside tests.testing.test_check_type; put its definition here" in program


@dk.array_type(fallback=dk.fallback.dense)
class Halved:
    """Numbers in single precision that are halved twice, once in the precision of what they are added to."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def to_dense(self) -> Any:
        return self.data * np.float32(0.1)


@dk.implements(dk.add)
def add_halved(x1: Halved, x2: dk.Tensor, /) -> Any:
    return dk.astype(x1.data, x2.dtype) * 0.1 + x2


def test_a_result_is_compared_to_the_digits_of_what_went_in() -> None:
    x = dk.asarray([1.0, 3.0], dtype="float32")
    found = check_type(Halved, lambda: [Halved(x)], operations=[dk.add], checks=["value", "dtype", "repeat"])
    assert not found.failures
    with pytest.raises(ConformanceError, match="value"):
        check_type(Halved, lambda: [Halved(dk.astype(x, "float64") * (1 + 1e-6))], operations=[dk.add])


def test_threads_hand_over_at_the_lines_of_the_type_alone() -> None:
    # The library's lines hold locks, for which the other thread would wait in vain.
    subject = Subject(Box, lambda: [Box([1.0, 2.0])], from_dense=Box)
    operation = dk.tensor_protocol.operation(dk.exp)
    assert own_places(subject.cls, [operation]) == {(inspect.getfile(Box), Box.__module__)}


def test_methods_that_dataclasses_write_do_not_stand_for_those_of_the_library() -> None:
    @dataclasses.dataclass
    class Written(Box):
        data: Any

    places = own_places(Written, [dk.tensor_protocol.operation(dk.exp)])
    assert {module for file, module in places if file == "<string>"} == {__name__}


def test_what_the_dense_forms_of_a_type_refuse_is_refused() -> None:
    samples = [Reversed([[1.0, 2.0], [3.0, 4.0]])]
    with pytest.raises(ValueError, match="view: Unable to avoid creating a copy"):
        dk.view(samples[0].to_dense(), (-1,))  # of reversed rows, which a copy of them allows
    found = check_type(Reversed, lambda: samples, operations=[dk.view], checks=["raises"])
    assert found.failures == ()
