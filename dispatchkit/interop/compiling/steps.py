"""`compile`: a step of training, with its backward pass and its optimiser, as one program."""

from __future__ import annotations

import functools
import linecache
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import is_
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import dtype_name, making_with, namespace_of, raw_array
from dispatchkit.declare.variables import is_array, items_of
from dispatchkit.declare.wrapping import wrap_array
from dispatchkit.errors import CompileError
from dispatchkit.graph.recording import is_grad_enabled
from dispatchkit.graph.storage import Storage
from dispatchkit.interop.compiling.backends import Backend, backend_named
from dispatchkit.nn import Module
from dispatchkit.nn.registered import TABLES
from dispatchkit.ops.random.generator import RandomDraw, replaying
from dispatchkit.optim import Optimizer
from dispatchkit.progress import announced
from dispatchkit.protocol.frames import PACKAGE
from dispatchkit.protocol.modes import current
from dispatchkit.protocol.observers import is_observed, live
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.gradients import gradient_of, keep_gradient
from dispatchkit.tree import leaves, leaves_with_paths, map_leaves


class State:
    """The state of a step as it is now.

    Parameters
    ----------
    owners : modules, optimisers, and containers of tensors; kept

    Attributes
    ----------
    programs : compiled for such a state, by the rest of a call
    tensors : those of the state, each once
    key : places, shapes and dtypes of the tensors, and all else that a program takes for constant
    groups : of the optimisers; their learning rates are arguments of a program
    shapes : of the arrays when they were last asked for
    """

    def __init__(self, owners: Sequence[Any]) -> None:
        self.owners = owners
        self.programs: dict[Any, Any] = {}
        self.tensors: list[Any] = []
        self.groups: list[dict[str, Any]] = []
        self._known: set[int] = set()
        self._places: list[Any] = []
        self._constants: list[Any] = []
        # Entries that are to be what they are, and containers that are to have as many, for the state to be the same.
        self._holders: list[dict[Any, Any]] = []
        self._names: list[Any] = []
        self._values: list[Any] = []
        self._containers: list[Any] = []
        self._sizes: list[int] = []
        # The arrays that `shapes` are of.
        self._seen: list[Any] = []
        self.shapes: tuple[Any, ...] = ()
        self._changing: list[Any] = []
        for number, owner in enumerate(owners):
            if isinstance(owner, Module):
                for name, module in owner.named_modules():
                    self._read_module((number, name), module)
            elif isinstance(owner, Optimizer):
                self._read_optimizer(number, owner)
            else:
                self._read_value((number,), owner)
        self.key = (tuple(self._places), tuple(self._constants), tuple(map(layout, self.tensors)))

    def _read_module(self, place: Any, module: Any) -> None:
        attributes = module.__dict__
        self._changing.append(attributes)
        for table in TABLES:  # which change where parameters, buffers or modules come or go
            self._read_size(attributes[table])
        self._read_entry((*place, "training"), attributes, "training")
        for name in (*module._parameter_names, *module._buffer_names):
            self._read_entry((*place, name), attributes, name)

    def _read_optimizer(self, number: int, optimizer: Any) -> None:
        self._changing.append(optimizer.state)
        for index, group in enumerate(optimizer.param_groups):
            self.groups.append(group)
            self._changing.append(group)
            self._read_size(group["params"])
            for option in group:
                if option not in ("params", "lr"):
                    self._read_entry((number, index, option), group, option)
            for place, p in enumerate(group["params"]):
                self._read_value((number, index, place), p)
                buffers = optimizer.state.get(p)
                self._expect(optimizer.state, p, buffers)
                if buffers is not None:
                    self._changing.append(buffers)
                    self._read_size(buffers)
                    for name in buffers:
                        self._read_entry((number, index, place, name), buffers, name)

    def _read_entry(self, place: Any, holder: Any, name: Any) -> None:
        self._expect(holder, name, holder[name])
        self._read_value(place, holder[name])

    def _expect(self, holder: dict[Any, Any], name: Any, value: Any) -> None:
        self._holders.append(holder)
        self._names.append(name)
        self._values.append(value)

    def _read_size(self, container: Any) -> None:
        self._containers.append(container)
        self._sizes.append(len(container))

    def _read_value(self, place: Any, value: Any) -> None:
        for path, leaf in leaves_with_paths(items_of, value):
            if isinstance(leaf, Storage):
                if id(leaf) not in self._known:
                    self._known.add(id(leaf))
                    self.tensors.append(leaf)
                    self._places.append((*place, *path))
            else:
                self._constants.append(((*place, *path), hashable(leaf)))

    def is_current(self) -> bool:
        """Return whether nothing but elements, gradients and learning rates is another than when the state was read."""
        # Once a call: neither a loop of Python's nor a method of a subclass, where the interpreter's own will do.
        values = map(dict.get, self._holders, self._names)
        return all(map(is_, values, self._values)) and list(map(len, self._containers)) == self._sizes

    def arrays(self) -> list[Any]:
        """Return those of the tensors, and note their shapes."""
        arrays = [tensor.array for tensor in self.tensors]
        if len(arrays) != len(self._seen) or not all(map(is_, arrays, self._seen)):
            self.note(arrays, tuple([tuple(tensor.shape) for tensor in arrays]))
        return arrays

    def note(self, arrays: list[Any], shapes: tuple[Any, ...]) -> None:
        """Note which shapes the arrays of the tensors have: JAX makes that of a new array when it is asked for."""
        self._seen, self.shapes = arrays, shapes

    @property
    def rates(self) -> list[float]:
        """The learning rates of the groups that have one."""
        return [float(group["lr"]) for group in self.groups if "lr" in group]

    def set_rates(self, rates: Sequence[Any]) -> None:
        """Give the groups that have a learning rate another one."""
        for group, rate in zip((group for group in self.groups if "lr" in group), rates, strict=True):
            group["lr"] = rate

    def continued_by(self, after: State) -> bool:
        """Return whether a step left this state with the tensors in the places where it found them.

        Raises
        ------
        CompileError : if it changed something that is no array
        """
        before, now = dict(self._constants), dict(after._constants)
        for place, value in before.items():
            if place in now and now[place] != value:
                raise CompileError(
                    f"the step changes {'.'.join(map(str, place[1:]))}, {value!r}, which is a constant of the program; "
                    f"keep it in a tensor"
                )
        return self._places == after._places and before == now

    @contextmanager
    def restored(self, *, always: bool = True) -> Iterator[None]:
        """Have everything as it was after a `with` block: arrays, gradients, attributes and what optimisers keep.

        Parameters
        ----------
        always : whether also without an error
        """
        held = [(holder, dict(holder)) for holder in self._changing]
        tensors = [(tensor, tensor.array, tensor._node, gradient_of(tensor)) for tensor in self.tensors]
        completed = False
        try:
            yield
            completed = True
        finally:
            if always or not completed:
                for holder, entries in held:
                    holder.clear()
                    holder.update(entries)
                for tensor, array, node, grad in tensors:
                    tensor.array, tensor._node = array, node
                    tensor.grad = grad


def layout(tensor: Any) -> Any:
    """Return what a program is compiled for; a number may move between libraries that have other dtypes."""
    array = tensor.array
    dtype = ""
    if array.ndim:
        dtype = dtype_name(array.dtype)
    return dtype, type(tensor), tensor.requires_grad


def hashable(value: Any) -> Any:
    """Return a constant of a program as a key: itself, or its text where it cannot be one."""
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value


Step = Callable[..., Any]
# Folders of the libraries whose lines are not the user's.
LIBRARIES = tuple(f"/{name}/" for name in ("jax", "jaxlib", "torch", "numpy", "array_api_compat", "contextlib.py"))


class Result:
    """Stands for an array in what a step returns.

    Parameters
    ----------
    index : among the arrays that the program gives
    cls : of the tensor
    """

    def __init__(self, index: int, cls: type) -> None:
        self.index, self.cls = index, cls


class StepProgram:
    """A step compiled for one layout of its state and arguments.

    Parameters
    ----------
    step, backend : to compile, and by what
    state : of the step, as it is at the first call
    given : the arguments, a pair of positional and keyword ones
    arrays : those among the arguments

    Attributes
    ----------
    keeps_layout : whether the step leaves its state with the tensors that it found; else nothing is compiled
    begun : the places of tensors that it adds to the state, where all of them are zeros that optimisers begin with
    """

    def __init__(self, step: Step, backend: Backend, state: State, given: Any, arrays: Sequence[Any]) -> None:
        self._step, self._backend, self._state, self._given = step, backend, state, given
        self._with_grad = [i for i, tensor in enumerate(state.tensors) if gradient_of(tensor) is not None]
        self._draws: list[RandomDraw] = []
        self._count = len(arrays)
        self.numpy = not any(
            not isinstance(array, np.ndarray) and array.ndim for array in (*map(raw, state.tensors), *arrays)
        )
        self._reads_gradients = self.keeps_layout = True
        self.begun: list[Any] = []
        self._changed: list[int] = []
        self._after: list[int] = []
        self._template: Any = None
        inputs = self._inputs(state, state.arrays(), arrays)
        read = self._trace_outputs(lambda: backend.trace(self._pure, inputs))
        if self.keeps_layout:
            self._reads_gradients = any(read[len(state.tensors) :][: len(self._with_grad)])
            for tensor in (*state.tensors, *(state.tensors[i].grad for i in self._with_grad)):
                if not isinstance(tensor.array, np.ndarray) or not (self.numpy or tensor.array.ndim):
                    tensor.array = backend.placed(backend.own(tensor.array), state.tensors[0].array)
            inputs = self._inputs(state, state.arrays(), arrays, drawn=[draw.like() for draw in self._draws])
            self._run = self._trace_outputs(lambda: backend.compile(self._pure, inputs))

    def _inputs(self, state: State, held: list[Any], arrays: Sequence[Any], drawn: Sequence[Any] = ()) -> list[Any]:
        """Return what goes into the program: state, gradients, learning rates, random numbers, arguments."""
        backend, tensors = self._backend, state.tensors
        grads = []
        if self._reads_gradients:
            grads = [gradient_of(tensors[i]).array for i in self._with_grad]
        rates = map(backend.rate, state.rates)
        inputs = [*held, *grads, *rates, *map(backend.from_numpy, drawn), *arrays]
        if backend.known.issuperset(map(type, inputs)):
            return inputs
        return list(map(backend.own, inputs))

    def _pure(self, *inputs: Any) -> list[Any]:
        """Run the step on arrays that stand for others, and return all that it made; nothing else is changed."""
        state, backend = self._state, self._backend
        rest = iter(inputs)

        def take(count: int) -> list[Any]:
            return [raw_array(next(rest)) for _ in range(count)]

        with state.restored():
            before = [backend.mutable(array) for array in take(len(state.tensors))]
            for tensor, array in zip(state.tensors, before, strict=True):
                tensor.array = array
                tensor.grad = None
            for i in self._with_grad:  # what stands for those that are not read is of their shape
                if self._reads_gradients:
                    array = backend.mutable(*take(1))
                else:
                    array = before[i]
                state.tensors[i].grad = wrap_array(Tensor, array)
            state.set_rates([wrap_array(Tensor, rate) for rate in take(len(state.rates))])
            drawn = None
            if self._draws:
                drawn = take(len(self._draws))
            draws = replaying(drawn)
            arguments = iter(take(self._count))
            args, kwargs = map_leaves(items_of, lambda leaf: put_in(leaf, arguments), self._given)
            with making_with(namespace_of((*before, *inputs)[0])), draws as drawn:
                result = self._step(*args, **kwargs)
            return self._outputs(before, result, drawn)

    def _outputs(self, before: Sequence[Any], result: Any, drawn: list[RandomDraw]) -> list[Any]:
        """Return the arrays that a step made: those of its result, of its state where they changed, and gradients."""
        state, out = self._state, []

        def named(leaf: Any) -> Any:
            if self._backend.is_unknown(leaf):
                raise CompileError("the step returns a Python number made of a tensor's value; return the tensor")
            if not is_array(leaf):
                return leaf
            out.append(raw(leaf))
            cls: type = Tensor
            if isinstance(leaf, Storage):
                cls = type(leaf)
            return Result(len(out) - 1, cls)

        self._template = map_leaves(items_of, named, result)
        after = State(state.owners)
        self.keeps_layout = state.continued_by(after)
        if not self.keeps_layout:
            optimizers = [owner for owner in state.owners if isinstance(owner, Optimizer)]
            begun = {id(x) for optimizer in optimizers for x in optimizer._take_begun()}
            new = zip(after._places, after.tensors, strict=True)
            places = {id(x): place for place, x in new if id(x) not in state._known}
            if places.keys() == begun:
                self.begun = [*places.values()]
            else:
                self.begun = []
            return []
        pairs = list(zip(before, map(raw, after.tensors), strict=True))
        self._changed = [i for i, (old, new) in enumerate(pairs) if new is not old or getattr(new, "_version", False)]
        self._shapes = tuple(tuple(new.shape) for _, new in pairs)
        self._after = [i for i, tensor in enumerate(after.tensors) if gradient_of(tensor) is not None]
        self._lost = sorted({*self._with_grad} - {*self._after})
        self._draws = drawn
        self._results = len(out)
        outputs = [*out, *(pairs[i][1] for i in self._changed), *(after.tensors[i].grad.array for i in self._after)]
        return list(map(self._backend.result, outputs))

    def _trace_outputs(self, trace: Callable[[], Any]) -> Any:
        """Return what a trace gives.

        Raises
        ------
        CompileError : naming the line, where a value was asked for that nobody knows yet
        """
        try:
            return trace()
        except CompileError:
            raise
        except Exception as error:
            if not self._backend.asks_for_values(error):
                raise
            problem = f"{user_line(error)} asks for the value of a tensor, which nobody knows while a step is compiled"
            advice = "use dispatchkit.where, or decide it outside of the step"
            if type(error).__name__ == "UnexpectedTracerError":
                problem = f"{user_line(error)} reads what an earlier trace of the step left behind"
                advice = "name in state= every module, optimiser and tensor that the step changes"
            raise CompileError(f"{problem}; {advice}") from None

    def __call__(self, state: State, held: list[Any], arrays: Sequence[Any]) -> Any:
        """Run the program on the arrays of the state and the arguments, and take over what it gives."""
        backend, tensors = self._backend, state.tensors
        results = self._run(*self._inputs(state, held, arrays, [draw.numbers() for draw in self._draws]))
        first = self._results
        grads = first + len(self._changed)
        backend.put([tensors[i] for i in self._changed], results[first:grads], self.numpy)
        state.note([tensor.array for tensor in tensors], self._shapes)
        if self.numpy:  # to the library of the state and the arguments
            results = list(map(backend.to_numpy, results))
        for i in self._lost:
            keep_gradient(tensors[i], None)
        for i, array in zip(self._after, results[grads:], strict=True):
            keep_gradient(tensors[i], wrap_array(Tensor, array))
        return self._result(results)

    def _result(self, made: Sequence[Any]) -> Any:
        """Return what the step returns, with arrays that the program gave."""
        template = self._template
        if type(template) is Result:
            return wrap_array(template.cls, made[template.index])

        def result(leaf: Any) -> Any:
            if type(leaf) is Result:
                return wrap_array(leaf.cls, made[leaf.index])
            return leaf

        return map_leaves(items_of, result, template)


def raw(leaf: Any) -> Any:
    """Return the array of a tensor, a raw array as it is."""
    if isinstance(leaf, Storage):
        return leaf.array
    return leaf


def outline_of(value: Any) -> Any:
    """Return the containers and constants of an argument, and the types of its arrays, as a key."""
    parts = items_of(value)
    if parts is None:
        if is_array(value):
            return type(value)
        return hashable(value)
    return type(value), *((key, outline_of(part)) for key, part in parts)


def put_in(leaf: Any, arrays: Any) -> Any:
    """Return an argument with the next array in the place of its own."""
    if not is_array(leaf):
        return leaf
    if not isinstance(leaf, Storage):
        return wrap_array(Tensor, next(arrays))
    tensor = wrap_array(type(leaf), next(arrays))
    if hasattr(leaf, "__dict__"):
        tensor.__dict__.update(leaf.__dict__)
    return tensor


def user_line(error: BaseException) -> str:
    """Return the innermost line of a traceback that is of no library, with file and number."""
    trace, innermost = error.__traceback__, None
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if not name.startswith(PACKAGE) and not any(part in name for part in LIBRARIES):
            innermost = trace
        trace = trace.tb_next
    if innermost is None:
        return "the step"
    name, number = innermost.tb_frame.f_code.co_filename, innermost.tb_lineno
    return f"line {number} of {name}, `{linecache.getline(name, number).strip()}`,"


class CompiledStep:
    """A step that runs as a program of another library; what `compile` gives.

    Parameters
    ----------
    step, state, backend, progress : as for `compile`
    """

    def __init__(self, step: Step, state: Sequence[Any], backend: str, progress: bool | None = None) -> None:
        functools.update_wrapper(self, step)
        self._step, self._owners, self._backend = step, tuple(state), backend_named(backend)
        # By the key of the state, then by that of the call.
        self._programs: dict[Any, dict[Any, StepProgram]] = {}
        self._state: State | None = None
        self._progress = progress

    def __repr__(self) -> str:
        return f"<{getattr(self._step, '__qualname__', self._step)} compiled by {self._backend.name}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the step: its program, which is made where there is none for such a state and such arguments."""
        if live and (current() is not None or is_observed() is not None):
            return self._step(*args, **kwargs)
        plain = not kwargs and all(type(tensor) is Tensor and tensor._node is None for tensor in args)
        operands = args if plain else list(leaves(items_of, (args, kwargs)))
        if not plain and any(isinstance(leaf, Storage) and leaf.is_tracer for leaf in operands):
            return self._step(*args, **kwargs)
        if plain:
            arrays = [tensor.array for tensor in args]
        else:
            arrays = self._arrays(operands)
        state = self._state
        if not plain or state is None or not state.is_current():
            state = self._current(() if plain else operands)
        outline = None
        if not plain:
            outline = outline_of((args, kwargs))
        layouts = [(array.shape, array.dtype) for array in arrays]
        held, without = state.arrays(), [gradient_of(tensor) is None for tensor in state.tensors]
        frozen = [tensor._node is None for tensor in state.tensors]
        key = (outline, *layouts, state.shapes, *without, *frozen, bool(is_grad_enabled()))
        program = state.programs.get(key)
        if program is None:
            with announced(f"compiling {getattr(self._step, '__qualname__', self._step)}", self._progress):
                program = StepProgram(self._step, self._backend, state, (args, kwargs), arrays)
            state.programs[key] = program
            held = state.arrays()
        if program.keeps_layout:
            return program(state, held, arrays)
        with state.restored(always=False):
            for number, group, place, name in program.begun:
                optimizer = state.owners[number]
                optimizer._begin(optimizer.param_groups[group]["params"][place], name)
            return (self if program.begun else self._step)(*args, **kwargs)

    def _arrays(self, found: Sequence[Any]) -> list[Any]:
        """Return the arrays among the arguments.

        Raises
        ------
        CompileError : if one requires a gradient
        """
        if any(isinstance(leaf, Storage) and leaf._node is not None for leaf in found):
            raise CompileError(
                "an argument requires a gradient; name it in state= if the step changes it or its gradient, else give "
                "x.detach()"
            )
        return [raw(leaf) for leaf in found if is_array(leaf)]

    def _current(self, found: Sequence[Any]) -> State:
        """Return the state of the step, with modules and optimisers among the arguments, read anew if it changed."""
        owners = self._owners
        if found:
            owners = (*owners, *(leaf for leaf in found if isinstance(leaf, (Module, Optimizer))))
        state = self._state
        same = state is not None and len(state.owners) == len(owners) and all(map(is_, state.owners, owners))
        if state is None or not same or not state.is_current():
            state = self._state = State(owners)
            state.programs = self._programs.setdefault(state.key, {})
        return state


def compile(  # the public name
    step: Step, *, state: Any = (), backend: str = "jax", progress: bool | None = None
) -> CompiledStep:
    """Compile a step of training: forward pass, backward pass and optimiser become one program.

    The step is written as ever. It is traced with arrays that stand for others, once for each layout of its state and
    arguments; the program then computes the elements that the step as written computes.

    Parameters
    ----------
    step : function of arrays, containers of arrays, and constants
    state : module, optimiser, tensor or array type that the step reads and changes, or a list of such; modules and
        optimisers among the arguments belong to it, too
    backend : ``"jax"``, by `jax.jit`, or ``"torch"``, by `make_fx` and inductor
    progress : whether a call that compiles says so after two seconds; where None, the default, `set_progress` decides

    Returns
    -------
    CompiledStep
        A function of the same arguments. Its results are outside of any graph.

    Raises
    ------
    ValueError : for another backend
    ImportError : if the backend is not installed
    CompileError : at the call, where the step asks for the value of a tensor, changes what is no tensor or is not in
        `state`, or holds arrays of a library that the backend does not compile

    Notes
    -----
    Arrays are those of the backend's library, or of NumPy, which are brought there and back at each call. Learning
    rates are arguments of the program, and random numbers are drawn outside of it, by the generators that the step
    names, in the order in which it draws. Everything else that is no array is a constant: another value compiles
    another program.
    A call that gives the state new tensors runs as written, unless they are zeros that an optimiser begins with.

    Examples
    --------
    >>> import dispatchkit as dk  # doctest: +SKIP
    >>> model = dk.nn.Linear(3, 1)  # doctest: +SKIP
    >>> optimizer = dk.optim.SGD(model.parameters(), lr=0.1)  # doctest: +SKIP
    >>> def step(x, y):  # doctest: +SKIP
    ...     optimizer.zero_grad()
    ...     loss = dk.nn.functional.mse_loss(model(x), y)
    ...     loss.backward()
    ...     optimizer.step()
    ...     return loss
    >>> train = dk.compile(step, state=[model, optimizer], backend="jax")  # doctest: +SKIP
    """
    if isinstance(state, (list, tuple)):
        owners = list(state)
    else:
        owners = [state]
    return CompiledStep(step, owners, backend, progress)
