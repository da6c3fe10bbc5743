"""A plugin that tells mypy what `array_type` and `implements` do.

In ``pyproject.toml``::

    [tool.mypy]
    plugins = ["dispatchkit.mypy_plugin"]

Decorated classes have their operators and methods, operations on them have the results that the registered handlers
are annotated with, and a handler that does not fit its operation is reported at its definition.
"""

from __future__ import annotations

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
