"""`program`: a failure as a program to paste, with the smallest call that shows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dispatchkit.declare.samples import Draw, Sample
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import Tensor
from dispatchkit.testing.calls import TypeCall
from dispatchkit.testing.findings import Failure
from dispatchkit.testing.subject import Subject

__all__ = ["code_of", "program", "shrunk"]

MOST = 60  # elements that a program spells out
# What compares a call with the same on plain tensors, so that the two calls show the fault.
COMPARED = {"raises", "container", "shape", "value", "dtype", "keywords", "companions", "refusals", "closed"}

TOGETHER = {"asyncio", "threads"}  # take the first and the last instance


def shrunk(subject: Subject, failure: Failure) -> Failure:
    """Return the failure of the same check on the smallest call that can be found."""
    again = failure.again
    if again is None or not isinstance(failure.made, TypeCall):
        return failure
    improved = True
    while improved:
        improved = False
        for call in _smaller(subject, failure.made):
            try:
                found = again(call)
            except Exception:  # noqa: BLE001, S112  # no call at all
                continue
            if found is not None:
                failure, improved = replace(found, made=call, again=again), True
                break
    return failure


def _smaller(subject: Subject, call: TypeCall) -> Iterator[TypeCall]:
    """Yield simpler calls: without an option, of a smaller instance, of simpler elements."""
    for name in call.options():
        yield call.without(name)
    if call.index is not None:
        sizes = [_size(subject, one) for one in subject.samples()]
        better = [i for i, size in enumerate(sizes) if 0 < size < sizes[call.index]]
        for index in sorted(better, key=sizes.__getitem__):
            yield replace(call, index=index, sample=_resized(call.sample, subject, call.index, index))
    if not call.counted and not call.turn:
        yield replace(call, counted=True)
    counted = _counted(call.sample)
    if counted is not None:
        yield replace(call, sample=counted)


def _size(subject: Subject, x: Any) -> int:
    try:
        return int(np.prod(x.shape, dtype=int)) * (1 if str(x.dtype) == "float64" else 2)
    except Exception:  # noqa: BLE001  # the check of attributes reports it
        return 0


def _resized(sample: Sample, subject: Subject, old: int, new: int) -> Sample:
    """Return a sample with its arrays of the other instance's shape, where they have the first one's."""
    before, after = (tuple(subject.sample(index).shape) for index in (old, new))
    lengths = dict(zip(before, after, strict=False))

    def changed(value: Any) -> Any:
        if isinstance(value, (list, tuple)) and any(isinstance(one, Draw) for one in value):
            return type(value)(map(changed, value))
        return replace(value, shape=tuple(lengths.get(n, n) for n in value.shape)) if isinstance(value, Draw) else value

    return replace(sample, args=tuple(map(changed, sample.args)))


def _counted(sample: Sample) -> Sample | None:
    """Return a sample with 1, 2, 3 and so on in its arrays of real numbers; None where it has none."""
    found = False

    def counted(value: Any) -> Any:
        nonlocal found
        if isinstance(value, (list, tuple)) and any(isinstance(one, Draw) for one in value):
            return type(value)(map(counted, value))
        if not isinstance(value, Draw) or value.content not in ("real", "distinct"):
            return value
        found = True
        return np.arange(1.0, np.prod(value.shape, dtype=int) + 1).reshape(value.shape)

    made = replace(sample, args=tuple(map(counted, sample.args)))
    return made if found else None


def program(subject: Subject, failure: Failure) -> str:
    """Return a program that shows a failure: imports, instances, the call, what came of it and what is right."""
    writer = _Writer(subject)
    if isinstance(failure.made, TypeCall):
        return _of_call(subject, failure, failure.made, writer)
    operation = f"dk.{failure.operation.removeprefix('dispatchkit.')}" if failure.operation else ""
    return writer.text([_check(subject, failure, writer.named(failure.made), operation), *_comments(failure)])


def _of_call(subject: Subject, failure: Failure, call: TypeCall, writer: _Writer) -> str:
    args, kwargs = call.make()
    values = [value for _, value in call.operation.parameters.values(args, kwargs)]
    instances = [value for value in values if isinstance(value, subject.cls)]
    function = f"dk.{call.operation.qualified_name.removeprefix('dispatchkit.')}"
    changed = failure.found.startswith("'")  # an argument, which results do not show
    if failure.check not in COMPARED or changed or not hasattr(subject.cls, "to_dense"):
        if failure.check in TOGETHER and call.index is not None:
            instances = [subject.sample(index) for index in sorted({0, len(subject.samples()) - 1})]
        text = _check(subject, failure, ", ".join(map(writer.named, instances)), function)
        return writer.text([text, *_comments(failure)])
    names = {id(one): writer.named(one) for one in instances}
    given, dense = (_written_call(function, args, kwargs, writer, names, suffix) for suffix in ("", ".to_dense()"))
    lines = [f"found = {given}", f"expected = {dense}", "print(found, expected, sep='\\n')", *_comments(failure)]
    return writer.text(lines)


def _written_call(
    function: str, args: tuple[Any, ...], kwargs: dict[str, Any], writer: _Writer, names: dict[int, str], suffix: str
) -> str:
    def written(value: Any) -> str:
        if id(value) in names:
            return names[id(value)] + suffix
        if type(value) in (list, tuple) and any(id(one) in names for one in value):
            inner = ", ".join(map(written, value))
            return f"[{inner}]" if isinstance(value, list) else f"({inner},)"
        return writer.code(value)

    return f"{function}({', '.join([*map(written, args), *(f'{k}={written(v)}' for k, v in kwargs.items())])})"


def _check(subject: Subject, failure: Failure, instances: str, function: str) -> str:
    operations = f"[{function}]" if function else "[]"
    return f"check_type({subject.cls.__name__}, [{instances}], operations={operations}, checks=[{failure.check!r}])"


def _comments(failure: Failure) -> list[str]:
    return [
        f"# {name}: {line}"
        for name, text in (("found", failure.found), ("expected", failure.expected))
        for line in text.splitlines()[:3]
    ]


def code_of(value: Any) -> str:
    """Return an expression that gives a value, in a program that imports `numpy` as np and `dispatchkit` as dk."""
    if type(value) is Tensor:
        flag = ", requires_grad=True" if value.requires_grad and value.is_leaf else ""
        return f"dk.tensor({_elements(np.asarray(value.detach().numpy()))}{flag})"
    if isinstance(value, np.ndarray):
        return _elements(value)
    if isinstance(value, np.generic):
        return f"np.{value.dtype}({value.item()!r})"
    if isinstance(value, np.dtype):
        return repr(str(value))
    if type(value) in (list, tuple):
        inner = ", ".join(map(code_of, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
    if type(value) is dict:
        return "{" + ", ".join(f"{code_of(key)}: {code_of(one)}" for key, one in value.items()) + "}"
    return repr(value)


def _elements(array: Any) -> str:
    if not array.size or array.size > MOST:
        text = f"np.zeros({array.shape}, dtype={str(array.dtype)!r})" if not array.size else ""
        return text or f"np.array({array.tolist()!r}, dtype={str(array.dtype)!r})"
    order = ", order='F'" if array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous else ""
    return f"np.array({array.tolist()!r}, dtype={str(array.dtype)!r}{order})"


class _Writer:
    """Collects the lines that make instances of a type."""

    def __init__(self, subject: Subject) -> None:
        self.cls = subject.cls
        self.lines: list[str] = []
        self.count = 0

    def named(self, value: Any) -> str:
        """Write the lines that make an instance, and return its name."""
        self.count += 1
        name = f"x{self.count}"
        constructed = self._constructed(value)
        if constructed is not None:
            self.lines.append(f"{name} = {constructed}")
            return name
        self.lines.append(f"{name} = object.__new__({self.cls.__name__})")
        for key, part in vars(value).items():
            self.lines.append(f"{name}.{key} = {self.code(part)}")
        return name

    def _constructed(self, value: Any) -> str | None:
        """Return a call of the constructor that makes an equal instance; None where its fields are none for it."""
        if issubclass(self.cls, Tensor):
            return f"{self.cls.__name__}({_elements(np.asarray(value.detach().numpy()))})"
        fields = tensor_protocol.types.fields_of(value)
        given = {name: getattr(value, name) for name in fields}
        try:
            made = self.cls(**given)
        except Exception:  # noqa: BLE001  # its constructor takes something else
            return None
        if fields != tensor_protocol.types.fields_of(made) or vars(made).keys() != vars(value).keys():
            return None
        return f"{self.cls.__name__}({', '.join(f'{name}={self.code(part)}' for name, part in given.items())})"

    def code(self, value: Any) -> str:
        return code_of(value)

    def text(self, lines: list[str]) -> str:
        """Return the program."""
        body = [*self.lines, *lines]
        imports = ["import numpy as np", "from numpy import inf, nan", "import dispatchkit as dk"]
        if any("check_type(" in line for line in lines):
            imports.append("from dispatchkit.testing import check_type")
        place = self.cls.__module__
        if "<locals>" in self.cls.__qualname__ or place == "__main__":
            imports.append(f"# {self.cls.__qualname__} is defined inside {place}; put its definition here")
        else:
            imports.append(f"from {place} import {self.cls.__qualname__.partition('.')[0]}")
        used = "\n".join(body)
        kept = [line for line in imports if not line.startswith(("import numpy", "from numpy")) or _uses(line, used)]
        return "\n".join([*kept, "", *body])


def _uses(line: str, text: str) -> bool:
    return "np." in text if line.startswith("import") else any(word in text for word in ("inf", "nan"))
