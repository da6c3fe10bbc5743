"""The docstrings of what the API pages show, by numpydoc: functions, classes, and members of classes."""

from __future__ import annotations

import inspect
import re
import runpy
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import dispatchkit as dk

validate: Any = pytest.importorskip("numpydoc.validate", reason="nox -s lint installs numpydoc")
scrape: Any = import_module("numpydoc.docscrape_sphinx")

CONF = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "conf.py"))  # lets docs/_ext be imported
PAGES: Any = import_module("api_pages")
DOCSTRINGS: Any = import_module("docstrings")


CHECKS = CONF["numpydoc_validation_checks"]


def public() -> dict[str, Any]:
    """Return the public objects by their names."""
    modules = [import_module(f"dispatchkit.{name}".rstrip(".")) for name in ("", *PAGES.TITLES)]
    return {f"{one.__name__}.{name}": getattr(one, name) for one in modules for name in PAGES.public_names(one)}


def classes() -> list[type]:
    return list(dict.fromkeys(value for value in public().values() if inspect.isclass(value)))


def found_in(value: Any, shape: str) -> list[tuple[str, str]]:
    """Return what numpydoc finds in a docstring."""
    text = "\n".join(DOCSTRINGS.long_form((inspect.getdoc(value) or "").splitlines()))
    found = validate.validate(scrape.get_doc_object(value, shape, text, config={}))["errors"]
    return [(code, message) for code, message in found if code in CHECKS]


def test_functions_and_classes_have_numpydocs_form() -> None:
    excluded = "|".join(CONF["numpydoc_validation_exclude"])
    named = {
        name: value
        for name, value in public().items()
        if not re.search(excluded, name) and (inspect.isclass(value) or inspect.isroutine(value))
    }
    assert len(named) > 400
    shapes = {name: "class" if inspect.isclass(value) else "function" for name, value in named.items()}
    assert {name: found for name, value in named.items() if (found := found_in(value, shapes[name]))} == {}


def shown(cls: type) -> Iterator[tuple[str, Any]]:
    """Yield the members of a class that its page shows, and the methods that lack a docstring."""
    home = cls.__module__.partition(".")[0]
    for name in dir(cls) if cls is dk.Tensor else vars(cls):
        raw = inspect.getattr_static(cls, name)
        if inspect.isfunction(raw) and raw.__module__.partition(".")[0] != home:
            continue  # a program's own operation, which has a method
        value = raw if isinstance(raw, property) else getattr(cls, name)
        text = inspect.getdoc(value) or ""
        written = text and text != inspect.getdoc(type(value))
        if name[0] != "_" and not DOCSTRINGS.is_hidden(value) and (written or inspect.isroutine(value)):
            yield name, value


def described(base: type, name: str) -> set[str]:
    """Return the names of parameters in the docstring that a class itself has for a member."""
    text = inspect.getdoc(vars(base).get(name)) or ""
    section = text.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    return set(re.findall(r"[*\w]+", " ".join(re.findall(r"^\S[^:]*", section, re.MULTILINE))))


def faults(cls: type, name: str) -> list[str]:
    """Return what numpydoc finds in the docstring of a member, without what members need not have."""
    value = dict(shown(cls))[name]
    text = inspect.getdoc(value) or ""
    return [
        f"{code}: {message}"
        for code, message in found_in(value, "method" if callable(value) else "attribute")
        if code not in CONF["not_of_members"]
        and not (code == "GL08" and text)  # inherited
        and not (code == "RT01" and text.startswith("Return "))  # the summary says it
        and not (code == "PR01" and any(missing(message) <= described(base, name) for base in cls.__mro__[1:]))
        and not (code == "PR01" and missing(message) == {"cls"})  # the class itself in the bound form, dk.array_type
    ]


def missing(message: str) -> set[str]:
    """Return the names of the parameters that a message of numpydoc misses; a base may describe them."""
    return set(re.findall(r"'([^']+)'", message))


@pytest.mark.parametrize("cls", classes(), ids=lambda cls: f"{cls.__module__}.{cls.__name__}")
def test_the_members_of_a_class_have_numpydocs_form(cls: type) -> None:
    assert {name: found for name, _ in shown(cls) if (found := faults(cls, name))} == {}


class Faulty:
    """A class with docstrings that lack something."""

    def silent(self) -> None:
        pass

    def terse(self, size: int) -> int:
        """Double a size"""  # noqa: D400
        return 2 * size

    def whole(self, size: int) -> int:
        """Return the double of a size.

        Parameters
        ----------
        size : in rows
        """
        return 2 * size


class Derived(Faulty):
    """A class with a method that its base describes."""

    def whole(self, size: int) -> int:
        """Return the triple."""
        return 3 * size


def test_what_a_docstring_lacks_is_found() -> None:
    assert faults(Faulty, "silent") == ["GL08: The object does not have a docstring"]
    assert faults(Faulty, "terse") == [
        "SS03: Summary does not end with a period",
        "PR01: Parameters {'size'} not documented",
        "RT01: No Returns section found",
    ]
    assert faults(Faulty, "whole") == faults(Derived, "whole") == []
