"""`Optimizer`: groups of parameters with their options and state; subclasses define `step`."""

from __future__ import annotations

import copy
import functools
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from dispatchkit.backends.arrays import is_complex, namespace_of, of_parts
from dispatchkit.backends.tracing import is_traced
from dispatchkit.declare.inplace import touch, write_back
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.variables import variables_in
from dispatchkit.graph.recording import enable_grad, no_grad
from dispatchkit.marks import override
from dispatchkit.optim.changes import Formula, Options, Together, arrays_of, change_arrays, update_in_graph
from dispatchkit.optim.groups import as_entries, convert_state, is_structured, number_of, tensors_of
from dispatchkit.optim.hooks import WithHooks, with_step_hooks
from dispatchkit.protocol.modes import current
from dispatchkit.protocol.observers import live
from dispatchkit.tensor import Tensor

# What messages call an option, where that is not its name.
WORDS = {"lr": "learning rate", "eps": "epsilon value"}
_answers_by_rules = Tensor.__tensor_function__.__func__  # type: ignore[attr-defined]  # of a classmethod


def problem_of(p: Tensor, state: Mapping[str, Any], buffers: Sequence[str]) -> str:
    """Return why a parameter cannot be changed, nothing where it can."""
    array = p.array
    if type(array) is np.ndarray and not array.flags.writeable:
        return "has read-only memory; optimise a copy"
    for name in ("grad", *buffers):
        if name == "grad":
            part = p.grad
        else:
            part = state.get(name)
        if part is not None and part.array.shape != array.shape:
            return f"has shape {tuple(array.shape)}, its {name} {tuple(part.array.shape)}"
    return ""


def update(formula: Formula, options: Options, p: Tensor, buffers: Sequence[Tensor]) -> None:
    """Change a parameter and its buffers by a formula, and count the changes.

    Parameters
    ----------
    formula : as the module says
    options : of the formula
    p : has a gradient
    buffers : of the shape of `p`
    """
    g: Any = p.grad
    if is_watched(p):
        with no_grad():
            results = formula(tensor_namespace, options, p, g, *buffers)
            for tensor, result in zip((p, *buffers), results, strict=True):
                if result is not tensor:
                    write_back(formula.__name__, tensor, result)
        return
    array, g = p.array, g.array
    if g.dtype != array.dtype:
        g = namespace_of(g).astype(g, array.dtype)
    touch(p, *buffers)  # first: a graph must not miss a change
    if type(array) is np.ndarray:
        change_arrays(formula, options, array, g, *(buffer.array for buffer in buffers))
    else:
        p.array, *arrays = formula(namespace_of(array), options, array, g, *(buffer.array for buffer in buffers))
        for buffer, result in zip(buffers, arrays, strict=True):
            buffer.array = result


def number(value: Any) -> Any:
    """Return an option or a counter as a Python number; while a step is traced, as a raw array."""
    array = getattr(value, "array", value)
    if is_traced(array):
        return array
    return float(array)


def factor(xp: Any, value: Any, p: Any) -> Any:
    """Return a number made of options, where it is an array of the dtype of what it is to multiply."""
    if isinstance(value, float):
        return value
    return xp.astype(value, p.dtype)


def downhill(p: Any, g: Any, weight_decay: float, maximize: bool) -> Any:
    """Return a gradient in the direction of descent, with the decay of weights in it."""
    if maximize:
        g = -g
    if weight_decay:
        return g + weight_decay * p
    return g


def at_least(value: Any, least: float) -> Any:
    """Return a number made of options and counters, where it is not less than another one."""
    if isinstance(value, float):
        return max(value, least)
    return namespace_of(value).where(value > least, value, least)


def by_parts(change: Formula) -> Formula:
    """Return a formula that takes care of decay and direction, and has the parts of complex numbers changed apart.

    Parameters
    ----------
    change : a formula for real numbers and a gradient that points downhill
    """

    @functools.wraps(change)
    def formula(xp: Any, options: Options, p: Any, g: Any, *buffers: Any) -> tuple[Any, ...]:
        weight_decay = getattr(options, "weight_decay", 0.0)
        if weight_decay and getattr(options, "decoupled_weight_decay", False):
            p *= factor(xp, 1 - options.lr * weight_decay, p)
            weight_decay = 0.0
        g = downhill(p, g, weight_decay, options.maximize)
        if not is_complex(p.dtype):
            return change(xp, options, p, g, *buffers)
        re, im = (change(xp, options, *map(part, (p, g, *buffers))) for part in (xp.real, xp.imag))
        return tuple(map(of_parts, re, im))

    return formula


def _is_seen(cls: type) -> bool:
    """Return whether a class of tensors defines a protocol method, which then sees the operations."""
    if cls is Tensor:
        return False
    return getattr(cls.__tensor_function__, "__func__", None) is not _answers_by_rules  # type: ignore[attr-defined]


def is_watched(p: Tensor) -> bool:
    """Return whether a type or a mode sees the operations that change a parameter."""
    return _is_seen(type(p)) or _is_seen(type(p.grad)) or (bool(live) and current() is not None)


Closure = Callable[[], Any]
Group = dict[str, Any]
Params = Iterable[Any]


class _Required:
    """Stands in `defaults` for an option that every group must give."""

    def __repr__(self) -> str:
        return "<required parameter>"

    def __reduce__(self) -> str:
        return "required"  # the one instance, also when copied or loaded


required = _Required()


class Optimizer(WithHooks):
    """Base of optimisers.

    A subclass hands its defaults on and defines `step`, which goes over the groups, skips parameters without
    gradient, and changes the others inside `no_grad`.

    Parameters
    ----------
    params : iterable of the tensors to optimise, of pairs of a name and a tensor, or of dictionaries, one for each
        group, with these under ``"params"`` and options that differ from the defaults. Instances of declared array
        types stand for the floating-point tensors in their fields.
    defaults : options of groups that do not give them; those that are `required` each group has to give

    Attributes
    ----------
    param_groups : list of dictionaries: ``"params"``, a list of tensors, and the options
    state : mapping from a parameter to what the optimiser keeps for it; empty dictionaries are made on demand
    whole_types : of the class: whether instances of array types stand in ``"params"`` themselves, for a `step` that
        handles them; their ``grad`` is an instance of the same type. Otherwise, as in all optimisers here, the tensors
        in their fields do
    defaults : as given

    Raises
    ------
    TypeError : if a parameter is no tensor
    ValueError : if there are none, one is no leaf or in two places, or an option is missing or out of its range

    Notes
    -----
    Source: PyTorch, `torch.optim.Optimizer`. A parameter that is twice in one group is an error here, too.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> class Descent(dk.optim.Optimizer):
    ...     def __init__(self, params, lr=dk.optim.required):
    ...         super().__init__(params, {"lr": lr})
    ...
    ...     @dk.no_grad()
    ...     def step(self, closure=None):
    ...         for group in self.param_groups:
    ...             for p in group["params"]:
    ...                 if p.grad is not None:
    ...                     p -= group["lr"] * p.grad
    >>> x = dk.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = Descent([x], lr=0.25)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.5000, 1.0000], requires_grad=True)
    """

    whole_types: ClassVar[bool] = False
    _differentiable = False  # whether gradients flow through its steps, and parameters need not be leaves
    # What a subclass says that defines no `step`.
    _formula: ClassVar[Formula | None] = None  # which changes a parameter and its buffers
    _together: ClassVar[Mapping[str, Together]] = {}  # by library, what does what the formula does for all at once
    _buffers: ClassVar[tuple[str, ...]] = ()  # names of the arrays of a parameter's shape in its state
    _asked_by: ClassVar[Mapping[str, str]] = {}  # of those that are not always there, the options that ask for them
    _counters: ClassVar[tuple[str, ...]] = ()  # names of the numbers in it that steps change
    _starts: ClassVar[Mapping[str, Any]] = {}  # numbers, or names of options, that are in it at first, not zeros
    _not_negative: ClassVar[tuple[str, ...]] = ()  # options that are numbers from 0 on
    _first_differs: ClassVar[tuple[str, ...]] = ()  # options with which the formula reads whether a step is the first

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = with_step_hooks(cls.__dict__["step"])  # type: ignore[method-assign]

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor) or is_structured(params):
            raise TypeError(
                f"params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"{type(params).__name__}"
            )
        self.defaults = defaults
        self.state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[Group] = []
        self._reset_hooks()
        if not any(value is required for value in defaults.values()):
            self._check_options(defaults, f"given to {self._name}")
        entries = as_entries(params, self._name)
        if not entries:
            raise ValueError("optimizer got an empty parameter list")
        if isinstance(entries[0], dict):
            groups = entries
        else:
            groups = [{"params": entries}]
        for group in groups:
            self.add_param_group(group)

    @property
    def _name(self) -> str:
        return type(self).__name__

    @override
    def _reset_hooks(self) -> None:
        super()._reset_hooks()
        self._begun: list[Tensor] = []

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("defaults", "state", "param_groups", "_differentiable")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over the parts of a state that are given; what a copy, a pickle and `load_state_dict` call."""
        self.__dict__.update(state)
        if "_step_pre_hooks" not in self.__dict__:
            self._reset_hooks()

    def __repr__(self) -> str:
        lines = [f"{self._name} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])

    def _check_options(self, options: Mapping[str, Any], where: str) -> None:
        """Raise if an option is out of its range; `options` are those of a group, or the defaults."""
        for name in self._not_negative:
            what = WORDS.get(name, f"{name} value")
            if not number_of(options[name], what, where) >= 0:
                raise ValueError(f"Invalid {what}: {options[name]} {where}; it must not be negative")

    def _check_state(self, state: Mapping[str, Any], where: str) -> None:
        """Raise if the loaded state of a parameter lacks something; `where` is the parameter."""

    def add_param_group(self, param_group: Group) -> None:
        """Add a group of parameters, such as layers that are trained from now on.

        Parameters
        ----------
        param_group : dictionary of ``"params"``, as for the constructor, and options; it is not changed

        Raises
        ------
        TypeError, ValueError : as the constructor; the optimiser is then as before

        Examples
        --------
        >>> import dispatchkit as dk
        >>> w, b = dk.ones(2, requires_grad=True), dk.zeros(1, requires_grad=True)
        >>> optimizer = dk.optim.SGD([w], lr=0.1)
        >>> optimizer.add_param_group({"params": b, "lr": 0.5})
        >>> [group["lr"] for group in optimizer.param_groups]
        [0.1, 0.5]
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        where = f"parameter group {len(self.param_groups)} of {self._name}"
        if "params" not in param_group:
            raise ValueError(f"a parameter group needs 'params': {where} has {list(param_group)}")
        group = dict(param_group)
        group["params"], names = tensors_of(
            group["params"], where, whole=self.whole_types, leaves=not self._differentiable
        )
        if names is not None:
            group["param_names"] = names
        for name, default in self.defaults.items():
            if default is required and name not in group:
                raise ValueError(
                    f"parameter group didn't specify a value of required optimization parameter {name} ({where})"
                )
            group.setdefault(name, default)
        self._check_options(group, f"in {where}")
        self._check_apart(group, where)
        self.param_groups.append(group)

    def _check_apart(self, group: Group, where: str) -> None:
        """Raise if a new group shares a parameter with another, or one has names and the other has not."""
        for number, other in enumerate(self.param_groups):
            if ("param_names" in group) != ("param_names" in other):
                kind = "without names"
                if "param_names" in group:
                    kind = "with names"
                raise ValueError(
                    f"all optimizer param groups should be with/without names. cannot add param group {kind} to the "
                    f"optimizer ({where})"
                )
            taken = {id(p) for p in other["params"]}
            for index, p in enumerate(group["params"]):
                if id(p) in taken:
                    if "param_names" in group:
                        name = group["param_names"][index]
                    else:
                        name = f"parameter {index}"
                    raise ValueError(
                        f"some parameters appear in more than one parameter group: {name} of {where}, of shape "
                        f"{p.shape}, is in group {number}, too"
                    )

    def state_dict(self) -> dict[str, Any]:
        """Return the state and the groups, with numbers in the place of parameters.

        Returns
        -------
        dict
            Under ``"state"`` what is kept for each parameter, by its number, and under ``"param_groups"`` a list of the
            groups' options with the numbers of their parameters. The tensors in it are those that further steps change.

        Examples
        --------
        >>> import dispatchkit as dk
        >>> optimizer = dk.optim.SGD([dk.ones(2, requires_grad=True)], lr=0.1)
        >>> optimizer.state_dict()["param_groups"][0]["params"]
        [0]
        """
        self._before_state_dict()
        parameters = [p for group in self.param_groups for p in group["params"]]
        numbers = {id(p): number for number, p in enumerate(parameters)}
        groups = []
        for group in self.param_groups:
            places = [numbers[id(p)] for p in group["params"]]
            options = {name: value for name, value in group.items() if name != "params"}
            groups.append({**options, "params": places})
        state = {numbers.get(id(key), key): value for key, value in self.state.items()}
        return self._after_state_dict({"state": state, "param_groups": groups})

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from a saved state, which is copied.

        Parameters
        ----------
        state_dict : as `state_dict` gave it, of an optimiser with groups of the same sizes. Arrays of NumPy and other
            libraries become tensors. Real floating-point numbers take the dtype of their parameter, except those called
            ``"step"``.

        Raises
        ------
        ValueError : if the groups do not fit, an option is out of its range, or the state of a parameter lacks
            something or has another shape; the optimiser is then as before
        TypeError : if something in the state of a parameter is no array that can be read; likewise
        """
        state_dict = self._before_load_state_dict(state_dict)
        missing = [key for key in ("state", "param_groups") if key not in state_dict]
        if missing:
            raise ValueError(f"loaded state dict has no {' and no '.join(map(repr, missing))} ({self._name})")
        saved = copy.deepcopy(state_dict["param_groups"])
        self._check_sizes(saved)
        groups = []
        parameters: dict[Any, tuple[Tensor, str]] = {}
        for number, (old, new) in enumerate(zip(self.param_groups, saved, strict=True)):
            names = {}
            if "param_names" in old:
                names = {"param_names": old["param_names"]}
            for index, (key, p) in enumerate(zip(new["params"], old["params"], strict=True)):
                if names:
                    name = old["param_names"][index]
                else:
                    name = f"parameter {index}"
                parameters[key] = p, f"{name} in group {number} of the loaded state dict ({self._name})"
            group = {**{name: old[name] for name in self.defaults}, **names, **new, "params": old["params"]}
            self._check_options(group, f"in parameter group {number} of the loaded state dict")
            groups.append(group)
        state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        for key, value in copy.deepcopy(dict(state_dict["state"])).items():
            if key in parameters:
                p, where = parameters[key]
                state[p] = convert_state(next(variables_in(p)), value, self._buffers, where, self._counters)
                self._check_state(state[p], where)
            else:
                state[key] = value
        self.__setstate__({"state": state, "param_groups": groups})
        self._after_load_state_dict()

    def _check_sizes(self, saved: list[Group]) -> None:
        if len(saved) != len(self.param_groups):
            raise ValueError(
                f"loaded state dict has a different number of parameter groups: {len(saved)}, this {self._name} has "
                f"{len(self.param_groups)}"
            )
        for number, (old, new) in enumerate(zip(self.param_groups, saved, strict=True)):
            if len(new["params"]) != len(old["params"]):
                raise ValueError(
                    f"loaded state dict contains a parameter group that doesn't match the size of optimizer's group: "
                    f"group {number} has {len(new['params'])} parameters there, {len(old['params'])} in this "
                    f"{self._name}"
                )

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters.

        Parameters
        ----------
        set_to_none : set them to None; otherwise those that are there are filled with zeros, in place
        """
        for group in self.param_groups:
            for parameter in group["params"]:
                if set_to_none and isinstance(parameter, Tensor):
                    parameter.grad = None
                    continue
                for p in variables_in(parameter):
                    if set_to_none:
                        p.grad = None
                    elif p.grad is not None:
                        with no_grad():
                            p.grad.detach_().zero_()

    @with_step_hooks
    def step(self, closure: Closure | None = None) -> Any:
        """Change the parameters by their gradients.

        Parameters
        ----------
        closure : computes the loss and its gradients anew and returns the loss

        Returns
        -------
        Any
            What `closure` gave, None without one.

        Raises
        ------
        ValueError : if a parameter cannot be changed, naming it and its group; none is changed then
        """
        loss = self._loss_of(closure)
        for group, parameters in self._pending():
            self._change(group, parameters)
        return loss

    def _change(self, group: Group, parameters: list[Tensor]) -> None:
        """Change parameters of a group, each of which has a gradient, by the formula of the class."""
        formula = self._formula
        if formula is None:
            raise NotImplementedError(f"{self._name} does not define step()")
        options = Options(**{**group, **{name: number(group[name]) for name in self._not_negative}})
        names = self._buffers_for(options)
        together: dict[Any, list[Sequence[Tensor]]] = {}
        for p in parameters:
            buffers: Sequence[Tensor] = ()
            if names:
                buffers = self._buffers_of(p, names, options)
            place = self._place_of(p, buffers, options)
            if self._differentiable:
                update_in_graph(formula, options, p, buffers)
            elif place is None:
                update(formula, options, p, buffers)
            else:
                together.setdefault(place, []).append((p, *buffers))
        for place, members in together.items():
            self._change_together(place, members, options)

    def _place_of(self, p: Tensor, buffers: Sequence[Tensor], options: Options) -> Any:
        """Return what parameters have in common that one function can change at once; None for one that it cannot."""
        array = p.array
        if type(array) is np.ndarray or not self._together or is_watched(p):
            return None
        together = self._together.get(namespace_of(array).__name__)
        if together is None or not all(type(getattr(options, name)) is float for name in self._not_negative):
            return None
        place = together.place_of(arrays_of(p, buffers))
        if place is None:
            return None
        return together, place, getattr(options, "step", None), getattr(options, "is_first", False)

    def _change_together(self, place: Any, members: Sequence[Sequence[Tensor]], options: Options) -> None:
        """Change parameters and their buffers by one function of the library of their arrays, and count the changes."""
        together, _, options.step, options.is_first = place
        for tensors in members:
            touch(*tensors)  # first: a graph must not miss a change
        together.change(options, [arrays_of(p, buffers) for p, *buffers in members])

    def _buffers_of(self, p: Tensor, names: Sequence[str], options: Options) -> list[Tensor]:
        """Return the buffers of a parameter, zeros in its first step, and tell the formula where it is that."""
        state = self.state[p]
        lacking = [name for name in (*self._counters, *names) if state.get(name) is None]
        options.is_first = bool(lacking)
        for name in lacking:
            self._begin(p, name, self._start_of(name, options))
        differs = self._starts or any(getattr(options, name) for name in self._first_differs)
        if lacking and is_traced(p.array) and not differs:
            self._begun += [state[name] for name in lacking]
        for name in self._counters:
            counter = state[name]
            after = self._count(name, number(counter), options)
            counter.array = namespace_of(counter.array).asarray(after, dtype=counter.dtype)
            touch(counter)
        return [state[name] for name in names]

    def _count(self, name: str, value: Any, options: Options) -> Any:
        """Return what a counter is after the step that begins, and tell the formula what it reads."""
        options.step = value + 1
        return options.step

    def _start_of(self, name: str, options: Options) -> Any:
        """Return the number that stands under a name before the first step, None for zero."""
        start = self._starts.get(name)
        if isinstance(start, str):
            return getattr(options, start)
        return start

    def _begin(self, p: Tensor, name: str, start: Any = None) -> None:
        """Give the state of a parameter what it has under a name before the first step."""
        if name in self._counters:
            tensor = tensor_namespace.tensor(0.0)
        else:
            tensor = tensor_namespace.zeros_like(p)
        if start is not None:
            both: complex = 1
            if is_complex(tensor.dtype):
                both = 1 + 1j
            tensor.array += factor(namespace_of(tensor.array), start, tensor) * both
        self.state[p][name] = tensor

    def _take_begun(self) -> list[Tensor]:
        """Return the zeros that traced steps since the last call of this began with, where later steps may as well."""
        begun, self._begun = self._begun, []
        return begun

    def _buffers_for(self, options: Options) -> Sequence[str]:
        """Return the names of the buffers that the formula takes, which options may leave out."""
        return [name for name in self._buffers if name not in self._asked_by or getattr(options, self._asked_by[name])]

    def _loss_of(self, closure: Closure | None) -> Any:
        """Return the loss that a closure computes, with a graph recorded; None without a closure."""
        if closure is None:
            return None
        with enable_grad():
            return closure()

    def _pending(self) -> list[tuple[Group, list[Tensor]]]:
        """Return each group with those of its parameters that have a gradient, once all of them can be changed.

        Raises
        ------
        ValueError : if the memory of one cannot be written, or its gradient or state has another shape
        """
        pending = []
        for number, group in enumerate(self.param_groups):
            parameters = [p for p in group["params"] if p.grad is not None]
            for p in parameters:
                problem = problem_of(p, self.state.get(p, {}), self._buffers)
                if problem:
                    index = next(index for index, other in enumerate(group["params"]) if other is p)
                    raise ValueError(f"{self._name}.step: parameter {index} of group {number} {problem}")
            pending.append((group, parameters))
        return pending
