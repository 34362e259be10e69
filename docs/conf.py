"""Sphinx configuration; built by `make docs` with warnings as errors."""

import json
import sys
from pathlib import Path

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

from rpsr import __version__
from rpsr.planning import ProgressRow
from rpsr.report import plot_bounds
from rpsr.report.plots.svg import inline_svg

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
from learning import plot_consistency

sys.path.append(str(Path(__file__).parent))
import commands
from docstrings import with_fields

project = "rpsr"
author = "the rpsr contributors"
copyright = author
release = version = __version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "force"  # pages with code cells are notebooks, run at every build
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_execution_show_tb = True
exclude_patterns = ["_build"]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"  # formulas that need no network to be read
html_title = f"rpsr {version}"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "all"  # a type for every parameter
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True}
autodoc_type_aliases = {name: name for name in ("Floats", "Ints", "Bools")}  # arrays


def setup(app):
    """Docstrings are written for people reading code: a bar is a bar, not reStructuredText."""

    def escape_bars(app, what, name, obj, options, lines):
        if not name.startswith("rpsr.domains"):  # whose pictures are literal blocks
            literal = what == "module"
            lines[:] = [
                line if literal and line.startswith("    ") else line.replace("|", "\\|")
                for line in lines
            ]

    def as_written(app, what, name, obj, options, lines):
        if what in ("property", "attribute") and lines:  # `a: b` is a sentence, not a type
            lines[0] = lines[0].replace(": ", "; ")
        if what == "module" and not name.startswith("rpsr.domains"):
            shown, indented = [], False
            for line in lines:  # indented lines are formulas: keep their line breaks
                starts = line.startswith("    ") and not indented
                if starts and shown and not shown[-1].strip():
                    shown += ["::", ""]
                indented = line.startswith("    ") or (indented and not line.strip())
                shown.append(line)
            lines[:] = shown

    def with_bounds(app, page, source):
        """In place of its mark, the measured bounds of `bounds.json`, drawn."""
        mark = "<!-- bounds over time: hallway -->"
        if mark not in source[0]:
            return
        measured = json.loads((Path(__file__).parent / "howto" / "bounds.json").read_text())
        traces = {
            name: [ProgressRow(seconds, 0, lower, upper) for seconds, lower, upper in rows]
            for name, rows in measured["hallway"].items()
        }
        alt = "Lower and upper bounds of both programs over 30 seconds; ours are closer throughout"
        svg = inline_svg(plot_bounds(traces), alt=alt, prefix="bounds")
        drawn = f"<div class=drawn>{svg}</div>"
        source[0] = source[0].replace(mark, f"```{{raw}} html\n{drawn}\n```")

    def with_consistency(app, page, source):
        """In place of its mark, the measured errors of `learning.json`, drawn."""
        mark = "<!-- error by length of log -->"
        if mark not in source[0]:
            return
        measured = json.loads((Path(__file__).parent / "explanation" / "learning.json").read_text())
        alt = "Errors of predictions on three domains; each falls as the root of the log's length"
        figure = plot_consistency(measured["steps"], measured["curves"])
        svg = inline_svg(figure, alt=alt, prefix="consistency")
        drawn = f"<div class=drawn>{svg}</div>"
        source[0] = source[0].replace(mark, f"```{{raw}} html\n{drawn}\n```")

    def hide_boilerplate(app, what, name, obj, skip, options):
        """How an object shows itself is not for users to call."""
        return True if name in ("title", "facts", "columns") else skip

    def with_commands(app, page, source):
        """In place of its mark, the help of every command."""
        source[0] = source[0].replace("<!-- commands -->", commands.reference())

    def as_mathml(display):
        def visit(writer, node):
            writer.body.append(convert(node.astext(), display=display))
            raise SkipNode

        return visit, None

    app.add_html_math_renderer("mathml", as_mathml("inline"), as_mathml("block"))
    app.connect("autodoc-process-docstring", escape_bars, priority=600)
    app.connect("autodoc-process-docstring", as_written, priority=400)
    app.connect("autodoc-process-docstring", with_fields, priority=500)
    app.connect("autodoc-skip-member", hide_boilerplate)
    app.connect("source-read", with_commands)
    app.connect("source-read", with_bounds)
    app.connect("source-read", with_consistency)
