"""What changes in a checkout for a release: the version, the changelog, the list of versions of the site."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

__all__ = ["ADDRESSES", "Addresses", "ReleaseError", "prepare", "version_of"]

VERSION = re.compile(r'^__version__ = "(.*)"$', re.MULTILINE)
FINAL = re.compile(r"\d+\.\d+\.\d+((a|b|rc)\d+)?")
SWITCHER = Path("docs", "_static", "switcher.json")


class ReleaseError(Exception):
    """Says why there is no release."""


class Addresses:
    """Where repository and site are.

    Parameters
    ----------
    repository : address of the repository on GitHub
    site : address of the documentation, in which each version has a folder
    """

    def __init__(self, repository: str, site: str) -> None:
        self.repository = repository.rstrip("/")
        self.site = site.rstrip("/")

    @property
    def files(self) -> str:
        """Address of the files of the repository as they are."""
        return self.repository.replace("://github.com/", "://raw.githubusercontent.com/")

    def put_into(self, root: Path, files: list[Path]) -> list[Path]:
        """Write these addresses into files in the place of those of the checkout, and return the files that had some.

        Parameters
        ----------
        root : folder of a checkout
        files : to look into, from there; those that are no text stay as they are
        """
        changed = []
        for file in files:
            path = root / file
            try:
                text = path.read_text()
            except UnicodeDecodeError:
                continue
            new = text.replace(ADDRESSES.files, self.files)
            new = new.replace(ADDRESSES.repository, self.repository).replace(ADDRESSES.site, self.site)
            if new != text:
                path.write_text(new)
                changed.append(file)
        return changed


# Those in the checkout, which a program that publishes puts its own in the place of.
ADDRESSES = Addresses("https://github.com/dispatchkit/dispatchkit", "https://dispatchkit.github.io/dispatchkit")


def version_of(root: Path) -> str:
    """Return the version of a checkout.

    Raises
    ------
    ReleaseError : if the package does not state one
    """
    found = VERSION.search((root / "dispatchkit" / "__init__.py").read_text())
    if found is None:
        raise ReleaseError('release: dispatchkit/__init__.py has no line __version__ = "..."')
    return found[1]


def prepare(root: Path, version: str) -> None:
    """Write a version into a checkout: into the package, the changelog and the list of versions of the site.

    Parameters
    ----------
    root : folder of the checkout
    version : of the release, such as ``0.2.0`` or ``0.2.0rc1``

    Raises
    ------
    ReleaseError : if it is no version, not a new one, or nothing has changed since the last
    """
    if FINAL.fullmatch(version) is None:
        raise ReleaseError(f"release: a version is written 0.2.0 or 0.2.0rc1, found {version!r}")
    before = version_of(root)
    if version == before or f"\n## {version}\n" in (root / "docs" / "changelog.md").read_text():
        raise ReleaseError(f"release: there is a version {version} already; the package is at {before}")
    fragments = [path for path in (root / "docs" / "changelog.d").iterdir() if path.name != "README.md"]
    if not fragments:
        raise ReleaseError("release: docs/changelog.d has no fragments, so that nothing has changed for users")
    command = [sys.executable, "-m", "towncrier", "build", "--yes", "--version", version]
    subprocess.run(command, cwd=root, check=True)
    package = root / "dispatchkit" / "__init__.py"
    package.write_text(VERSION.sub(f'__version__ = "{version}"', package.read_text()))
    _list_on_site(root / SWITCHER, version)


def _list_on_site(path: Path, version: str) -> None:
    """Put a version at the top of those that the switcher of the site shows, as the one that readers are pointed to."""
    others = json.loads(path.read_text())
    for entry in others:
        entry.pop("preferred", None)
    tag = f"v{version}"
    new = {"name": version, "version": tag, "url": f"{ADDRESSES.site}/{tag}/", "preferred": True}
    path.write_text(json.dumps([new, *others], indent=2) + "\n")
