"""The namespace of tensor operations, as bodies and rules receive it when their results are to be differentiable.

Operations enter it as they are declared; `dispatchkit` itself publishes the same names. A package that users import
from calls `make_home`, so that files can move while names and pickles stay.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any, ForwardRef

COMPILED = "cython_function_or_method"  # what Python calls the type of functions of compiled modules


class TensorNamespace:
    """An array API namespace made of operations.

    Parameters
    ----------
    name : as printed
    later : modules that declare parts of it, by the name of the part; each loads when its part is first asked for
    """

    def __init__(self, name: str, later: Mapping[str, str] | None = None) -> None:
        self.__name__ = name
        self._later = dict(later or {})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._later:
            raise AttributeError(f"{self!r} has no attribute {name!r}")
        import_module(self._later[name])
        return vars(self)[name]

    def __repr__(self) -> str:
        return f"<namespace {self.__name__}>"


tensor_namespace: Any = TensorNamespace(
    "dispatchkit", later={"fft": "dispatchkit.fft", "special": "dispatchkit.special"}
)
_published: list[Any] = [tensor_namespace]


def enter(path: str, value: Any) -> None:
    """Put a value at a path such as ``"add"`` or ``"linalg.inv"``."""
    place = tensor_namespace
    *outer, name = path.split(".")
    for part in outer:
        if part not in vars(place):
            setattr(place, part, TensorNamespace(f"{place.__name__}.{part}"))
        place = getattr(place, part)
    setattr(place, name, value)


def publish(module: Any) -> None:
    """Let tensors name a module as their array namespace."""
    _published[0] = module


def public_namespace() -> Any:
    """Return what ``Tensor.__array_namespace__`` gives."""
    return _published[0]


_defining_modules: dict[Any, str] = {}


def make_home(name: str, without: Collection[str] = ()) -> None:
    """Set `__module__` of what a module's `__all__` names to that module, and let `dir` list nothing else.

    What several modules show belongs to the outermost of them.

    Parameters
    ----------
    name : of the module
    without : names in its `__all__` that have another home
    """
    module: Any = sys.modules[name]
    attributes = vars(module)
    shown = sorted({*attributes["__all__"], *(key for key in attributes if key.startswith("__"))})
    module.__dir__ = lambda: list(shown)
    for value in (attributes.get(key) for key in attributes["__all__"] if key not in without):
        if _has_home(value):
            place = value.__module__
            if place.startswith("dispatchkit.") and len(name) < len(place):
                _defining_modules.setdefault(value, place)
                if isinstance(value, type):
                    _annotate_from(place, value)
                value.__module__ = name


def _has_home(value: Any) -> bool:
    """Return whether a value is a class or a function, of Python or compiled, that says which module it is of."""
    return isinstance(value, (type, FunctionType)) or type(value).__name__ == COMPILED


def _annotate_from(place: str, cls: type) -> None:
    """Have the annotations of a class read in the module that defines it, by `typing.get_type_hints` of its subclasses.

    Dataclasses of others ask for them, and look for the names in the module that a class says it is of.
    """
    if "__annotations__" in vars(cls):
        for key, told in cls.__annotations__.items():
            if isinstance(told, str):
                cls.__annotations__[key] = ForwardRef(told, module=place, is_class=True)


def starred_names(name: str) -> list[str]:
    """Return what the star imports of a module brought, in their order: its public names that are no modules.

    Parameters
    ----------
    name : of the module
    """
    held = vars(sys.modules[name])
    helpers = ("TYPE_CHECKING", "make_home", "names_loaded_later", "starred_names")
    return [key for key in held if key[0] != "_" and key not in helpers and not isinstance(held[key], ModuleType)]


def names_loaded_later(
    home: str, places: Mapping[str, str | None], without: Collection[str] = ()
) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package whose names load when they are first asked for.

    What its modules have brought by then is shown with them.

    Parameters
    ----------
    home : name of the package
    places : the module inside it that has a name, by the name; None for a name that is itself a module
    without : names in its ``__all__`` that have another home
    """

    def get_later(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {home!r} has no attribute {name!r}")
        module = import_module(f"{home}.{places[name] or name}")
        if places[name] is None:
            value: Any = module
        else:
            value = getattr(module, name)
        package = vars(sys.modules[home])
        package[name] = value
        for other, place in places.items():
            loaded = sys.modules.get(f"{home}.{place}")
            if loaded is not None and other in vars(loaded):
                package.setdefault(other, vars(loaded)[other])
        make_home(home, without)
        return value

    return get_later


def load_all_names(home: str, places: Collection[str]) -> None:
    """Load all names of a package that load later.

    Parameters
    ----------
    home : name of the package
    places : its names
    """
    package = sys.modules[home]
    for name in places:
        getattr(package, name)


def defining_module(value: Any) -> str | None:
    """Return the name of the module whose file defines a public class or function, None for all else."""
    if _has_home(value):
        return _defining_modules.get(value)
    return None
