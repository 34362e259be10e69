"""Sphinx configuration; built by `make docs` with warnings as errors."""

from rpsr import __version__

project = "rpsr"
author = "the rpsr contributors"
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
myst_enable_extensions = ["dollarmath", "deflist"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"rpsr {version}"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_default_options = {"members": True, "show-inheritance": True}


def setup(app):
    """Docstrings are written for people reading code: a bar is a bar, not reStructuredText."""

    def escape_bars(app, what, name, obj, options, lines):
        if not name.startswith("rpsr.domains"):  # whose pictures are literal blocks
            lines[:] = [line.replace("|", "\\|") for line in lines]

    app.connect("autodoc-process-docstring", escape_bars)
