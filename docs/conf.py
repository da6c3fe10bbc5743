"""How Sphinx builds the site: `nox -s docs` writes it to docs/_build/html."""

import os
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import sources  # noqa: E402

import dispatchkit as dk  # noqa: E402

project = "dispatchkit"
author = "The dispatchkit developers"
project_copyright = "The dispatchkit developers"
version = release = dk.__version__
REPOSITORY = "https://github.com/dispatchkit/dispatchkit"
# The tag that is released, as CONTRIBUTING.md says; the site of a release is next to that of the branch `main`.
TAG = os.environ.get("DISPATCHKIT_TAG")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.linkcode",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "api_pages",
    "docstrings",
    "measurements",
    "notebooks",
    "pictures",
    "sources",
]
exclude_patterns = ["_build", "_ext", "changelog.d", "template"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

# Single backquotes in docstrings are code, or a link where they name something that has a page.
default_role = "code_or_link"
highlight_language = "none"  # of blocks that name none
myst_enable_extensions = ["attrs_block", "colon_fence", "deflist"]
myst_heading_anchors = 4

autodoc_typehints = "none"  # docstrings state types in words
autodoc_member_order = "groupwise"
autosummary_generate = True
templates_path = ["_templates"]
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
numpydoc_attributes_as_param_list = True
# What the docstrings of public functions and classes must have; the build fails where one lacks it.
numpydoc_validation_checks = {
    *("EX01", "GL07", "GL08", "PR01", "PR02", "PR03", "PR07", "PR08", "PR09", "RT01", "RT03", "RT04", "RT05"),
    *("SS02", "SS03", "SS05", "SS06", "YD01"),
}
numpydoc_validation_exclude = {
    r"\.[A-Z]\w*\.",  # members of classes, which tests/site/test_docstrings.py validates
    r"\.[A-Z]\w*(Error|Warning|Result)$",  # the library makes these; reference/errors.md has the examples
    r"\.(Check|Conformance|Failure|Function|FunctionCtx)$",  # records of the library, and a class without instances
    r"\.(ArrayLike|kinds|fallback|tensor_protocol|default_generator|disable_dispatch|required|CHECKS)\b",  # values
    r"\.(check_type|coverage|register_type)$",  # numpydoc takes their first parameter, `cls`, for a class
}
# Checks that mean nothing for a member of a class: the example of its class shows the members at work.
not_of_members = {"EX01"}

# What is copied of a session at the prompt: what one types.
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "dispatchkit"
html_static_path = ["_static"]
html_css_files = ["dispatchkit.css"]
html_favicon = "_static/favicon.svg"
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_copy_source = False
html_search_scorer = str(HERE / "_ext" / "search.js")
html_sidebars = {"changelog": []}
html_theme_options = {
    "github_url": REPOSITORY,
    "switcher": {
        "json_url": "../main/_static/switcher.json" if TAG else "_static/switcher.json",
        "version_match": TAG or "main",
    },
    "check_switcher": False,  # a test reads the file
    "show_version_warning_banner": True,
    "navbar_end": ["version-switcher", "theme-switcher", "navbar-icon-links"],
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "use_edit_page_button": True,
    "secondary_sidebar_items": ["page-toc", "edit-this-page"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}


def linkcode_resolve(domain: str, info: dict[str, str]) -> str | None:
    """Return where [source] leads to."""
    return sources.source(REPOSITORY, TAG or "main", info)


def without_contents(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Leave the list of contents out where two columns of code need the room."""
    if page.startswith("coming-from/"):
        context["meta"] = {**(context.get("meta") or {}), "html_theme.sidebar_secondary.remove": "true"}


def setup(app: Any) -> None:
    """Come before the theme, which has priority 500."""
    app.connect("html-page-context", without_contents, priority=100)
