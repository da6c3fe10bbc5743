"""What is of which library, without an import; the libraries, when they are needed; and the class of each level."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

# Of packages whose name to install is another than that of the module, or that are written another way.
WRITTEN = {"scipy": "SciPy", "pint": "Pint", "numpy": "NumPy"}
# The class that stands for a level, which loads when it is first needed: the types do not know each other.
CLASSES = {
    "metadata": "MetadataTensor",
    "names": "NamedTensor",
    "unit": "QuantityTensor",
    "mask": "MaskedTensor",
    "uncertainty": "UncertainTensor",
}


def packages_of(value: Any) -> set[str]:
    """Return the packages that the class of a value and its bases come from."""
    return {(cls.__module__ or "").partition(".")[0] for cls in type(value).__mro__}


def is_of(package: str, value: Any) -> bool:
    """Return whether a value is an instance of a class of a package, which is not imported for that.

    Parameters
    ----------
    package : such as ``"pint"``
    value : anything
    """
    return package in packages_of(value)


def library(module: str, caller: str) -> Any:
    """Return a module of another library.

    Parameters
    ----------
    module : such as ``"pandas.arrays"``
    caller : who needs it, such as ``"MaskedTensor.to_pandas"``

    Raises
    ------
    ImportError : if it is not installed
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{caller} needs {WRITTEN.get(package, package)}: pip install {package}") from error


def class_of(level: str) -> Any:
    """Return the shipped class of a level of nesting.

    Parameters
    ----------
    level : such as ``"unit"``
    """
    return getattr(_home[0], CLASSES[level])


# The package of the types, once it is imported.
_home: list[ModuleType] = []


def set_home(package: ModuleType) -> None:
    """Say which package has the classes of the levels.

    Parameters
    ----------
    package : it may load a class when it is first asked for
    """
    _home[:] = [package]
