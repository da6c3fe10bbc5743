"""What is uploaded: source distributions and wheels, built from a commit, checked, and installed anew."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import venv
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from .steps import Addresses, ReleaseError, version_of

__all__ = ["build_all", "export", "tracked"]


def export(root: Path, commit: str, to: Path) -> list[Path]:
    """Write the files of a commit into a folder, and return them, from there."""
    archive = subprocess.run(["git", "archive", commit], cwd=root, check=True, capture_output=True).stdout  # noqa: S607
    with tarfile.open(fileobj=BytesIO(archive)) as files:
        files.extractall(to, filter="data")
        return [Path(member.name) for member in files.getmembers() if member.isfile()]


def tracked(root: Path) -> list[Path]:
    """Return the files of a checkout that belong to the project, from there."""
    listed = subprocess.run(["git", "ls-files"], cwd=root, check=True, capture_output=True, text=True)  # noqa: S607
    return [Path(line) for line in listed.stdout.splitlines()]


def build_all(root: Path, out: Path, addresses: Addresses, tag: str | None = None) -> list[Path]:
    """Build both packages of the last commit, and check what came.

    Parameters
    ----------
    root : folder of the checkout
    out : folder for the distributions, which are alone in it afterwards
    addresses : of the repository and the site, for the metadata and the links of the README
    tag : of the commit, which has to be that of the version, ``v0.2.0``

    Returns
    -------
    paths of the distributions

    Raises
    ------
    ReleaseError : if the tag is that of another version
    """
    version = version_of(root)
    if tag is not None and tag != f"v{version}":
        raise ReleaseError(f"release: the tag of version {version} is v{version}, found {tag}")
    shutil.rmtree(out, ignore_errors=True)
    with TemporaryDirectory() as folder:
        work = Path(folder, "source")
        addresses.put_into(work, export(root, "HEAD", work))
        for package in (work, work / "accelerator"):
            _run([sys.executable, "-m", "build", "--outdir", str(out), str(package)])
        built = sorted(out.iterdir())
        _run([sys.executable, "-m", "twine", "check", "--strict", *map(str, built)])
        _try_wheels([path for path in built if path.suffix == ".whl"], Path(folder))
    return built


def _try_wheels(wheels: list[Path], folder: Path) -> None:
    """Install wheels where nothing else is, and run the program to read, and again with the compiled core."""
    place = folder / "installed"
    venv.create(place, with_pip=True)
    python = place / "bin" / "python"
    if os.name == "nt":
        python = place / "Scripts" / "python.exe"
    elsewhere = folder / "elsewhere"  # a folder that has no dispatchkit
    elsewhere.mkdir()
    for wheel in sorted(wheels, key=lambda path: "accelerator" in path.name):
        _run([str(python), "-m", "pip", "install", "--quiet", str(wheel)], elsewhere)
        _run([str(python), "-m", "dispatchkit", "--version"], elsewhere)
        _run([str(python), "-m", "dispatchkit", "tour"], elsewhere)


def _run(command: list[str], folder: Path | None = None) -> None:
    subprocess.run(command, cwd=folder, check=True)
