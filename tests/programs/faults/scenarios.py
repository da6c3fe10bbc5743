"""What runs while errors are raised: modes, graphs, registrations and files."""

from __future__ import annotations

import copy
import pickle
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import dispatchkit as dk
from dispatchkit.as_torch.autograd import functional
from dispatchkit.autograd.graph import disable_saved_tensors_hooks, saved_tensors_hooks
from dispatchkit.protocol.densify import separate_ledger, without_bounds, without_warnings
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.types.declaration import ATTRIBUTE
from dispatchkit.types import DiagonalTensor, SparseTensor, TriangularTensor

__all__ = ["CONTEXTS", "MODES", "SCENARIOS", "SETTINGS", "Context", "Passing", "Scene"]

Context = Callable[[], AbstractContextManager[Any]]


def plain_hooks() -> AbstractContextManager[Any]:
    return saved_tensors_hooks(dk.clone, dk.clone)


class Passing(dk.TensorFunctionMode):
    pass


class Doubling(dk.TensorFunctionMode):
    def __tensor_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return func(*args, **kwargs) * 2 if func is dk.sin else dk.decline("not a sine")


SETTINGS: dict[str, Context] = {
    "record_calls": dk.record_calls,
    "no_grad": dk.no_grad,
    "enable_grad": dk.enable_grad,
    "set_grad_enabled": lambda: dk.set_grad_enabled(False),
    "densify": lambda: dk.densify(on="error"),
    "densify to a limit": lambda: dk.densify(limit="1MB"),
    "without_warnings": without_warnings,
    "unbounded": without_bounds,
    "separate_ledger": separate_ledger,
    "detect_anomaly": dk.autograd.detect_anomaly,
    "set_detect_anomaly": lambda: dk.autograd.set_detect_anomaly(True),
    "saved_tensors_hooks": plain_hooks,
    "disable_saved_tensors_hooks": lambda: disable_saved_tensors_hooks("none here"),
    "drawing_from": lambda: dk.random.drawing_from(dk.Generator(0)),
    "arrays_of": lambda: dk.arrays_of("numpy"),
    "local_registrations": dk.local_registrations,
}
MODES: dict[str, Context] = {"a mode": Passing, "disable_dispatch": dk.disable_dispatch}
CONTEXTS = {**SETTINGS, **MODES}


@dataclass
class Scene:
    """Something that is ready to run once.

    Attributes
    ----------
    run : what errors are raised in
    look : returns what an error may leave as it was or wholly changed, by name; each name is a whole
    undo : takes back what was made for it
    """

    run: Callable[[], object]
    look: Callable[[], dict[str, Any]] = dict
    undo: Callable[[], object] = field(default=lambda: None)


def in_block(make: Context) -> Callable[[], Scene]:
    def scene() -> Scene:
        x = dk.tensor([0.5, 2.0], requires_grad=True)

        def run() -> None:
            with make():
                dk.sin(x)

        return Scene(run)

    return scene


def nested_modes() -> Scene:
    x = dk.ones(2)

    def run() -> None:
        with Passing(), dk.record_calls(), Doubling():
            dk.sin(x)
            with dk.disable_dispatch(), dk.no_grad():
                dk.cos(x)
            dk.ones(3)

    return Scene(run)


def decorated_functions() -> Scene:
    @dk.no_grad()
    def steps() -> Any:
        yield dk.ones(2) * 2
        yield dk.ones(2) * 3

    @dk.set_grad_enabled(True)
    def step() -> Any:
        return dk.ones(2) * 2

    return Scene(lambda: (list(steps()), step()))


def modes_out_of_order() -> Scene:
    def run() -> None:
        outer, inner = Passing(), Passing()
        try:
            outer.__enter__()
            inner.__enter__()
            try:
                outer.__exit__(None, None, None)
            except dk.ModeError:
                pass
        finally:
            dk.reset_modes()

    return Scene(run, undo=dk.reset_modes)


# Graphs.


def numbers(x: Any) -> Any:
    return None if x is None else x.detach().numpy().tolist()


def backward(**options: Any) -> Callable[[], Scene]:
    def scene() -> Scene:
        x, y = dk.tensor([0.5, 2.0], requires_grad=True), dk.tensor([[1.0, 3.0]], requires_grad=True)
        (x * 1.0).sum().backward()
        before = x.grad
        assert before is not None

        def run() -> None:
            z = dk.sin(x * y) + x[:1]
            z.register_hook(lambda g: g * 2)
            z.retain_grad()
            x.register_post_accumulate_grad_hook(lambda leaf: None)
            (z * dk.stack([x, x]).sum(axis=0)).sum().backward(**options)

        # A leaf that was reached has its gradient, whatever becomes of the others. Where the gradient was changed in
        # place, its version says so; one that says so of a gradient that was not is refused where it need not be.
        def of_x() -> tuple[Any, bool]:
            changed = numbers(before) != [1.0, 1.0]
            return numbers(x.grad), not changed or before._version > 0

        return Scene(run, lambda: {"gradient of x": of_x(), "gradient of y": numbers(y.grad)})

    return scene


def transformed(make: Callable[[Any, Any], object]) -> Callable[[], Scene]:
    """Return a scene that transforms a function; tensors outside of it get no gradient."""

    def scene() -> Scene:
        x, w = dk.asarray([0.5, 2.0]), dk.tensor([1.0, 3.0], requires_grad=True)
        return Scene(lambda: make(x, w), lambda: {"gradient": numbers(w.grad), "node": w.grad_fn})

    return scene


def curved(x: Any) -> Any:
    return (dk.sin(x) * dk.exp(x)).sum()


def dropped(x: Any) -> Any:
    return (dk.nn.functional.dropout(x, 0.5) * x).sum()


def checkpointed() -> Scene:
    w = dk.tensor([1.0, 3.0], requires_grad=True)
    state = dk.random.current_generator().get_state()
    return Scene(
        lambda: dk.func.checkpoint(dropped)(w).backward(),
        lambda: {"gradient": w.grad is None or np.isfinite(w.grad.numpy()).all()},
        lambda: dk.random.current_generator().set_state(state),
    )


class Cube(dk.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 3 * x**2 * grads[0]


def function_of_users() -> Scene:
    w = dk.tensor([1.0, 3.0], requires_grad=True)

    def run() -> None:
        with plain_hooks():
            y = Cube.apply(w * 1)
        y.sum().backward()

    return Scene(run, lambda: {"gradient": numbers(w.grad)})


def changed_in_place(change: Callable[[Any, Any], object]) -> Callable[[], Scene]:
    """Return a scene that changes a tensor of a graph, whose value and derivative stay together."""

    def scene() -> Scene:
        w = dk.tensor([1.0, 3.0], requires_grad=True)
        x = w * 2
        view = x[:1]

        def look() -> dict[str, Any]:
            try:
                (slope,) = dk.autograd.grad((x * dk.asarray([1.0, 10.0])).sum() + view.sum(), w, retain_graph=True)
            except dk.InplaceError:
                return {"value and derivative": "an error says that the value was changed"}
            return {"value and derivative": (numbers(x), numbers(view), numbers(slope))}

        return Scene(lambda: change(x, view), look)

    return scene


def optimised() -> Scene:
    w = dk.nn.Parameter(dk.ones(2))
    optimizer = dk.optim.SGD([w], lr=0.1, momentum=0.9)

    def run() -> None:
        optimizer.zero_grad()
        (w * w).sum().backward()
        optimizer.step()

    return Scene(run, lambda: {"value": numbers(w)})


# Registrations.


def rules_of(*classes: type) -> list[str]:
    handlers = tensor_protocol.handlers  # not `rules()`, which sorts thousands by their lines
    rules = [rule for target in handlers._targets() for rule in handlers.of(target)]
    return sorted(f"{rule.target} {rule}" for rule in rules if not {*rule.types}.isdisjoint(classes))


# What a class has besides that somebody looked at it: its records, and what Python keeps of its annotations.
KEPT = {ATTRIBUTE, "__annotate_func__", "__annotations_cache__"}


def declared(*classes: type) -> dict[str, Any]:
    """Return everything that is registered for classes."""
    records = [tensor_protocol.types.records.find(cls) for cls in classes]
    return {
        "registered": (
            rules_of(*classes),
            [record and record.declaration for record in records],
            [[*map(str, (*record.owned, *record.conversions.values()))] if record else [] for record in records],
            [frozenset(vars(cls)) - KEPT for cls in classes],
            [tensor_protocol.surface._classes.get(cls) for cls in classes],
        )
    }


def new_class() -> type:
    class Scaled:
        def __init__(self, n: int, value: float) -> None:
            self.n, self.value = n, value

        def to_dense(self) -> Any:
            return self.value * dk.eye(self.n)

    return Scaled


def array_type() -> type:
    return dk.array_type(fallback=dk.fallback.dense)(new_class())


def new_type() -> Scene:
    cls = new_class()
    return Scene(lambda: dk.array_type(fallback=dk.fallback.dense, priority=1)(cls), lambda: declared(cls))


def foreign_type() -> Scene:
    cls = new_class()
    return Scene(lambda: dk.register_type(cls, fallback=dk.fallback.dense), lambda: declared(cls))


def new_rules(*targets: Any) -> Callable[[], Scene]:
    """Return a scene that registers a handler for two types, and calls it."""

    def scene() -> Scene:
        first, second = array_type(), array_type()

        def rule(x: Any, /) -> Any:
            return 1

        def rule_of_kind(op: Any, x: Any, /) -> Any:
            return 2

        rule.__annotations__ = rule_of_kind.__annotations__ = {"x": first | second}

        def run() -> None:
            for target in targets:
                dk.implements(target)(rule_of_kind if isinstance(target, type(dk.kinds.rounding)) else rule)

        def look() -> dict[str, Any]:
            # Each `implements` is a whole.
            return {
                f"rule for {t}": [r for r in rules_of(first, second) if str(getattr(t, "__name__", t)) in r]
                for t in targets
            }

        return Scene(
            run, lambda: {**look(), "owned": len(owned(first)) + len(owned(second)) == len(rules_of(first, second))}
        )

    return scene


def owned(cls: type) -> list[Any]:
    record = tensor_protocol.types.records.find(cls)
    return [] if record is None else list(record.owned)


def replaced_rule() -> Scene:
    cls, other = array_type(), array_type()

    def old(x1: Any, x2: Any, /) -> Any:
        return "old"

    def new(x1: Any, x2: Any, /) -> Any:
        return "new"

    dk.implements(dk.add, cls, other)(old)
    x, y = cls(2, 1.0), other(2, 1.0)
    assert x + y == "old"
    # The rules owned, the rules listed and the rule that answers are those of before, or of after.
    return Scene(
        lambda: dk.implements(dk.add, cls, other)(new),
        lambda: {"answer": (x + y, [str(rule) for rule in owned(other) + owned(cls)], rules_of(cls, other))},
    )


def conversion() -> Scene:
    cls = dk.array_type(fallback=dk.fallback.convert)(new_class())

    def dense_of(x: Any) -> Any:
        return dk.eye(x.n)

    dense_of.__annotations__ = {"x": cls, "return": dk.Tensor}
    return Scene(lambda: dk.converts()(dense_of), lambda: {"conversions": len(owned(cls))})


def overridable_function() -> Scene:
    def rescale(x: Any, factor: float = 2.0) -> Any:
        return x * factor

    before = set(tensor_protocol.operations)

    def undo() -> None:
        for name in set(tensor_protocol.operations) - before:
            tensor_protocol.operations.forget(tensor_protocol.operations[name])

    return Scene(
        lambda: dk.overridable(rescale), lambda: {"listed": len(set(tensor_protocol.operations) - before)}, undo
    )


def block_of_registrations() -> Scene:
    known = array_type()

    def old(x: Any, /) -> Any:
        return "old"

    dk.implements(dk.exp, known)(old)
    x, foreign = known(2, 1.0), new_class()

    def run() -> None:
        with dk.local_registrations():
            dk.implements(dk.exp, known)(lambda x, /: "new")
            dk.implements(dk.kinds.rounding, known)(lambda op, x, /: "rounded")
            dk.register_type(foreign, fallback=dk.fallback.dense)
            dk.converts()(annotated(lambda x: dk.eye(2), x=known, result=dk.Tensor))
            dk.exp(x)
            dk.floor(x)

    def look() -> dict[str, Any]:
        return {"answer": dk.exp(x), **declared(known, foreign)}

    return Scene(run, look)


def annotated(function: Any, x: type, result: type) -> Any:
    function.__annotations__ = {"x": x, "return": result}
    return function


def first_calls() -> Scene:
    """Return a scene of calls whose answers are decided for the first time."""
    cls = array_type()
    dk.implements(dk.mean, cls)(lambda x, /: x.value)
    x = cls(2, 3.0)

    def run() -> None:
        with dk.densify(on="allow"):
            for _ in range(2):
                x.mean(), x + 1.0, x @ dk.ones(2), dk.explain(dk.sum, x)

    def look() -> dict[str, Any]:
        with dk.densify(on="allow"):
            return {"answers": (x.mean(), numbers(x + 1.0), numbers(x @ dk.ones(2)), numbers(x.sum()))}

    return Scene(run, look)


# Files.

OLD, NEW = (
    {"weight": dk.ones(3), "epoch": 1},
    {"weight": dk.zeros(3), "sparse": [SparseTensor.coo([1.0], [0], [1], shape=(2, 2))]},
)


def saved_file(suffix: str, *, overwrite: bool) -> Callable[[], Scene]:
    def scene() -> Scene:
        folder = tempfile.TemporaryDirectory()
        path = Path(folder.name, f"state.{suffix}")
        if overwrite:
            dk.save(OLD, path)

        def look() -> dict[str, Any]:
            names = sorted(each.name for each in Path(folder.name).iterdir())
            return {"folder": (names, repr(dk.load(path)) if names else None)}

        return Scene(lambda: dk.save(NEW, path), look, folder.cleanup)

    return scene


def loaded_file() -> Callable[[], Scene]:
    def scene() -> Scene:
        folder = tempfile.TemporaryDirectory()
        path = Path(folder.name, "state.npz")
        dk.save(NEW, path)
        return Scene(lambda: dk.load(path), lambda: {"file": repr(dk.load(path))}, folder.cleanup)

    return scene


def loaded_state() -> Scene:
    model = dk.nn.Sequential(dk.nn.Linear(2, 3), dk.nn.BatchNorm1d(3), dk.nn.Linear(3, 1))
    state = {name: dk.ones(value.shape, dtype=value.dtype) for name, value in model.state_dict().items()}
    # Each tensor is a whole: what takes all of them back would be a second model in memory.
    return Scene(
        lambda: model.load_state_dict(state),
        lambda: {name: numbers(value) for name, value in model.state_dict().items()},
    )


def travelling() -> Scene:
    x = DiagonalTensor([1.0, 2.0]) @ TriangularTensor(dk.ones((2, 2)))
    return Scene(lambda: (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)))


SCENARIOS: dict[str, Callable[[], Scene]] = {
    # Those that set something when they are made are no whole here.
    **{f"a block of {name}": in_block(make) for name, make in CONTEXTS.items() if not name.startswith("set_")},
    "modes inside of modes": nested_modes,
    "decorated functions": decorated_functions,
    "modes that are left out of order": modes_out_of_order,
    "a backward pass": backward(),
    "a backward pass that keeps the graph": backward(retain_graph=True),
    "a backward pass that is recorded": backward(create_graph=True),
    "a gradient": transformed(lambda x, w: dk.func.grad(lambda x: curved(x * w))(x)),
    "a gradient of a gradient": transformed(lambda x, w: dk.func.grad(lambda x: dk.func.grad(curved)(x * w).sum())(x)),
    "a batch of gradients": transformed(
        lambda x, w: dk.autograd.grad(dk.sin(w) * x, w, dk.ones((3, 2)), is_grads_batched=True)
    ),
    "a Jacobian": transformed(lambda x, w: functional.jacobian(lambda w: dk.sin(w) * x, w.detach())),
    "a tangent": transformed(lambda x, w: dk.func.jvp(lambda x: curved(x * w), (x,), (x,))),
    "a batch": transformed(lambda x, w: dk.func.vmap(lambda x: dk.sin(x) * w)(x)),
    "a batch of random numbers": transformed(
        lambda x, w: dk.func.vmap(dropped, randomness="different")(dk.ones((2, 2)))
    ),
    "a Hessian": transformed(lambda x, w: dk.func.hessian(curved)(x)),
    "a checkpoint": checkpointed,
    "a function of users": function_of_users,
    "an addition in place": changed_in_place(lambda x, view: x.add_(1.0)),
    "a multiplication of a view in place": changed_in_place(lambda x, view: view.mul_(5.0)),
    "an assignment to elements": changed_in_place(lambda x, view: x.__setitem__(0, 7.0)),
    "an assignment of a tensor in the graph": changed_in_place(lambda x, view: x.__setitem__(slice(1), x[1:] * 3)),
    "a step of an optimiser": optimised,
    "a new type": new_type,
    "a type of another library": foreign_type,
    "a rule of two types": new_rules(dk.exp),
    "rules of a function and of a kind": new_rules(dk.exp, dk.kinds.rounding),
    "a rule in place of another": replaced_rule,
    "a conversion": conversion,
    "an overridable function": overridable_function,
    "a block of registrations": block_of_registrations,
    "first calls of a type": first_calls,
    "a new file": saved_file("npz", overwrite=False),
    "a file that is overwritten": saved_file("npz", overwrite=True),
    "a safetensors file that is overwritten": saved_file("safetensors", overwrite=True),
    "a file that is loaded": loaded_file(),
    "a state that is loaded into a module": loaded_state,
    "a pickle and a copy": travelling,
}
