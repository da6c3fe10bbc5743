"""Modules of dispatchkit, compiled as they stand; dispatchkit loads them itself where this package is installed."""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec
from importlib.util import spec_from_file_location
from types import FunctionType, ModuleType

import numpy as np

from dispatchkit_accelerator import _entry
from dispatchkit_accelerator.built import FOLLOWED, MODULES, VERSION

__all__ = ["MODULES", "__version__", "attach", "install"]
__version__ = VERSION

FOLDER = os.path.dirname(__file__)


def install(package: str, version: str) -> str:
    """Have the compiled modules loaded when dispatchkit imports them.

    Parameters
    ----------
    package, version : folder and version of dispatchkit

    Returns
    -------
    why they cannot be, "" where they will be
    """
    if version != VERSION:
        return f"it is of version {VERSION}; run pip install dispatchkit-accelerator=={version}"
    if any(_file_of(module) is None for module in MODULES):
        python = ".".join(map(str, sys.version_info[:2]))
        return f"it was built for another Python than {python} of this machine; install it again, by this Python's pip"
    for module, checksum in FOLLOWED.items():
        try:
            with open(_source_of(module, package), "rb") as file:
                same = zlib.crc32(file.read()) == checksum
        except OSError:
            same = False
        if not same:
            return f"{module} is not as it was when the accelerator was built; build the accelerator again"
    sys.meta_path.insert(0, _Finder(package))
    return ""


def attach(function: FunctionType) -> None:
    """Let calls of a function go through the compiled entry point, if it computes arrays alone by a function of NumPy.

    Parameters
    ----------
    function : compiled by `dispatchkit.declare.compiled`; its names say what it computes
    """
    names = function.__globals__
    operation, kernel, record = (names.get(name) for name in ("_operation", "_kernel", "_record"))
    # Only texts of calls record them; those of subclasses finalize their results.
    if type(kernel) is not np.ufunc or kernel.nout != 1 or record is None or names.get("_finalize") is not None:
        return
    if not operation.implementation.arrays_only or operation.composite or operation.several:
        return
    if not _started:
        _entry.start(sys.modules["dispatchkit.graph.storage"].Storage, np.ndarray, np.ufunc, function)
        _started.append(True)
    plan = (
        function.__code__,
        names["_cls"],
        kernel,
        names.get("_table", _NO_TABLE),
        names.get("_live", _NEVER_LIVE),
        names["_foreign"],
        record if operation.differentiable else None,
        names["_raw_array"],
        kernel.nin,
    )
    _entry.attach(function, plan)


_started: list[bool] = []
_NO_TABLE: dict[type, object] = {}
_NEVER_LIVE: set[object] = set()


class _Finder:
    """Finds the compiled modules under the names of those that they were compiled from.

    Parameters
    ----------
    package : folder of dispatchkit
    """

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a module is loaded from, None for one that is not compiled."""
        file = _file_of(fullname) if fullname in MODULES else None
        if file is None:
            return None
        return spec_from_file_location(fullname, file, loader=_Loader(fullname, file, self.package))


class _Loader(ExtensionFileLoader):
    """Loads a compiled module, which says that its file is the source, as what it compiles at run time is of that."""

    def __init__(self, name: str, path: str, package: str) -> None:
        super().__init__(name, path)
        self.source = _source_of(name, package)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module."""
        module.__file__ = self.source
        super().exec_module(module)


def _source_of(module: str, package: str) -> str:
    """Return the file that a module was compiled from."""
    return os.path.join(package, *module.split(".")[1:]) + ".py"


def _file_of(module: str) -> str | None:
    """Return the file of a compiled module, None where there is none for this Python."""
    files = [os.path.join(FOLDER, module + suffix) for suffix in EXTENSION_SUFFIXES]
    return next((file for file in files if os.path.isfile(file)), None)
