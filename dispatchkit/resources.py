"""Reads the files that come with the library: tables, styles and pages.

`importlib.resources` would do the same, and takes as long to load as a tenth of this library.
"""

from __future__ import annotations

import csv
import io
import pkgutil


def read_text(package: str, file: str) -> str:
    """Return the text of a file.

    Parameters
    ----------
    package : in whose folder it is
    file : its name

    Raises
    ------
    FileNotFoundError : if the package has no such file
    """
    content = pkgutil.get_data(package, file)
    if content is None:
        raise FileNotFoundError(f"{package} was loaded in a way that gives no files; {file} is needed")
    return content.decode("utf-8")


def read_rows(package: str, file: str) -> list[dict[str, str]]:
    """Return the rows of a table, a text by the name of each column.

    Parameters
    ----------
    package : in whose folder it is
    file : its name; commas stand between its columns, and their names in its first row

    Raises
    ------
    FileNotFoundError : if the package has no such file
    """
    return list(csv.DictReader(io.StringIO(read_text(package, file), newline="")))
