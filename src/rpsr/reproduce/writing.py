"""All files of a reproduction: text, Markdown, LaTeX, CSV, figures, the page, and JSON.

Files are written whole or not at all. Equal results give equal bytes; durations are in
`timings.json` only.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

from rpsr._version import __version__
from rpsr.errors import InputError
from rpsr.io.files import write_bytes
from rpsr.report.page import Figure, Grid, Page, Text, write_page
from rpsr.report.plots.svg import png_bytes, svg_text
from rpsr.report.stepper import Stepper
from rpsr.report.tables import Table
from rpsr.reproduce import paper
from rpsr.reproduce.page import Exhibits, corpus_paragraph, page
from rpsr.reproduce.pieces import dumped
from rpsr.reproduce.story import TITLE, Findings, lead
from rpsr.reproduce.verdicts import Verdict

WIDTH = 100


def write_report(findings: Findings, exhibits: Exhibits, out: Path) -> None:
    """Write all files into a folder."""
    whole = page(findings, exhibits)
    files: dict[str, bytes] = {
        "report.txt": summary(findings, exhibits).encode(),
        "report.md": markdown(whole, exhibits).encode(),
        "results.json": dumped(document(findings)),
    }
    for name, table in exhibits.tables.items():
        files[f"tables/{name}.md"] = table.markdown().encode()
        files[f"tables/{name}.tex"] = table.latex().encode()
        files[f"tables/{name}.csv"] = table.csv().encode()
    for name, figure in exhibits.figures.items():
        files[f"figures/{name}.svg"] = svg_text(figure.drawing).encode()
        files[f"figures/{name}.png"] = png_bytes(figure.drawing)
    for folder in ("tables", "figures"):
        _make(out / folder)
    for name, content in files.items():
        write_bytes(out / name, content)
    _remove_earlier(out, set(files))
    write_page(whole, out / "report.html")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot create: {error.strerror or error}", place=str(folder)) from None


def _remove_earlier(out: Path, names: set[str]) -> None:
    """Remove files of an earlier run with other options, which could be mistaken for this run's.

    Only files that this program may have written are removed.
    """
    figures = [f"{kind}-{name}" for kind in ("returns", "convergence") for name in paper.DOMAINS]
    ours = [f"tables/corpus.{suffix}" for suffix in ("md", "tex", "csv")]
    ours += [f"figures/{name}.{suffix}" for name in figures for suffix in ("svg", "png")]
    for name in ours:
        if name not in names:
            (out / name).unlink(missing_ok=True)


# ---- text


def summary(findings: Findings, exhibits: Exhibits) -> str:
    """The text for the terminal: the opening, the main tables, and the verdicts."""
    parts = [TITLE.upper(), paragraphs(f"{lead(findings)}\n\n{findings.paragraph()}")]
    parts += [table_text(exhibits.tables[name]) for name in ("walks", "errors")]
    if findings.all_.corpus:
        parts.append(paragraphs(corpus_paragraph(findings.all_)))
    parts.append(table_text(exhibits.tables["returns"]))
    parts.append(_statements(findings))
    parts.append(_differences(findings))
    return "\n\n".join(part.rstrip("\n") for part in parts if part) + "\n"


def paragraphs(text: str) -> str:
    """Markdown as plain wrapped text."""
    plain = re.sub(r"[*`]", "", text)
    blocks = [" ".join(block.split()) for block in plain.split("\n\n")]
    return "\n\n".join(textwrap.fill(block, WIDTH) for block in blocks)


def table_text(table: Table) -> str:
    """A table with its caption and footnotes wrapped."""
    long = {table.caption, *table.footnotes}
    lines = table.text().splitlines()
    return "\n".join(textwrap.fill(line, WIDTH) if line in long else line for line in lines)


def _statements(findings: Findings) -> str:
    lines = ["The paper's statements, and what we find"]
    for claim in findings.claims:
        says = f"{claim.verdict.value.upper()}: {claim.says} (section {claim.where})."
        lines.append(textwrap.fill(says, WIDTH))
        lines.append(_indented(claim.finding + "."))
    return "\n".join(lines)


def _differences(findings: Findings) -> str:
    lines = ["Printed returns that do not clearly agree"]
    for cell in findings.all_.cells:
        if cell.judgement.verdict is Verdict.AGREES:
            continue
        place = f"{paper.POLICIES[cell.policy]} on {paper.DOMAINS[cell.domain]}"
        row = paper.REWARD_ROWS[cell.row]
        lines.append(
            f"{cell.judgement.verdict.value.upper()}: {place}, {row} rewards: {cell.printed}."
        )
        ours = f"{cell.low:.4f}{f' to {cell.high:.4f}' if cell.several else ''}"
        known = "about" if cell.estimate.exact is None else "exactly"
        away = f"{known} {ours}, {cell.judgement.distance:.1f} standard errors away"
        lines.append(_indented(f"{away}: {cell.judgement.reason}."))
    agreeing = sum(cell.judgement.verdict is Verdict.AGREES for cell in findings.all_.cells)
    lines.append(f"The other {agreeing} returns agree; tables/verdicts-returns has them all.")
    return "\n".join(lines)


def _indented(text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent="    ", subsequent_indent="    ")


# ---- Markdown


def markdown(whole: Page, exhibits: Exhibits) -> str:
    """The page as Markdown, with links to the figures' files."""
    names = {id(figure): name for name, figure in exhibits.figures.items()}

    def linked(figure: Figure) -> str:
        return f"![{figure.alt}](figures/{names[id(figure)]}.svg)\n{figure.caption}"

    parts = [f"# {whole.title}", whole.lead]
    if whole.verdict is not None:
        facts = "; ".join(f"{name}: {words}" for name, words in whole.verdict.facts)
        parts.insert(1, f"**{whole.verdict.title}** {facts}.")
    for section in whole.sections:
        parts.append(f"## {section.title}")
        for block in section.blocks:
            match block:
                case Text(markdown=text):
                    parts.append(text)
                case Table():
                    parts.append(block.markdown().rstrip("\n"))
                case Figure():
                    parts.append(linked(block))
                case Grid(figures=figures):
                    parts += map(linked, figures)
                case Stepper():
                    parts.append("Stepping needs a browser: open report.html.")
    return "\n\n".join([*parts, whole.footer]) + "\n"


# ---- JSON


def document(findings: Findings) -> dict[str, Any]:
    """All results and verdicts, by JSON key."""
    all_ = findings.all_
    return {
        "schema": "rpsr.reproduce/1",
        "version": __version__,
        "seed": all_.settings.seed,
        "quick": all_.settings.quick,
        "left_out": list(all_.settings.left_out),
        "confirmed": findings.confirmed,
        "statements": [
            {
                "where": claim.where,
                "says": claim.says,
                "found": claim.finding,
                "verdict": claim.verdict.value,
            }
            for claim in findings.claims
        ],
        "returns": [
            {
                "domain": cell.domain,
                "rewards": cell.row,
                "policy": cell.policy,
                "printed": [float(cell.printed.mean), float(cell.printed.std)],
                "mean": cell.estimate.mean,
                "std": cell.estimate.std,
                "stderr": cell.estimate.stderr,
                "exact": cell.estimate.exact,
                "range": [cell.low, cell.high],
                "distance": cell.judgement.distance,
                "verdict": cell.judgement.verdict.value,
                "reason": cell.judgement.reason,
            }
            for cell in findings.all_.cells
        ],
        "results": all_.results,
    }
