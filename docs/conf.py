"""The Sphinx configuration of these pages; ``make docs`` treats warnings as errors."""

import inspect
import re
from importlib.metadata import version as installed
from typing import Any

project = "kafkatx"
author = "the kafkatx authors"
release = version = installed("kafkatx")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "examples", "performance"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True

html_theme = "furo"  # readable on a phone; a table wider than the page scrolls by itself
html_title = f"kafkatx {version}"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
pygments_style = "friendly"
pygments_dark_style = "native"
copybutton_prompt_text = "$ "
html_copy_source = False


def returned(name: str, function: Any, annotation: str | None) -> str | None:
    """Return the text of a method's return annotation.

    A method that is written as a coroutine and returns a Deferred is shown by the coroutine's annotation, and
    the facades for asyncio and threads by type variables.
    """
    kind = name.split(".")[-2]
    for variable, stands_for in (("F", kind), ("S", "MessageStream")):
        annotation = annotation and re.sub(rf"~[\w.]+\.{variable}\b", stands_for, annotation)
    if inspect.iscoroutinefunction(inspect.unwrap(function)) and not inspect.iscoroutinefunction(function):
        return f"Deferred[{annotation}]"
    return annotation


def setup(app: Any) -> None:
    """Set Sphinx up."""

    def signature(
        app: Any, what: str, name: str, told: Any, options: Any, arguments: Any, annotation: Any
    ) -> Any:
        return arguments, returned(name, told, annotation) if what == "method" else annotation

    app.connect("autodoc-process-signature", signature)
