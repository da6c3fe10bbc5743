"""Signatures and annotations of any function and class, also where a name in an annotation is not defined yet.

From Python 3.14 on, annotations are computed when somebody reads them. A name that only type checkers import, or that
is defined further down, is an error then, as it is not with ``from __future__ import annotations``. Here it stands for
itself, as a `typing.ForwardRef`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["annotation_texts", "annotations_of", "copy_annotations", "module_of", "read_signature"]


def module_of(function: Any) -> str:
    """Return the name of the module of a function; code that is run without one counts as the program's."""
    return getattr(function, "__module__", None) or "__main__"


if sys.version_info >= (3, 14):
    import annotationlib

    def read_signature(function: Callable[..., Any], *, follow_wrapped: bool = True) -> inspect.Signature:
        """Return the signature of a function."""
        undefined = annotationlib.Format.FORWARDREF
        return inspect.signature(function, follow_wrapped=follow_wrapped, annotation_format=undefined)

    def annotations_of(thing: Any) -> dict[str, Any]:
        """Return the annotations of a function, or of a class without those of its superclasses."""
        return annotationlib.get_annotations(thing, format=annotationlib.Format.FORWARDREF)

    def annotation_texts(thing: Any) -> dict[str, str]:
        """Return the annotations as they are written."""
        return annotationlib.get_annotations(thing, format=annotationlib.Format.STRING)

    def copy_annotations(function: Any, original: Any) -> None:
        """Give a function the annotations of another, computed when they are read."""
        function.__annotate__ = getattr(original, "__annotate__", None)

else:

    def read_signature(function: Callable[..., Any], *, follow_wrapped: bool = True) -> inspect.Signature:
        """Return the signature of a function."""
        return inspect.signature(function, follow_wrapped=follow_wrapped)

    def annotations_of(thing: Any) -> dict[str, Any]:
        """Return the annotations of a function, or of a class without those of its superclasses."""
        return inspect.get_annotations(thing)

    def annotation_texts(thing: Any) -> dict[str, str]:
        """Return the annotations as they are written."""
        return inspect.get_annotations(thing)

    def copy_annotations(function: Any, original: Any) -> None:
        """Give a function the annotations of another."""
        if hasattr(original, "__annotations__"):
            function.__annotations__ = original.__annotations__
