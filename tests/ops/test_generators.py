"""`Generator`: states that can be saved, and who draws from which generator."""

from __future__ import annotations

import copy
import pathlib
import threading
from typing import Any

import pytest

import dispatchkit as dk


def test_a_state_goes_on_where_the_generator_stood(tmp_path: pathlib.Path) -> None:
    [generator] = dk.Generator(3).spawn(2)[1:]
    dk.rand(5, generator=generator)
    generator.spawn(2)
    dk.save(generator.get_state(), tmp_path / "state.npz")
    other = dk.Generator(0)
    assert other.set_state(dk.load(tmp_path / "state.npz")) is other
    assert other.seed == generator.seed
    assert dk.randn(4, generator=other).tolist() == dk.randn(4, generator=generator).tolist()
    [a], [b] = other.spawn(1), generator.spawn(1)
    assert dk.rand(4, generator=a).tolist() == dk.rand(4, generator=b).tolist()


@pytest.mark.parametrize("state", [None, {}, {"seed": 0, "spawn_key": [], "spawned": 0, "bit_generator": {}}])
def test_what_is_no_state_is_refused(state: Any) -> None:
    generator = dk.Generator(3)
    with pytest.raises(ValueError, match=r"Generator.set_state: this is no state that get_state gave"):
        generator.set_state(state)
    assert dk.rand(2, generator=generator).tolist() == dk.rand(2, generator=dk.Generator(3)).tolist()


def test_a_checkpointed_function_draws_again_what_it_drew_in_a_loader() -> None:
    class Sampled:
        def __len__(self) -> int:
            return 4

        def __getitem__(self, index: int) -> Any:
            x = dk.ones(3, requires_grad=True)
            y = dk.func.checkpoint(lambda x: x * dk.rand(3))(x)
            y.sum().backward()
            assert x.grad is not None
            assert y.tolist() == x.grad.tolist()
            return threading.get_ident()

    list(dk.data.DataLoader(Sampled(), num_workers=2))


def test_a_generator_without_a_seed_starts_when_it_is_used_and_its_copies_with_it() -> None:
    generator = dk.random.Generator()
    assert not vars(generator)
    twin = copy.deepcopy(generator)
    assert isinstance(generator.seed, int)
    assert dk.rand(3, generator=twin).tolist() == dk.rand(3, generator=generator).tolist()
    with pytest.raises(AttributeError, match="Generator has no attribute 'sed'"):
        generator.sed  # noqa: B018  # raises
