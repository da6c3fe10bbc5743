"""Writes the files that are made from others, or says which are not as they would be written.

``python -m tests.programs.generated`` (``nox -s generated``) writes them all, ``--check`` writes none and exits with 1
where one is out of date. Names choose some: ``stubs`` and ``pages`` all of these, or the name of a file. A page that
needs a library which is not installed is left out, and named.

Each is made in an interpreter of its own: operations and types that others declare would be in it, too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

__all__ = ["GENERATED", "Generated", "main"]

ROOT = Path(__file__).parents[2]
MAKE = "import json, sys; from {module} import {function} as make; sys.stdout.write(json.dumps(make()))"


@dataclass(frozen=True)
class Generated:
    """Files that one function makes.

    Attributes
    ----------
    name : of the file, or of the folder of several
    sort : ``"stubs"`` or ``"pages"``
    module, function : what makes them: texts by their paths from the root
    needs : libraries without which they cannot be made, with the beginning of the version that they are made with
    all_of : pattern of the files that are all made here: others are deleted
    """

    name: str
    sort: str
    module: str
    function: str = "make_files"
    needs: tuple[str, ...] = ()
    all_of: str = ""

    def missing(self) -> list[str]:
        """Return the libraries that are not installed, or of another version."""
        return [need for need in self.needs if not is_installed(need)]

    def make(self) -> dict[str, str]:
        """Return the texts as they are to be, by their paths from the root."""
        program = MAKE.format(module=self.module, function=self.function)
        done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
        texts: dict[str, str] = json.loads(done.stdout)
        return texts


GENERATED = [
    Generated("surface.pyi", "stubs", "tests.typing.surface_stub"),
    Generated("as_torch", "stubs", "tests.typing.as_torch_stub", all_of="dispatchkit/as_torch/**/*.pyi"),
    Generated("defining-types.md", "pages", "tests.protocol.kinds_page"),
    Generated("coverage-of-types.md", "pages", "tests.report.shipped", needs=("scipy",)),
    Generated("differences.md", "pages", "tests.programs.oracles.page"),
    Generated("as-torch-differences.md", "pages", "tests.programs.fuzz.as_torch.page"),
    Generated("dtypes.csv", "tables", "tests.as_torch.dtypes", needs=("torch 2.13", "expecttest")),
    Generated("homes.csv", "tables", "tests.as_torch.homes", needs=("torch 2.13",)),
    Generated("names.csv", "tables", "tests.as_torch.names", needs=("torch 2.13",)),
    Generated("signatures.csv", "tables", "tests.as_torch.signatures", needs=("torch 2.13", "expecttest")),
    Generated("predictions.md", "pages", "tests.report.agreement", needs=("scipy",)),
    Generated("numpy-functions.md", "pages", "tests.interop.numpy_page", needs=("numpy 2.4",)),
    Generated("pytorch-functions.md", "pages", "tests.interop.torch_page", needs=("torch 2.13",)),
    Generated("as-torch-names.md", "pages", "tests.as_torch.page", needs=("torch 2.13", "scipy")),
    Generated(
        "one-type-everywhere.md",
        "pages",
        "tests.interop.everywhere_page",
        needs=("array_api_compat", "dask", "einops", "jax", "opt_einsum", "pint", "scipy", "torch", "xarray"),
    ),
]


def is_installed(need: str) -> bool:
    """Return whether a library is installed, in the version that stands behind its name if there is one."""
    name, _, start = need.partition(" ")
    if find_spec(name) is None:
        return False
    return not start or f"{version(name)}.".startswith(f"{start}.")


def chosen(names: Sequence[str], listed: Iterable[Generated]) -> list[Generated]:
    """Return what some names stand for, all without names.

    Raises
    ------
    SystemExit : for a name that stands for nothing
    """
    listed = list(listed)
    known = {word for one in listed for word in (one.sort, one.name)}
    for name in names:
        if name not in known:
            raise SystemExit(f"nothing is generated under the name {name!r}; there are {', '.join(sorted(known))}")
    return [one for one in listed if not names or one.sort in names or one.name in names]


def stale_files(texts: dict[str, str], all_of: str = "", root: Path = ROOT) -> list[str]:
    """Return the paths of files that are not as they would be written, or would not be there."""
    stale = []
    for path, text in texts.items():
        file = root / path
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            stale.append(path)
    if all_of:
        there = [file.relative_to(root).as_posix() for file in root.glob(all_of)]
        stale += sorted(set(there) - texts.keys())
    return stale


def write(texts: dict[str, str], stale: Iterable[str], root: Path = ROOT) -> None:
    """Write files that are not as they are to be, and delete those that are not to be there."""
    for path in stale:
        file = root / path
        if path in texts:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(texts[path], encoding="utf-8")
        else:
            file.unlink()


def run(listed: Iterable[Generated], check: bool, say: Callable[[str], object] = print, root: Path = ROOT) -> int:
    """Write files, or compare them; return the exit status."""
    out_of_date, possible = [], []
    for one in listed:
        missing = one.missing()
        if missing:
            say(f"{one.name}: left out, as it needs {', '.join(missing)}")
        else:
            possible.append(one)
    # Each waits for a process of its own.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        texts_of_each = list(pool.map(lambda one: one.make(), possible))
    for one, texts in zip(possible, texts_of_each, strict=True):
        stale = stale_files(texts, one.all_of, root)
        if not stale:
            say(f"{one.name}: up to date")
        elif check:
            out_of_date.append(one.name)
            say(f"{one.name}: out of date: {', '.join(stale)}")
        else:
            write(texts, stale, root)
            say(f"{one.name}: wrote {', '.join(stale)}")
    if out_of_date:
        say(f"These are not as they would be written. Run: nox -s generated -- {' '.join(out_of_date)}")
        return 1
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, and write or compare."""
    parser = argparse.ArgumentParser(prog="nox -s generated --", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="stubs, pages or the names of files; by default all")
    parser.add_argument("--check", action="store_true", help="write nothing, and exit with 1 where one is out of date")
    options = parser.parse_args(arguments)
    return run(chosen(options.names, GENERATED), options.check)


if __name__ == "__main__":
    sys.exit(main())
