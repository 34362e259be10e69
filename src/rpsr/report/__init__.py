"""Tables, figures and pages: what people look at."""

from rpsr.report.page import Figure, Page, Section, Text, write_page
from rpsr.report.stepper import Stepper, Steps
from rpsr.report.svg import png_bytes, svg_text
from rpsr.report.tables import Estimate, Table

__all__ = [
    "Estimate",
    "Figure",
    "Page",
    "Section",
    "Stepper",
    "Steps",
    "Table",
    "Text",
    "png_bytes",
    "svg_text",
    "write_page",
]
