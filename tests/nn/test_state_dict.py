"""`state_dict` and `load_state_dict`: names, strictness, messages, and that a refused state changes nothing."""

import copy
import pickle
import re
import warnings
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit import nn
from dispatchkit.errors import StateDictError
from tests.nn.modules import Net, Scale, Structured


def test_names_values_and_memory() -> None:
    net = Net()
    state = net.state_dict()
    assert type(state) is OrderedDict
    assert list(state) == ["gain", "count", "first.weight", "tail.0.weight", "tail.1.weight"]
    assert all(type(value) is dk.Tensor and not value.requires_grad for value in state.values())
    assert state["gain"].array is net.gain.array
    assert next(iter(net.state_dict(prefix="net."))) == "net.gain"
    assert net.state_dict(keep_vars=True)["gain"] is net.gain
    kept: dict[str, Any] = {"own": 1}
    assert net.tail.state_dict(destination=kept) is kept
    assert list(kept) == ["own", "0.weight", "1.weight"]


def test_versions_are_kept_beside() -> None:
    class Newer(Scale):
        _version = 3

    state = nn.Sequential(Newer(1.0)).state_dict()
    expected = {"": {"version": 1}, "0": {"version": 3}}
    assert state._metadata == expected
    assert pickle.loads(pickle.dumps(state))._metadata == expected


def test_loading_copies_in_place() -> None:
    source, net = Net(), Net()
    source.apply(lambda module: [p.data.fill_(7.0) for p in module.parameters()])
    gain = net.gain
    keys = net.load_state_dict(source.state_dict())
    assert repr(keys) == "<All keys matched successfully>"
    assert keys == ([], [])
    assert net.gain is gain
    assert gain.tolist() == [7.0]
    assert gain.array is not source.gain.array
    assert gain.requires_grad


def test_loading_converts_and_takes_numpy_arrays() -> None:
    net = Net().float()
    net.load_state_dict({name: np.full(x.shape, 0.5) for name, x in net.state_dict().items()})
    assert net.gain.dtype == np.float32
    assert net.tail[1].weight.tolist() == [0.5]


def test_loading_takes_tensors_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    theirs, ours = torch.nn.Linear(2, 3), dk.nn.Linear(2, 3)
    for state in (theirs.state_dict(), dict(theirs.named_parameters())):
        ours.load_state_dict({name: value * 2 for name, value in state.items()})
        np.testing.assert_array_equal(ours.weight.detach().array, 2 * theirs.weight.detach().numpy())
        assert type(ours.weight.array) is np.ndarray
        assert ours.weight.dtype == np.float64
    short = {**theirs.state_dict(), "bias": torch.ones(3, dtype=torch.bfloat16)}
    with pytest.raises(StateDictError, match=r'named "bias": NumPy cannot read torch.bfloat16 .*; convert it'):
        ours.load_state_dict(short)
    with pytest.raises(StateDictError, match=r'named "bias".*but received torch.nn.modules.linear.Linear'):
        ours.load_state_dict({**short, "bias": theirs})


def test_loading_is_seen_by_the_graph() -> None:
    net = Net()
    y = (net.gain * net.gain).sum()
    net.load_state_dict(net.state_dict())
    with pytest.raises(dk.errors.InplaceError, match="was changed by an in-place operation"):
        y.backward()


MESSAGE = """Error(s) in loading state_dict for Net:
\tMissing key(s) in state_dict: "count", "tail.1.weight".
\tUnexpected key(s) in state_dict: "more", "tail.7.weight".
\tsize mismatch for gain: copying a param with shape (2, 2) from checkpoint, the shape in current model is (1,).
\tWhile copying the parameter named "first.weight", expected a tensor or an array of numbers from checkpoint but \
received str"""


def spoilt_state() -> dict[str, Any]:
    return {
        "gain": dk.ones((2, 2)),
        "first.weight": "text",
        "tail.0.weight": dk.zeros(1),
        "more": dk.ones(1),
        "tail.7.weight": dk.ones(1),
    }


def test_the_error_lists_everything_and_nothing_has_changed() -> None:
    net = Net()
    with pytest.raises(StateDictError) as caught:
        net.load_state_dict(spoilt_state())
    assert str(caught.value) == MESSAGE
    assert caught.value.missing == ["count", "tail.1.weight"]
    assert caught.value.unexpected == ["more", "tail.7.weight"]
    assert isinstance(caught.value, RuntimeError)
    assert net.tail[0].weight.item() == 3.0


def test_what_has_another_shape_is_refused_without_strict_too() -> None:
    net = Net()
    with pytest.raises(StateDictError, match="size mismatch for gain") as caught:
        net.load_state_dict(spoilt_state(), strict=False)
    assert "Missing" not in str(caught.value)
    assert net.tail[0].weight.item() == 3.0


def test_without_strict_the_differences_are_returned() -> None:
    net = Net()
    keys = net.load_state_dict({"gain": dk.zeros(1), "more": dk.zeros(1)}, strict=False)
    assert keys.missing_keys == ["count", "first.weight", "tail.0.weight", "tail.1.weight"]
    assert keys.unexpected_keys == ["more"]
    assert repr(keys).startswith("IncompatibleKeys(missing_keys=['count', ")
    assert net.gain.item() == 0.0


def test_values_that_cannot_be_held_are_refused() -> None:
    scale = Scale(2.0)
    with pytest.raises(StateDictError, match="dtype mismatch for weight: the checkpoint has complex128, the current"):
        scale.load_state_dict({"weight": dk.ones(1, dtype=dk.complex128)})
    scale.weight.array.flags.writeable = False
    with pytest.raises(StateDictError, match="weight: the tensor holds a NumPy array that is read-only"):
        scale.load_state_dict({"weight": dk.ones(1)})
    with pytest.raises(TypeError, match="load_state_dict: expected a dictionary, found a list"):
        scale.load_state_dict([dk.ones(1)])  # type: ignore[arg-type]  # as the message says


LOSSES: dict[str, tuple[Any, Any]] = {
    "float32": (1e300, np.inf),
    "float16": (np.float32(70000.0), np.inf),
    "complex64": (1e300j, complex(0, np.inf)),
    "int8": (300, 44),
    "uint8": (-1, 255),
    "int64": (1.5, 1),
    "bool": (2, True),
}


@pytest.mark.parametrize("dtype", LOSSES)
def test_a_number_that_the_dtype_of_the_model_does_not_hold_is_warned_of(dtype: str) -> None:
    saved, held = LOSSES[dtype]
    module = dk.nn.Module()
    module.register_buffer("scale", dk.zeros(1, dtype=dtype))
    state = {"scale": np.asarray([saved])}
    text = (
        f'Module.load_state_dict: numbers of "scale", {state["scale"].dtype} in the checkpoint, do not fit into the '
        f"{dtype} of the current model; convert the model before, or load with assign=True to keep the saved dtypes"
    )
    with pytest.warns(UserWarning, match=f"^{re.escape(text)}$") as caught:
        module.load_state_dict(state)
    assert [warning.filename for warning in caught] == [__file__]
    assert module.scale.tolist() == [held]
    module.load_state_dict(state, assign=True)
    assert module.scale.tolist() == [saved]


@pytest.mark.parametrize("dtype", LOSSES)
def test_a_warning_that_is_an_error_leaves_the_model_as_it_was(dtype: str) -> None:
    module = dk.nn.Module()
    module.register_buffer("first", dk.zeros(1))
    module.register_buffer("scale", dk.zeros(1, dtype=dtype))
    state = {"first": dk.ones(1), "scale": np.asarray([LOSSES[dtype][0]])}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="do not fit"):
            module.load_state_dict(state)
    assert module.first.tolist() == module.scale.tolist() == [0]


def test_rounding_and_infinities_that_were_saved_are_loaded_without_a_word() -> None:
    module = dk.nn.Module()
    module.register_buffer("scale", dk.zeros(4, dtype=dk.float32))
    module.load_state_dict({"scale": np.asarray([0.1, 1e-300, -np.inf, np.nan])})
    assert module.scale.tolist()[1:3] == [0.0, -np.inf]


def test_assigning_puts_the_saved_tensors_in_place() -> None:
    net = Net()
    net.gain.requires_grad_(False)
    net.second = net.first
    state = {name: dk.full(x.shape, 5.0, dtype=dk.float32) for name, x in net.state_dict().items()}
    net.load_state_dict(state, assign=True)
    assert type(net.gain) is nn.Parameter
    assert net.gain.array is state["gain"].array
    assert not net.gain.requires_grad
    assert net.first.weight.requires_grad
    assert net.second.weight is net.first.weight
    assert net.count is state["count"]
    own = nn.Parameter(dk.ones(1))
    net.tail[0].load_state_dict({"weight": own}, assign=True)
    assert net.tail[0].weight is own


def test_array_types_are_saved_by_the_tensors_inside() -> None:
    module = Structured()
    state = module.state_dict()
    assert list(state) == ["weight.value", "offset"]
    other = Structured()
    other.weight.value.data.fill_(9.0)
    other.load_state_dict(state)
    assert other.weight.value.item() == 2.0
    other.load_state_dict({"weight.value": dk.tensor(4.0), "offset": dk.ones(3)}, assign=True)
    assert isinstance(other.weight, nn.Parameter)
    assert other.weight.value.item() == 4.0  # type: ignore[attr-defined]
    with pytest.raises(StateDictError, match=r"size mismatch for weight.value: .* shape \(2,\) .* model is \(\)"):
        module.load_state_dict({"weight.value": dk.ones(2), "offset": dk.ones(3)})


class Counting(Scale):
    """Keeps a number that is no tensor."""

    def __init__(self) -> None:
        super().__init__(1.0)
        self.seen = 0

    def get_extra_state(self) -> Any:
        return {"seen": self.seen}

    def set_extra_state(self, state: Any) -> None:
        self.seen = state["seen"]


def test_state_of_another_kind() -> None:
    model = nn.Sequential(Counting())
    model[0].seen = 4
    state = model.state_dict()
    assert state["0._extra_state"] == {"seen": 4}
    fresh = nn.Sequential(Counting())
    fresh.load_state_dict(state)
    assert fresh[0].seen == 4
    del state["0._extra_state"]
    with pytest.raises(StateDictError, match=r'Missing key\(s\) in state_dict: "0._extra_state"'):
        fresh.load_state_dict(state)
    with pytest.raises(StateDictError, match=r'Unexpected key\(s\) in state_dict: "_extra_state"'):
        Scale(1.0).load_state_dict({"weight": dk.ones(1), "_extra_state": 1})
    with pytest.raises(NotImplementedError, match="Scale has no get_extra_state"):
        Scale(1.0).get_extra_state()


def test_hooks_around_saving_and_loading() -> None:
    log: list[Any] = []
    net = Net()

    def renames(module: Any, state: Any, prefix: str, metadata: Any, strict: bool, *lists: Any) -> None:
        log.append(("load", prefix, metadata, strict, lists))
        state[f"{prefix}weight"] = state.pop(f"{prefix}old_weight")

    handles = [
        net.first.register_state_dict_pre_hook(lambda module, prefix, keep: log.append(("pre", prefix, keep))),
        net.first.register_state_dict_post_hook(
            lambda module, state, prefix, metadata: state.update({f"{prefix}old_weight": state.pop(f"{prefix}weight")})
        ),
        net.first.register_load_state_dict_pre_hook(renames),
        net.first.register_load_state_dict_post_hook(lambda module, keys: log.append(("loaded", keys))),
    ]
    state = net.state_dict()
    assert "first.old_weight" in state
    net.load_state_dict(state)
    assert log == [
        ("pre", "first.", False),
        ("load", "first.", {"version": 1}, True, ([], [], [])),
        ("loaded", ([], [])),
    ]
    assert "first.old_weight" in state
    for handle in handles:
        handle.remove()
    assert "first.weight" in net.state_dict()
    net.register_state_dict_post_hook(lambda *args: 3)
    with pytest.raises(RuntimeError, match="Net: a state_dict post-hook must return None"):
        net.state_dict()


def test_a_module_may_save_its_own_way() -> None:
    class Own(Scale):
        def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
            destination[f"{prefix}all"] = self.weight.detach() * 2

    assert list(nn.Sequential(Own(1.0)).state_dict()) == ["0.all"]


def test_as_in_pytorch() -> None:
    torch = pytest.importorskip("torch")

    class TorchScale(torch.nn.Module):  # type: ignore[name-defined, misc]  # whether PyTorch is installed or not
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("steps", torch.zeros(1), persistent=False)
            self.register_buffer("mean", torch.zeros(1))
            self.register_parameter("bias", None)
            self.weight = torch.nn.Parameter(torch.ones(1))

    class HereScale(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("steps", dk.zeros(1), persistent=False)
            self.register_buffer("mean", dk.zeros(1))
            self.register_parameter("bias", None)
            self.weight = nn.Parameter(dk.ones(1))

    def outcome(lib: Any, scale: Any, ones: Any, state: Any, **options: Any) -> Any:
        model = lib.Sequential(OrderedDict(one=scale(), two=lib.ModuleList([scale(), scale()])))
        model.two[1].weight = model.one.weight
        try:
            keys = model.load_state_dict({name: ones(shape) for name, shape in state.items()}, **options)
        except RuntimeError as error:
            return [sorted(re.findall('"[^"]*"', line)) for line in str(error).split("\n")[1:3]]
        return [list(model.state_dict()), keys.missing_keys, sorted(keys.unexpected_keys)]

    full = dict.fromkeys(["one.mean", "one.weight", "two.0.mean", "two.0.weight", "two.1.mean", "two.1.weight"], (1,))
    cases: list[tuple[Any, Any]] = [
        (full, {}),
        ({**full, "one.bias": (1,), "three": (1,)}, {}),
        ({**full, "one.bias": (1,), "three": (1,)}, {"strict": False}),
        ({"two.0.mean": (1,)}, {"strict": False}),
        ({"two.0.mean": (1,)}, {}),
    ]
    for state, options in cases:
        expected = outcome(torch.nn, TorchScale, torch.ones, state, **options)
        assert outcome(nn, HereScale, dk.ones, state, **options) == expected


def test_a_deep_copy_loads_what_the_original_saved() -> None:
    net = Net()
    state = copy.deepcopy(net.state_dict())
    net.gain.data.fill_(3.0)
    assert state["gain"].item() == 1.0
    net.load_state_dict(state)
    assert net.gain.item() == 1.0


class Renamed(nn.Module):
    """A module whose older states have another name for its weight."""

    _version = 2

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(dk.ones(2))
        self.child = nn.Linear(1, 1)
        self.seen: list[Any] = []

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, *others: Any) -> None:
        self.seen.append((prefix, local_metadata.get("version"), sorted(state_dict)))
        if local_metadata.get("version", 1) < 2:
            state_dict[f"{prefix}weight"] = state_dict.pop(f"{prefix}w")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *others)


def test_a_module_may_load_its_own_older_states() -> None:
    model = nn.Sequential(nn.ReLU(), Renamed())
    older = {"1.w": dk.zeros(2), "1.child.weight": dk.ones((1, 1)), "1.child.bias": dk.ones(1)}
    assert str(model.load_state_dict(older)) == "<All keys matched successfully>"
    assert model[1].weight.tolist() == [0.0, 0.0]
    assert sorted(older) == ["1.child.bias", "1.child.weight", "1.w"]
    model.load_state_dict(model.state_dict())
    names = ["1.child.bias", "1.child.weight"]
    assert model[1].seen == [("1.", None, [*names, "1.w"]), ("1.", 2, [*names, "1.weight"])]
    with pytest.raises(StateDictError, match=r'Unexpected key\(s\) in state_dict: "1\.more"'):
        model.load_state_dict({**older, "1.more": dk.ones(1)})


def test_nothing_is_changed_where_a_module_that_loads_by_itself_is_followed_by_a_refusal() -> None:
    model = nn.Sequential(Renamed(), nn.Linear(1, 1))
    state = model.state_dict()
    state["0.weight"], state["1.weight"] = dk.zeros(2), dk.ones((3, 3))
    with pytest.raises(StateDictError, match=r"size mismatch for 1\.weight"):
        model.load_state_dict(state)
    assert model[0].weight.tolist() == [1.0, 1.0]


def test_what_a_module_reads_by_itself_is_neither_missing_nor_unexpected() -> None:
    class Own(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(dk.ones(2))

        def _load_from_state_dict(
            self, state_dict: Any, prefix: str, metadata: Any, strict: Any, missing: Any, *others: Any
        ) -> None:
            if f"{prefix}all" in state_dict:
                self.weight.data = state_dict[f"{prefix}all"]
            else:
                missing.append(f"{prefix}all")

    model = nn.Sequential(Own())
    model.load_state_dict({"0.all": dk.zeros(3)})
    assert model[0].weight.tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(StateDictError, match=r'Missing key\(s\) in state_dict: "0\.all"'):
        model.load_state_dict({})


def test_one_module_can_be_loaded_alone() -> None:
    layer = nn.Linear(2, 1)
    lists: tuple[list[str], ...] = ([], [], [])
    state = {"a.weight": dk.zeros((1, 2)), "a.more": dk.ones(1), "b": dk.ones(1)}
    layer._load_from_state_dict(state, "a.", {}, True, *lists)
    assert lists == (["a.bias"], ["a.more"], [])
    assert layer.weight.tolist() == [[0.0, 0.0]]
    layer._load_from_state_dict({"weight": dk.zeros(3)}, "", {}, False, *lists)
    assert lists[:2] == (["a.bias"], ["a.more"])
    assert lists[2][0].startswith("size mismatch for weight")


@pytest.mark.parametrize("make", [nn.BatchNorm2d, lambda n: nn.InstanceNorm2d(n, track_running_stats=True)])
def test_states_without_a_count_of_batches_are_older_ones(make: Any) -> None:
    layer = make(2)
    layer.num_batches_tracked.fill_(3)
    state = layer.state_dict()
    del state["num_batches_tracked"]
    with pytest.raises(StateDictError, match=r'Missing key\(s\) in state_dict: "num_batches_tracked"'):
        layer.load_state_dict(state)
    layer.load_state_dict(dict(state))  # which has no version beside it
    assert int(layer.num_batches_tracked) == 3
    state._metadata[""]["version"] = 1
    layer.load_state_dict(state)


def test_hooks_after_loading_decide_which_names_may_be_missing() -> None:
    model = nn.Sequential(nn.Linear(1, 1))
    seen: list[Any] = []

    def allow(module: Any, keys: Any) -> None:
        seen.append((module.weight.item(), [*keys.missing_keys], [*keys.unexpected_keys]))
        keys.missing_keys.clear()

    model[0].register_load_state_dict_post_hook(allow)
    model.load_state_dict({"0.weight": dk.ones((1, 1))})
    assert seen == [(1.0, ["0.bias"], [])]
    with pytest.raises(StateDictError, match=r'state_dict: "more"'):
        model.load_state_dict({"0.weight": dk.ones((1, 1)), "more": dk.ones(1)})
    with pytest.raises(StateDictError, match="size mismatch"):
        model.load_state_dict({"0.weight": dk.ones(3), "0.bias": dk.zeros(1)})
    assert len(seen) == 2


def test_hooks_of_older_programs_may_give_another_dictionary() -> None:
    model = nn.Sequential(nn.Linear(1, 1))
    model[0]._register_state_dict_hook(lambda module, state, prefix, metadata: {})
    assert list(model.state_dict()) == ["0.weight", "0.bias"]
    handle = model._register_state_dict_hook(lambda module, state, prefix, metadata: {"all": len(state)})
    assert model.state_dict() == {"all": 2}
    handle.remove()
    assert len(model.state_dict()) == 2
