"""The compiled core: that it is used where it is installed, and what keeps it from being used."""

from __future__ import annotations

import ast
import gc
import inspect
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit import accelerator
from dispatchkit.declare.operation import DeclaredOperation

ROOT = Path(__file__).parents[1]
MODULE = "dispatchkit.graph.sweep"
SHOW = f"""
import sys, dispatchkit as dk
print(dk.show_config('dicts')['accelerator'], sys.modules['{MODULE}'].__spec__.origin.rpartition('.')[2], sep='|')
x = dk.ones(2, requires_grad=True)
(x * x).sum().backward()
assert x.grad.tolist() == [2.0, 2.0]
"""
CALLS = int(os.environ.get("DISPATCHKIT_CALLS", "12000"))
installed = pytest.mark.skipif(find_spec(accelerator.NAME) is None, reason="the accelerator is not installed")


def run(folder: Path = ROOT, pure: str = "") -> tuple[str, str]:
    """Return what an interpreter prints of its accelerator, and what it warns of, with modules of a folder first."""
    paths = os.pathsep.join([str(folder), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": paths, accelerator.PURE: pure}
    done = subprocess.run([sys.executable, "-c", SHOW], check=True, capture_output=True, text=True, env=environment)
    return done.stdout.strip(), done.stderr


def pretend(folder: Path, refusal: str) -> Path:
    """Make another accelerator in a folder, which is found first."""
    package = folder / accelerator.NAME
    package.mkdir()
    (package / "__init__.py").write_text(f"def install(folder, version):\n    return {refusal!r}\n")
    return folder


@installed
def test_it_is_used_where_it_is_installed() -> None:
    shown, warned = run()
    assert shown.startswith(f"{dk.__version__}|")
    assert not shown.endswith("|py")
    assert warned == ""


@pytest.mark.parametrize("value", ["1", "yes"])
def test_a_variable_switches_it_off(value: str) -> None:
    assert run(pure=value) == ("switched off by DISPATCHKIT_PURE|py", "")


@installed
def test_another_version_is_refused_with_a_sentence() -> None:
    refusal = import_module(accelerator.NAME).install(str(ROOT / "dispatchkit"), "9.0")
    assert refusal == f"it is of version {dk.__version__}; run pip install dispatchkit-accelerator==9.0"


def test_one_that_cannot_be_used_is_refused_with_its_reason(tmp_path: Path) -> None:
    shown, warned = run(pretend(tmp_path, "it was built for another Python"))
    assert shown == "refused: it was built for another Python|py"
    assert "runs without its accelerator: it was built for another Python" in warned


def test_without_one_python_runs(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules[{accelerator.NAME!r}] = None\n")
    assert run(tmp_path) == ("not installed|py", "")


@installed
def test_what_was_built_from_other_sources_is_refused(tmp_path: Path) -> None:
    refusal = import_module(accelerator.NAME).install(str(tmp_path), dk.__version__)
    assert refusal.startswith("dispatchkit.declare.derivative is not as it was when the accelerator was built; build")


@installed
def test_what_was_built_for_another_python_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module(accelerator.NAME)
    monkeypatch.setattr(module, "EXTENSION_SUFFIXES", [".cpython-310-other.so"])
    assert module.install(str(ROOT / "dispatchkit"), dk.__version__).startswith(
        "it was built for another Python than 3."
    )


@installed
def test_one_without_a_module_for_this_python_is_refused(tmp_path: Path) -> None:
    source = Path(import_module(accelerator.NAME).__file__ or "").parent
    shutil.copytree(source, tmp_path / accelerator.NAME, ignore=shutil.ignore_patterns("_entry.*", "__pycache__"))
    shown, warned = run(tmp_path)
    assert shown.startswith("refused: it was built for another Python than 3.")
    assert "runs without its accelerator" in warned


def test_builds_of_python_without_the_global_lock_have_none() -> None:
    program = (
        "import runpy, sysconfig; known = sysconfig.get_config_var; "
        "sysconfig.get_config_var = lambda name: name == 'Py_GIL_DISABLED' or known(name); "
        "runpy.run_path('accelerator/setup.py')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        "dispatchkit-accelerator is not for free-threaded builds of Python: dispatchkit runs without it\n"
    )


def test_the_configuration_names_what_runs(capsys: pytest.CaptureFixture[str]) -> None:
    shown = dk.show_config("dicts")
    assert shown["dispatchkit"] == dk.__version__
    assert shown["accelerator"] == accelerator.state
    assert shown["engine"] == "numpy"
    dk.show_config()
    assert capsys.readouterr().out.splitlines() == [f"{name}: {value}" for name, value in shown.items()]


def test_another_mode_of_the_configuration_is_refused() -> None:
    with pytest.raises(ValueError, match="show_config: mode must be 'stdout' or 'dicts', found 'json'"):
        dk.show_config("json")


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def parts_of(function: ast.AST) -> Iterator[ast.AST]:
    """Yield what stands in a function; of functions inside of it, what makes them alone."""
    for part in ast.iter_child_nodes(function):
        yield part
        if not isinstance(part, FUNCTIONS):
            yield from parts_of(part)


@installed
def test_modules_are_compiled_that_do_the_same_then() -> None:
    for name in import_module(accelerator.NAME).MODULES:
        tree = ast.parse(Path(ROOT, *name.split(".")).with_suffix(".py").read_text(encoding="utf-8"))
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        # An error is raised again with the frames that it was caught with.
        assert names.isdisjoint({"hide_frames", "hides_frames"}), name
        # Compiled functions have no frames to be counted.
        assert "stacklevel" not in {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword)}, name
        for function in ast.walk(tree):
            kinds = {type(part) for part in parts_of(function)}
            if isinstance(function, FUNCTIONS) and kinds & {ast.Yield, ast.YieldFrom}:
                # A generator holds its names, and a function among them holds the generator.
                assert kinds.isdisjoint(FUNCTIONS), f"{name}, line {function.lineno}"


@installed
def test_what_compiled_modules_compile_is_of_the_library() -> None:
    program = """
import dispatchkit as dk
from dispatchkit.protocol.frames import caller_frame
@dk.operation
def doubled(xp, x: dk.Tensor, /): return x * 2
@doubled.def_vjp
def rule(g):
    print(caller_frame(1).f_code.co_name)
    return g
def main():
    x = dk.tensor([1.0], requires_grad=True)
    doubled(x).sum().backward()
main()
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout == "main\n"


ROWS = np.asarray([1, 0])
LENGTHS = dk.types.QuantityTensor([1.0, 2.0], "m")


@pytest.fixture
def tensors() -> tuple[dk.Tensor, dk.Tensor, dk.Tensor]:
    """Return two plain tensors, and one that gradients flow to."""
    return dk.asarray([1.0, 2.0]), dk.asarray([3.0, 4.0]), dk.tensor([1.0, 2.0], requires_grad=True)


def calls(a: Any, b: Any, x: Any) -> list[Callable[[], Any]]:
    """Return calls that the compiled entry point computes, or leaves to Python."""
    z = dk.asarray(2.0)
    plain = [lambda: a + b, lambda: a * 2.0, lambda: a * 2, lambda: -a, lambda: z + z, lambda: a == b, lambda: 2.0 - a]
    table = dk.asarray([[1.0, 2.0], [3.0, 4.0]])
    indexed = [lambda: a[0], lambda: a[::2], lambda: table[1, 0], lambda: a[a > 1.0], lambda: a[ROWS], lambda: x[0]]
    written = [lambda: dk.setitem(table, 0, 5.0), lambda: dk.setitem(table, (0, 1), 2), lambda: table.T]
    rest = [lambda: x * a, lambda: x / 3.0, lambda: dk.exp(a), lambda: dk.add(a, x), lambda: a % b]
    return [*plain, *rest, *indexed, *written, lambda: table.reshape(4), lambda: dk.sum(table), lambda: LENGTHS[1:]]


@installed
def test_functions_stay_what_they_are(tensors: tuple[Any, Any, Any]) -> None:
    for call in calls(*tensors) * 2:
        call()
    add: Any = dk.Tensor.__add__
    assert ("_plan" in add.__globals__) is (accelerator.core is not None)
    assert all(map(inspect.isfunction, (add, dk.add, dk.exp)))
    assert pickle.loads(pickle.dumps(dk.add)) is dk.add
    assert list(inspect.signature(dk.add).parameters) == ["x1", "x2"]


def test_what_calls_take_is_let_go(tensors: tuple[Any, Any, Any]) -> None:
    rows = calls(*tensors)
    watched = [*tensors, *(tensor.array for tensor in tensors), tensors[2]._node, dk.Tensor, np.add]

    def run(times: int) -> list[int]:
        for _ in range(times):
            for call in rows:
                call()
        gc.collect()
        return [*map(sys.getrefcount, watched)]

    run(10)
    assert run(CALLS // len(rows)) == run(10)


def test_results_are_as_python_computes_them(tensors: tuple[Any, Any, Any]) -> None:
    a, b, x = tensors
    shown = dk.asarray([1.0, 2.0, 3.0])[:2]
    for y in (a + b, a * 2, 2.0 - a, shown + b, dk.asarray(2.0) + dk.asarray(3.0)):
        assert type(y) is dk.Tensor
        assert type(y.array) is np.ndarray
        assert (y._node, y._memory, y.grad) == (None, None, None)
    with dk.no_grad():
        assert not (x * a).requires_grad
    assert repr((x * 2.0).grad_fn) == "<MultiplyBackward>"
    with pytest.raises(ValueError, match=r"dispatchkit\.add: .*\n  called with x1 = float64 array of shape \(2,\)"):
        a + dk.asarray([1.0, 2.0, 3.0])
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        a / dk.asarray([0.0, 1.0])
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert (a / 0.0).tolist() == [np.inf, np.inf]
    with pytest.raises(OverflowError, match=r"dispatchkit\.add: .*300"):
        dk.asarray([1], dtype=dk.int8) + 300


def test_elements_are_read_and_written_as_by_python(tensors: tuple[Any, Any, Any]) -> None:
    a, _, x = tensors
    part, one = a[1:], a[0]
    assert (part.shape, one.shape, type(one.array)) == ((1,), (), np.ndarray)
    a[0] = 5.0
    part[0] = 7
    assert (a.tolist(), one.item()) == ([5.0, 7.0], 5.0)
    assert x[0].requires_grad
    assert a[np.asarray([1, 0])].tolist() == a[dk.asarray([1, 0])].tolist() == [7.0, 5.0]
    with pytest.raises(IndexError, match=r"dispatchkit\.getitem: .*out of bounds"):
        a[5]
    with pytest.raises(ValueError, match="setitem: a value of shape"):
        a[:] = np.zeros(3)
    assert a.tolist() == [5.0, 7.0]


def test_a_change_of_a_part_is_seen_by_what_was_recorded_of_the_whole(tensors: tuple[Any, Any, Any]) -> None:
    a, _, x = tensors
    a[0] = 1.0
    loss = (x * a).sum()
    a[1:][0] = 3.0
    with pytest.raises(RuntimeError, match="changed by an in-place operation"):
        loss.backward()


def test_rules_for_an_index_are_asked_and_their_declines_go_on(tensors: tuple[Any, Any, Any]) -> None:
    class Told(dk.Tensor):
        """Hears of what its parts come from."""

        def __tensor_finalize__(self, op: Any, sources: tuple[Any, ...]) -> None:
            self.told = (op, sources)

    told = Told([1.0, 2.0])
    assert told[1:].told == (dk.getitem, (told,))
    with dk.local_registrations():
        dk.implements(dk.getitem, Told)(lambda x, key, /: "a rule" if key == 1 else dk.decline("other"))
        assert dk.getitem(told, 1) == "a rule"
        assert type(told[0]) is Told
    assert type(told[1]) is Told


def test_modes_subclasses_and_kernels_that_come_later_are_asked(tensors: tuple[Any, Any, Any]) -> None:
    a, b, x = tensors

    class Says(dk.TensorFunctionMode):
        def __tensor_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return "mode"

    class Sub(dk.Tensor):
        """Adds nothing."""

    for call in calls(a, b, x):
        call()
    with Says():
        assert [call() for call in calls(a, b, x)[:4]] == ["mode"] * 4
    with dk.report.record_calls() as record:
        a * 2.0
    assert [call.name for call in record.calls] == ["multiply"]
    assert type(Sub([1.0]) * 2.0) is type(Sub([1.0]) + dk.asarray(1.0)) is Sub
    operation: Any = dk.tensor_protocol.operation(dk.multiply)
    try:
        dk.multiply.def_kernel("numpy")(lambda x1, x2, /: np.full(2, -1.0))
        assert (a * b).tolist() == (a * 2.0).tolist() == [-1.0, -1.0]
    finally:
        del operation.implementation.kernels["numpy"]
        operation.implementation.choose_again()
        operation.rules_changed()
    assert (a * b).tolist() == [3.0, 8.0]
    assert (a * 2.0).tolist() == [2.0, 4.0]


class Box:
    """Holds a number; `to_dense` makes an array of it."""

    def __init__(self, value: float) -> None:
        self.value = value

    def to_dense(self) -> Any:
        return dk.asarray([self.value])


@pytest.fixture
def boxes() -> Iterator[list[Any]]:
    """Return where each call of a rule is noted, of operations of one array and of two."""
    noted: list[Any] = []
    with dk.local_registrations():
        dk.array_type(fallback=dk.fallback.dense)(Box)

        @dk.implements(dk.add)
        def add_boxes(x1: Box, x2: Box, /) -> Any:
            noted.append((x1.value, x2.value))
            if x2.value < 0:
                return NotImplemented
            if x2.value == 0:
                raise ValueError(f"{x1.value} and nothing")
            return Box(x1.value + x2.value)

        @dk.implements(dk.exp)
        def exp_box(x: Box, /) -> Any:
            return x.to_dense() * 2

        @dk.implements(dk.mean)
        def mean_box(x: Box, /, *, axis: Any = None, keepdims: bool = False) -> Any:
            return (x.value, axis)

        yield noted


def test_rules_are_called_once_and_what_they_decline_goes_on(boxes: list[Any]) -> None:
    one, two = Box(1.0), Box(2.0)
    for _ in range(3):
        assert dk.add(one, two).value == (one + two).value == 3.0  # type: ignore[operator]
        assert dk.mean(one) == (1.0, None)
        assert dk.mean(one, axis=0) == (1.0, 0)
    assert boxes == [(1.0, 2.0)] * 6
    boxes.clear()
    with pytest.warns(dk.DensifyWarning, match=r"add.*Box"):
        assert dk.add(one, Box(-2.0)).tolist() == [-1.0]
    assert boxes == [(1.0, -2.0)]


def test_errors_of_rules_come_out_without_frames_of_the_library(boxes: list[Any]) -> None:
    dk.add(Box(1.0), Box(2.0))
    for call in (lambda: dk.add(Box(1.0), Box(0.0)), lambda: [*map(dk.add, [Box(1.0)], [Box(0.0)])]):
        boxes.clear()
        with pytest.raises(ValueError, match="and nothing") as caught:
            call()
        assert len(boxes) == 1
        assert {entry.path for entry in caught.traceback} == {Path(__file__)}
    with pytest.raises(TypeError, match="unexpected keyword"):
        dk.add(Box(1.0), Box(2.0), alpha=2)  # type: ignore[call-arg]


def test_an_array_that_a_rule_makes_dense_is_counted_for_the_operation(boxes: list[Any]) -> None:
    call: Callable[[], Any]
    for call in (lambda: dk.exp(Box(1.0)), lambda: next(map(dk.exp, [Box(1.0)]))):
        for _ in range(2):
            with (
                dk.densify(on="error"),
                pytest.raises(dk.DensifyError, match=r"'dispatchkit\.exp' would make Box dense"),
            ):
                call()
    # Of a program, not of an operation.
    with dk.densify(on="error"):
        assert Box(1.0).to_dense().tolist() == [1.0]


def test_a_rule_that_takes_the_place_of_another_is_called_from_then_on(boxes: list[Any]) -> None:
    one = Box(1.0)
    assert dk.mean(one) == (1.0, None)
    with dk.local_registrations():

        @dk.implements(dk.mean)
        def another_mean(x: Box, /, *, axis: Any = None, keepdims: bool = False) -> Any:
            return "another"

        assert dk.mean(one) == "another"
    assert dk.mean(one) == (1.0, None)

    class Says(dk.TensorFunctionMode):
        def __tensor_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return "mode"

    with Says():
        assert dk.mean(one) == dk.add(one, one) == "mode"


def values(size: int, dtype: Any) -> np.ndarray[Any, Any]:
    """Return numbers of which some are not ordinary, where there is room for them."""
    numbers = np.random.default_rng(size).normal(scale=3.0, size=size).astype(dtype)
    odd = [0.0, -0.0, np.inf, -np.inf, np.nan, np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max]
    if size > 20:
        numbers[: len(odd)] = odd
    return numbers


def outcome(call: Callable[[], Any]) -> tuple[Any, ...]:
    """Return dtype, shape and bytes of what a call gives, or what NumPy says of its values."""
    try:
        with np.errstate(all="raise"):
            result = call()
    except FloatingPointError as error:
        return tuple(word for word in ("divide", "overflow", "underflow", "invalid") if word in str(error))
    array = np.asarray(result.array if isinstance(result, dk.Tensor) else result)
    return array.dtype, array.shape, array.tobytes()


ARITHMETIC = [
    operation
    for operation in dk.tensor_protocol.operations.values()
    if isinstance(operation, DeclaredOperation)
    and operation.implementation.arrays_only
    and type(operation.implementation.kernel) is np.ufunc
    and operation.implementation.kernel.signature is None
]


@pytest.mark.parametrize("operation", ARITHMETIC, ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_results_have_the_bits_of_numpys(operation: Any, dtype: Any) -> None:
    kernel = operation.implementation.kernel
    for shape in [(), (0,), (1,), (7,), (30,), (4, 3), (30, 30)]:
        if dtype is np.int64:
            arrays = [np.arange(2, 2 + np.prod(shape, dtype=int)).reshape(shape), np.full(shape, 3)]
        else:
            arrays = [values(int(np.prod(shape)), dtype).reshape(shape) for _ in range(2)]
            arrays[1] = np.array(arrays[1][..., ::-1] if shape else arrays[1])
        arrays = arrays[: kernel.nin]
        try:
            outcome(lambda arrays=arrays: kernel(*arrays))  # type: ignore[misc]
        except TypeError:
            return  # as of bits of floats
        for given in (arrays, [array.T for array in arrays]):
            tensors = [dk.asarray(array) for array in given]
            for _ in range(2):  # the first call compiles the function
                wanted = outcome(lambda given=given: kernel(*given))  # type: ignore[misc]
                assert outcome(lambda tensors=tensors: operation.function(*tensors)) == wanted  # type: ignore[misc]


@pytest.mark.parametrize("function", [np.add, np.maximum, np.minimum, np.multiply])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_reductions_have_the_bits_of_numpys(function: np.ufunc, dtype: Any) -> None:
    reduce, shapes = (
        accelerator.reduction_of(function),
        [(), (0, 2), (1,), (7,), (300,), (4, 3), (3, 1), (2, 3, 4), (70, 7)],
    )
    for shape in shapes:
        size = int(np.prod(shape))
        numbers = np.arange(size) if dtype is np.int64 else values(size, dtype)
        for array in (numbers.reshape(shape), numbers.reshape(shape).T, -np.zeros(shape, dtype), numbers[:0]):
            for axis in (None, *range(-array.ndim, array.ndim), 5, True):
                for keeps in (False, True):
                    given = array, axis, None, None, keeps
                    assert reduced(reduce, *given) == reduced(function.reduce, *given)
            assert reduced(reduce, array, dtype=np.float64) == reduced(function.reduce, array, dtype=np.float64)
    out = np.empty(())
    assert reduce(np.ones((2, 3)), None, None, out) is out
    assert out == function.reduce(np.ones(6))


def reduced(reduce: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """Return type, dtype, shape and bytes of what a reduction gives, or the error of one without a result."""
    try:
        with np.errstate(all="ignore"):
            y = reduce(*args, **kwargs)
    except (TypeError, ValueError) as error:
        return type(error), str(error)
    return type(y), y.dtype, y.shape, y.tobytes()


def test_a_sum_that_overflows_warns_as_numpys() -> None:
    x = dk.asarray([1e308, 1e308])
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert dk.sum(x).item() == np.inf


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("number", [2.0, 0.1, 3, -1, 2**60 + 1, float("inf"), float("nan"), 1e-300, True])
def test_numbers_beside_tensors_have_the_bits_of_numpys(dtype: Any, number: Any) -> None:
    for array in (values(5, dtype), values(30, dtype), values(30, dtype)[::2], np.array(2.0, dtype)):
        a = dk.asarray(array)
        for call in (
            lambda x: x + number,
            lambda x: number - x,
            lambda x: x / number,
            lambda x: x == number,
            lambda x: x < number,
            lambda x: x % number,
        ):
            for _ in range(2):
                assert outcome(lambda a=a, call=call: call(a)) == outcome(  # type: ignore[misc]
                    lambda array=array, call=call: call(array)  # type: ignore[misc]
                )


def test_metadata_of_dtypes_comes_out_as_of_numpys_function() -> None:
    array = np.ones(3, np.dtype(float, metadata={"unit": "m"}))
    a = dk.asarray(array)
    for _ in range(2):
        assert (a + a).array.dtype.metadata == (array + array).dtype.metadata
        assert dk.exp(a).array.dtype.metadata == np.exp(array).dtype.metadata


def test_numbers_that_no_float_holds_are_refused_as_by_numpy() -> None:
    a = dk.asarray([1.0, 2.0])
    for _ in range(2):
        with pytest.raises(OverflowError, match="too large"):
            a + 10**400


def test_the_graph_is_as_python_records_it() -> None:
    x: Any = dk.tensor([1.0, 2.0], requires_grad=True)
    y: Any = dk.tensor([3.0, 4.0], requires_grad=True)
    c: Any = dk.ones(2)
    for _ in range(2):
        node = (x * c)._node
        assert (node.saved, node.edges, node.output) == ((None, c), (x._node, None), None)
        assert (node.shape, node.dtype, node.extras) == ((2,), np.dtype(float), None)
        assert (x * y)._node.saved == (x, y)
        assert (2.0 * x)._node.edges == (None, x._node)
        z = dk.exp(x)
        assert z._node.output is z.array
        assert (x + y)._node.saved == (None, None)
        with dk.no_grad():
            assert (x * y)._node is None
            with dk.enable_grad():
                assert (x * y)._node is not None
    view = x[:]
    spoilt = view * y
    with dk.no_grad():
        view += 1.0
    with pytest.raises(dk.InplaceError, match="Multiply"):
        spoilt.sum().backward()


def test_what_rules_need_of_arguments_is_kept_as_by_python() -> None:
    x: Any = dk.asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    w: Any = dk.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    for _ in range(2):
        node = (x @ w)._node
        spec = node.saved[1]
        assert node.saved[0] is x
        assert (spec.shape, spec.dtype, spec.strides, spec.device) == ((2, 2), np.dtype(float), (16, 8), None)
        assert node.extras is None
        shared = x @ w.T
        assert shared._node.edges[1].name == "TBackward"
    with dk.no_grad():
        w += 1.0
        w.grad = None
    read = x[:1] @ w
    (read * w[0]).sum().backward()
    assert w.grad.tolist() == [[12.0, 16.0], [4.0, 6.0]]


def test_cotangents_arrive_as_by_python() -> None:
    x: Any = dk.tensor([1.0, 2.0], requires_grad=True)
    seen: list[Any] = []
    for _ in range(2):
        x.grad = None
        y = x * x
        z = dk.exp(y) + y * 3.0 + y  # arrive at one node by three ways
        z.retain_grad()
        y.register_hook(seen.append)
        z.sum().backward()
        assert np.allclose(x.grad.tolist(), [2 * (np.e + 4), 4 * (np.exp(4.0) + 4)])
        assert z.grad.tolist() == [1.0, 1.0]
    assert len(seen) == 2
    loss = (x * x).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    with pytest.raises(dk.AutogradError, match="was freed by an earlier backward pass"):
        loss.backward()
    row = dk.tensor([1.0, 2.0], requires_grad=True)
    (row * dk.ones((3, 2))).sum().backward()
    assert row.grad is not None
    assert row.grad.tolist() == [3.0, 3.0]
