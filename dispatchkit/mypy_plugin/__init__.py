"""A plugin that tells mypy what `array_type` and `implements` do.

In ``pyproject.toml``::

    [tool.mypy]
    plugins = ["dispatchkit.mypy_plugin"]

Decorated classes have their operators and methods, and a handler that does not fit its operation is reported at its
definition. All else, such as the keywords of operations and their results on tensors, mypy reads from the annotations.
"""

from __future__ import annotations

from dispatchkit import __version__ as __version__  # by which mypy's cache goes

try:
    from dispatchkit.mypy_plugin.hooks import DispatchPlugin
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "mypy":
        raise
    raise ModuleNotFoundError(
        "dispatchkit.mypy_plugin is a plugin of mypy, which is not installed: pip install mypy",
        name=error.name,
    ) from error


def plugin(version: str) -> type[DispatchPlugin]:
    """Return the plugin for a version of mypy, which looks for a function of this name.

    Parameters
    ----------
    version : of mypy; the plugin is tested with 2.4
    """
    return DispatchPlugin
