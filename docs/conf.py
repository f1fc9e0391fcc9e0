"""How Sphinx builds these pages; ``make docs`` treats its warnings as errors."""

from importlib.metadata import version as installed

project = "kafkatx"
author = "the kafkatx authors"
release = version = installed("kafkatx")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "examples"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True

html_theme = "alabaster"
html_theme_options = {"description": "A Kafka that you pip install", "fixed_sidebar": True}
html_copy_source = False
