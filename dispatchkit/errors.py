"""Every exception and warning of the library. Each holds data; its text is made when it is read.

::

    Exception
    ├── DispatchError
    │   ├── NoImplementationError          (TypeError)    nobody answered a call
    │   │   └── UnsupportedArgumentError   (TypeError)    ... because of an argument
    │   ├── AmbiguousImplementationError   (TypeError)    two rules are equally specific
    │   ├── RegistrationError              (TypeError)    a registration that can never work
    │   ├── AnswerError                    (TypeError)    a rule or to_dense() whose result is no answer
    │   ├── ForeignArgumentError           (TypeError)    an argument that is no array
    │   ├── MixedArraysError               (TypeError)    arrays of several libraries or devices in one call
    │   ├── DensifyError                   (RuntimeError) a dense copy that was not allowed
    │   ├── UnitError                      (ValueError)   units that do not go together
    │   ├── TorchCallError                 (RuntimeError) a function of PyTorch that nobody answers
    │   └── ModeError                      (RuntimeError) modes left out of order
    ├── AutogradError                      (RuntimeError) misuse of the graph
    │   ├── AnomalyError                                  a backward that failed, with the lines of its forward
    │   ├── GradcheckError                                derivatives that disagree
    │   ├── InplaceError                                  a change that would spoil a gradient
    │   └── TransformError                                what vmap or jvp cannot transform
    │       ├── LostDerivativeError                       ... because a number has no derivative
    │       ├── MissingRuleError       (NotImplementedError) ... because an operation has no rule for tangents
    │       └── RandomnessError                           ... because of random numbers
    ├── CompileError                       (TypeError)    a step that cannot be compiled
    ├── DataLoaderError                    (RuntimeError) a batch that could not be made
    ├── StateDictError                     (RuntimeError) a state that does not fit a module
    └── LoadError                          (ValueError)   a file that is damaged, unsafe or of unknown types
    Warning
    ├── GradientWarning                    (UserWarning)  the gradient of a tensor that keeps none
    └── DispatchWarning                    (UserWarning)
        ├── DensifyWarning                                a dense copy was made
        ├── FieldWarning                                  a field that hides a method of arrays
        ├── LoopWarning                                   vmap computed each element of a batch by itself
        ├── ReplacementWarning                            a rule that replaced one for the same types
        └── SignatureWarning                              a rule whose signature differs from its operation's
"""

from __future__ import annotations

import copyreg
from collections.abc import Sequence
from typing import Any

from dispatchkit.fields import with_fields
from dispatchkit.wording import INCONVERTIBLE, format_bytes, section, with_article


class DispatchError(Exception):
    """Base of everything the dispatch protocol raises."""

    def __reduce__(self) -> Any:
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]  # no stub has it


class UnitError(DispatchError, ValueError):
    """Units do not match, or a string is none. No `TypeError`, which operators take for "not implemented"."""


@with_fields
class NoImplementationError(DispatchError, TypeError):
    """No type answered a call.

    Attributes
    ----------
    function : qualified name of the operation
    method : name of the protocol's method
    types : names of the types that were asked
    asked : one line for each answer that declined, in order
    nearest : one line for each of the implementations with the closest types
    stub : a handler to paste and fill in; "" where neither the types nor the operation are the caller's own
    instead : what to do where there is no stub
    """

    function: str
    method: str
    types: Sequence[str]
    asked: Sequence[str] = ()
    nearest: Sequence[str] = ()
    stub: str = ""
    instead: str = ""

    def __str__(self) -> str:
        lines = [self.headline(), *section("asked, in order:", self.asked)]
        lines += section("nearest implementations:", self.nearest)
        lines += section("to cover it, write:", self.stub.splitlines())
        lines += section("what to do instead:", self.instead.splitlines())
        return "\n".join(lines)

    def headline(self) -> str:
        """Return the first line of the message."""
        types = ", ".join(self.types)
        return f"no implementation found for '{self.function}' on types that implement {self.method}: [{types}]"


@with_fields
class UnsupportedArgumentError(NoImplementationError):
    """A rule fits the types of a call, but does not take one of its arguments.

    Attributes
    ----------
    arguments : what the caller passed and no rule takes
    """

    arguments: Sequence[str] = ()

    def headline(self) -> str:
        """Return the first line of the message."""
        passed = ", ".join(self.arguments)
        return (
            f"no implementation of '{self.function}' for [{', '.join(self.types)}] takes {passed}, "
            f"and no declared fallback answers the call"
        )


@with_fields
class AmbiguousImplementationError(DispatchError, TypeError):
    """Two rules fit a call equally well.

    Attributes
    ----------
    function : qualified name of the operation
    types : names of the types of the call
    rules : one line for each of the rules
    resolved_by : the signature that decides between them
    """

    function: str
    types: Sequence[str]
    rules: Sequence[str]
    resolved_by: str

    def __str__(self) -> str:
        headline = f"ambiguous implementations of '{self.function}' for ({', '.join(self.types)}):"
        return "\n  ".join([headline, *self.rules]) + f"\nregister ({self.resolved_by}) to resolve it"


class RegistrationError(DispatchError, TypeError):
    """A handler, type or conversion can never work."""


@with_fields
class AnswerError(DispatchError, TypeError):
    """The result of a rule, or of what makes a type dense, cannot be an answer.

    Attributes
    ----------
    function : qualified name of the operation
    giver : the function, with file and line
    problem : what it returned, and what it should return
    """

    function: str
    giver: str
    problem: str

    def __str__(self) -> str:
        return f"{self.function}: {self.giver} {self.problem}"


@with_fields
class ForeignArgumentError(DispatchError, TypeError):
    """An argument is neither an array of a type that takes part nor a scalar.

    Attributes
    ----------
    function : qualified name of the operation
    parameter : name of the argument
    found : name of the argument's type
    advice : how to convert it, used where its type can be converted
    wanted : what the argument must be
    member : whether what was found is one member of the argument
    """

    function: str
    parameter: str
    found: str
    advice: str = ""
    wanted: str = "an array"
    member: bool = False

    def __str__(self) -> str:
        verb = "is"
        if self.member:
            verb = "holds"
        text = f"{self.function}: argument '{self.parameter}' {verb} {with_article(self.found)}, not {self.wanted}"
        if self.advice and self.found not in INCONVERTIBLE:
            return f"{text}; {self.advice}"
        return text


@with_fields
class MixedArraysError(DispatchError, TypeError):
    """The arrays of a call belong to several libraries, or are on several devices.

    Attributes
    ----------
    function : qualified name of the operation
    first, second : a library and device each
    """

    function: str
    first: str
    second: str

    def __str__(self) -> str:
        text = f"{self.function}: one array is of {self.first}, another of {self.second}"
        return f"{text}; bring both to one library and device first, with x.to(like=y)"


@with_fields
class DensifyError(DispatchError, RuntimeError):
    """A dense copy was refused by `densify`.

    Attributes
    ----------
    function : qualified name of the operation
    type : name of the type to be made dense
    nbytes : size of the dense copy in bytes, where known
    limit : the bound in bytes; None where densifying is not allowed at all
    inside : the function that would make it dense itself, with file and line; "" where a fallback would
    """

    function: str
    type: str
    nbytes: int | None
    limit: int | None = None
    inside: str = ""

    def __str__(self) -> str:
        size = ""
        if self.nbytes is not None:
            size = f" ({format_bytes(self.nbytes)})"
        text = f"'{self.function}' would make {self.type} dense{size} {self.inside}".rstrip()
        advice = ""
        if self.function.startswith(f"{self.type}."):
            advice = f"; define {self.function}"
        if self.limit is None:
            return f'{text}, and densify(on="error") forbids it{advice}'
        return f"{text}, which is past the limit of {format_bytes(self.limit)} set by densify{advice}"


@with_fields
class TorchCallError(DispatchError, RuntimeError):
    """Nobody answers a function of PyTorch. No `TypeError`, which PyTorch's operators swallow: ``t == d`` gives False.

    Attributes
    ----------
    function : name of the function, such as ``"torch.linalg.solve"``
    types : names of the types among the arguments
    reason : why nobody answers
    """

    function: str
    types: Sequence[str]
    reason: str

    def __str__(self) -> str:
        return f"'{self.function}' on [{', '.join(self.types)}]: {self.reason}"


class ModeError(DispatchError, RuntimeError):
    """Modes were left in another order than they were entered."""


class AutogradError(RuntimeError):
    """The graph cannot compute what was asked."""


@with_fields
class InplaceError(AutogradError):
    """A value that a backward pass needs was changed in place.

    Attributes
    ----------
    operation : name of the graph node that saved the value
    shape, dtype : of the value
    saved, found : versions of the value when it was saved, and now
    """

    operation: str
    shape: tuple[int, ...]
    dtype: str
    saved: int
    found: int

    def __str__(self) -> str:
        return (
            f"a value needed by the backward of {self.operation} was changed by an in-place operation: "
            f"{self.dtype} tensor of shape {self.shape} is at version {self.found}, expected version {self.saved}; "
            f"change a copy instead (detach() in place of detach_()), or change it after the backward pass"
        )


@with_fields
class GradcheckError(AutogradError):
    """A derivative disagrees with finite differences.

    Attributes
    ----------
    headline : what was compared
    numerical, analytical : both matrices, as text
    notes : further lines
    """

    headline: str
    numerical: str = ""
    analytical: str = ""
    notes: Sequence[str] = ()

    def __str__(self) -> str:
        lines = [self.headline]
        if self.numerical:
            lines += [f"numerical: {self.numerical}", f"analytical: {self.analytical}"]
        return "\n".join([*lines, *self.notes])


@with_fields
class AnomalyError(AutogradError):
    """The backward of an operation failed inside `detect_anomaly`.

    Attributes
    ----------
    what : the operation and what happened
    forward : the lines that recorded the operation, as in a traceback; empty where they are not known
    causes : name and lines of each operation whose backward recorded them, for passes with ``create_graph``
    """

    what: str
    forward: str
    causes: Sequence[tuple[str, str]] = ()

    def __str__(self) -> str:
        unknown = "  (not known: it was recorded outside detect_anomaly)"
        lines = [self.what, "It was recorded here (most recent call last):", self.forward or unknown]
        for name, forward in self.causes:
            lines += [f"... by the backward of '{name}', which was recorded here:", forward or unknown]
        return "\n".join(lines)


class TransformError(AutogradError):
    """A transformed function does something that the transformation does not support."""


@with_fields
class LostDerivativeError(TransformError):
    """A function asks for the Python number of what a transformation differentiates.

    Attributes
    ----------
    called : the function or method that was asked, such as ``"float"``
    transformation : such as ``"grad"``
    """

    called: str
    transformation: str

    def __str__(self) -> str:
        is_method = self.called in ("item", "tolist")
        if is_method:
            constant = f"x.detach().{self.called}()"
        else:
            constant = f"{self.called}(x.detach())"
        return (
            f"{self.called}() on a tensor that {self.transformation} differentiates would lose the derivative; compute "
            f"with the tensor, or use {constant} where a constant is meant"
        )


class MissingRuleError(TransformError, NotImplementedError):
    """Forward mode comes to an operation that has no rule for tangents."""


class RandomnessError(TransformError):
    """A function under `vmap` draws random numbers, but `randomness` does not say whether elements share them."""


@with_fields
class StateDictError(RuntimeError):
    """A saved state does not fit the module that loads it.

    Attributes
    ----------
    module : name of the module's class
    missing : names that only the module has
    unexpected : names that only the state has
    messages : one line for each value that does not fit
    """

    module: str
    missing: Sequence[str] = ()
    unexpected: Sequence[str] = ()
    messages: Sequence[str] = ()

    def __str__(self) -> str:
        lines = [f"Error(s) in loading state_dict for {self.module}:"]
        for text, names in (("Missing", self.missing), ("Unexpected", self.unexpected)):
            if names:
                lines.append(f"{text} key(s) in state_dict: " + ", ".join(f'"{name}"' for name in names) + ".")
        return "\n\t".join([*lines, *self.messages])


class CompileError(TypeError):
    """A step cannot become a program of another library; `compile` says what stands in the way."""


@with_fields
class DataLoaderError(RuntimeError):
    """A `DataLoader` could not make a batch; an exception that stopped it is the cause.

    Attributes
    ----------
    dataset : name of the data set's class
    action : what was done, with the index or the indices
    problem : what happened
    """

    dataset: str
    action: str
    problem: str

    def __str__(self) -> str:
        return f"DataLoader of {self.dataset}: {self.action} {self.problem}"


@with_fields
class LoadError(ValueError):
    """A file cannot be loaded, or it would not be safe to.

    Attributes
    ----------
    file : path of the file
    problem : what is wrong
    entry : name of the array in the file, if the problem is in one
    """

    file: str
    problem: str
    entry: str = ""

    def __str__(self) -> str:
        return " ".join(["load:", *([f"entry '{self.entry}' of"] if self.entry else []), self.file, self.problem])


class GradientWarning(UserWarning):
    """The gradient was read of a tensor that is no leaf, and so keeps none unless `retain_grad` asked it to."""


class DispatchWarning(UserWarning):
    """Base of the warnings of the dispatch protocol."""


class DensifyWarning(DispatchWarning):
    """A structured array was made dense by its declared fallback."""


class FieldWarning(DispatchWarning):
    """A field of an array type has the name of a method or attribute of arrays, which it hides."""


class LoopWarning(DispatchWarning):
    """An operation has no rule for batches, so `vmap` calls it once for each element."""


class ReplacementWarning(DispatchWarning):
    """A rule replaces one for the same types, which another module registered, or the same one during its import."""


class SignatureWarning(DispatchWarning):
    """The signature of a handler differs from its operation's in a way that changes results."""


# Not spelled `__all__ =`: a name stands in one place, where its class is defined.
vars()["__all__"] = [name for name, value in vars().items() if isinstance(value, type) and issubclass(value, Exception)]
