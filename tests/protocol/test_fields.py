"""`field`: what an array type says of one of its fields."""

import dataclasses
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.errors import RegistrationError


def test_a_field_is_one_of_a_dataclass() -> None:
    made = dk.field(grad=False, default_factory=list, metadata={"unit": "m"}, repr=False)
    assert isinstance(made, dataclasses.Field)
    assert made.default_factory is list
    assert made.metadata["unit"] == "m"
    assert not made.repr
    with pytest.raises(TypeError, match="field: grad must be True, False or a function, found None"):
        dk.field(grad=None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unexpected keyword argument 'train'"):
        dk.field(train=False)


def test_a_dictionary_of_fields_says_what_each_is() -> None:
    protocol = dk.DispatchProtocol("__fields_function__")
    records = protocol.types

    @protocol.array_type(fields={"base": dk.field(grad=False), "shift": dk.field()})
    class Base:
        pass

    @protocol.array_type(fields=("shift", "base"))
    class Inherits(Base):
        pass

    @protocol.array_type(fields={"base": dk.field(), "shift": dk.field(grad=False)})
    @dataclasses.dataclass
    class Declared:
        base: Any = dk.field(grad=False)
        shift: Any = None

    class Registered:
        pass

    protocol.register_type(Registered, fields={"base": dk.field(grad=False)})
    assert records.field_names(Base) == ("base", "shift")
    assert records.field_names(Inherits) == ("shift", "base")
    constants = [set(records.constants_of(cls)) for cls in (Base, Inherits, Declared, Registered)]
    assert constants == [{"base"}, {"base"}, {"shift"}, {"base"}]


@pytest.mark.parametrize("value", [False, dataclasses.field(), None])
def test_a_dictionary_of_anything_else_is_refused(value: Any) -> None:
    class A:
        pass

    with pytest.raises(RegistrationError, match=r"array_type: fields of .*A give .* for 'base'; write dk\.field\(\)"):
        dk.array_type(fields={"base": value})(A)


def test_what_makes_an_instance_of_a_plain_array_is_a_method_or_a_function() -> None:
    with pytest.raises(
        dk.RegistrationError, match=r"from_dense='of_dense' of .*Lacking is neither a function nor the name"
    ):

        @dk.array_type(fallback=dk.fallback.refuse, from_dense="of_dense")
        class Lacking:
            pass

    @dk.array_type(fallback=dk.fallback.refuse, from_dense=lambda x, like: like)
    class Having:
        pass

    class Derived(Having):
        pass

    found = dk.tensor_protocol.types.from_dense(Derived)
    assert found is not None
    assert found(1, 2) == 2
    assert dk.tensor_protocol.types.from_dense(dk.types.ScalarTensor) is None
