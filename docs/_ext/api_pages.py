"""The pages of the API reference, written from the public names before each build.

A name is on the page of its namespace, in the section that `SECTIONS` or its kind gives it; a public name without a
section stops the build.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import dispatchkit as dk

TITLES = {
    "linalg": "Linear algebra",
    "fft": "Fourier transforms",
    "random": "Random numbers",
    "special": "Special functions",
    "autograd": "Autograd",
    "func": "Transformations",
    "nn": "Modules",
    "nn.functional": "Functions of layers",
    "nn.init": "Starting values",
    "nn.utils": "Utilities of modules",
    "optim": "Optimisers",
    "optim.lr_scheduler": "Schedules",
    "data": "Data sets and loaders",
    "types": "Array types",
    "types.structured": "Structured matrices",
    "testing": "Tests of array types",
    "overrides": "Overrides",
    "errors": "Errors and warnings",
}
# What is public in `dispatchkit` itself and is no operation.
SECTIONS = {
    "Array types and dispatch": (
        "array_type register_type field TypeTests ArrayMethods ArrayLike implements converts overridable operation "
        "Operation decline redispatch local_registrations DispatchProtocol tensor_protocol TensorFunctionMode "
        "disable_dispatch reset_modes kinds fallback holds"
    ),
    "Dense copies": "densify densify_ledger clear_densify_ledger",
    "Insight": "check explain rules which coverage audit record_calls draw checked verify set_progress",
    "Tensors": "Tensor arrays_of Generator manual_seed set_printoptions set_default_dtype get_default_dtype load save",
    "Comparison": "isclose allclose",
    "Compiled steps": "compile",
    "Versions": "show_config",
    "Gradients": "no_grad enable_grad set_grad_enabled is_grad_enabled",
    "Dtypes": "can_cast finfo iinfo isdtype result_type broadcast_shapes einsum_path",
}
KINDS = {
    "elementwise": "Elementwise functions",
    "reduction": "Reductions",
    "creation": "Creation",
    "manipulation": "Manipulation",
    "indexing": "Indexing",
    "assignment": "Assignment",
    "searching": "Searching",
    "sorting": "Sorting",
    "set": "Sets",
    "linalg": "Linear algebra",
    "random": "Random numbers",
    "conversion": "Conversion",
    "function": "Other functions",
}
# Values, which are listed without pages of their own.
VALUES = """
Dtypes and constants
--------------------

The dtypes are those of NumPy, with PyTorch's names for them.

{rows}
"""
HEAD = ".. title:: {module}\n\n{title}\n{rule}\n\n.. currentmodule:: {module}\n"
TABLE = "\n.. autosummary::\n   :toctree: generated\n   :nosignatures:\n\n"


def public_names(module: Any) -> list[str]:
    """Return what a namespace gives to users, without the modules and the plain values in it."""
    names = getattr(module, "__all__", None) or dir(module)
    return sorted(name for name in names if name[0] != "_" and not is_value(getattr(module, name)))


def is_value(value: Any) -> bool:
    """Return whether a public value is a module, a dtype or a constant."""
    return inspect.ismodule(value) or isinstance(value, (np.dtype, float, str, type(None)))


def forget_old_pages(folder: Path, names: set[str]) -> None:
    """Remove the pages of names that are public no more."""
    for path in (folder / "generated").glob("*.rst"):
        if path.stem not in names:
            path.unlink()


def values_table() -> str:
    """Return the table of dtypes and constants."""
    named = [(name, getattr(dk, name)) for name in dir(dk) if name[0] != "_"]
    plain = [(name, value) for name, value in named if is_value(value) and not inspect.ismodule(value)]
    return VALUES.format(rows="\n".join(f"- ``dispatchkit.{name}``: ``{value}``" for name, value in plain))


def kinds_of() -> dict[int, str]:
    """Return the outermost kind of each operation's function, by the function's id."""
    found = {}
    for functions in dk.overrides.get_overridable_functions().values():
        for function in functions:
            operation = dk.tensor_protocol.operation(function)
            if operation is not None and operation.kind is not None:
                lineage = [kind.name for kind in operation.kind.lineage()]
                found[id(function)] = next((name for name in lineage if name in KINDS), "function")
    return found


def root_sections() -> Iterator[tuple[str, list[str]]]:
    """Yield the sections of `dispatchkit` itself; errors have a page of their own."""
    left = [name for name in public_names(dk) if name not in dk.errors.__all__]
    for title, names in SECTIONS.items():
        here = [name for name in names.split() if name in left]
        left = [name for name in left if name not in here]
        yield title, here
    kinds = kinds_of()
    for kind, title in KINDS.items():
        here = [name for name in left if kinds.get(id(getattr(dk, name))) == kind]
        left = [name for name in left if name not in here]
        if here:
            yield title, here
    if left:
        raise ValueError(f"docs/_ext/api_pages.py: no section for {', '.join(left)}")


def page(title: str, module: str, sections: list[tuple[str, list[str]]]) -> str:
    """Return the page of a namespace."""
    text = HEAD.format(title=title, rule="=" * len(title), module=module)
    for heading, names in sections:
        if heading:
            text += f"\n{heading}\n{'-' * len(heading)}\n"
        text += TABLE + "".join(f"   {name}\n" for name in names)
    return text


def write(path: Path, text: str) -> None:
    """Write a page where it differs, so that a second build is short."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def write_pages(app: Any) -> None:
    """Write the page of each namespace and the list of them."""
    folder = Path(app.srcdir) / "reference" / "api"
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "dispatchkit.rst", page("dispatchkit", "dispatchkit", list(root_sections())) + values_table())
    names = {f"dispatchkit.{name}" for name in public_names(dk)}
    listed = {"dispatchkit": ("dispatchkit", dk)}
    for name, title in TITLES.items():
        module = import_module(f"dispatchkit.{name}")
        heading = f"{name}: {title}"
        listed[name.replace(".", "-")] = heading, module
        names.update(f"{module.__name__}.{public}" for public in public_names(module))
        path = folder / f"{name.replace('.', '-')}.rst"
        write(path, page(heading, module.__name__, [("", public_names(module))]))
    forget_old_pages(folder, names)
    write(folder / "index.rst", index(listed))


def index(listed: dict[str, tuple[str, Any]]) -> str:
    """Return the list of the pages of namespaces: the first sentences of their docstrings."""
    text = "API\n===\n\nEvery public name, by namespace.\n\n"
    for place, (_, module) in listed.items():
        sentence = (module.__doc__ or "").splitlines()[0].removeprefix("dispatchkit: ")
        text += f"- :doc:`{module.__name__} <{place}>`: {sentence[0].upper()}{sentence[1:]}\n"
    text += "\n.. toctree::\n   :hidden:\n   :caption: Namespaces\n\n"
    return text + "".join(f"   {heading} <{place}>\n" for place, (heading, _) in listed.items())


def setup(app: Any) -> dict[str, bool]:
    """Have the pages written before Sphinx looks for pages."""
    app.connect("config-inited", lambda app, _: write_pages(app))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
