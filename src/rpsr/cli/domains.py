"""`rpsr domains`: the built-in problems, and the classic repository."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from rpsr.cli.shared.completion import any_domain
from rpsr.cli.shared.options import Discount, Json, Output, named_path
from rpsr.cli.shared.output import check_targets, note, print_json, print_lines, print_table, wrote
from rpsr.cli.shared.progress import download_progress

app = App(name="domains", help="List and export built-in domains; download classic POMDPs.")


@app.command(name="list")
def list_domains(*, json: Json = False) -> None:
    """List the domains: sizes, discount and a one-line description."""
    from rpsr.domains import build, names, story

    models = {name: build(name) for name in names()}
    if json:
        rows = [
            {
                "name": name,
                "states": len(pomdp.states),
                "actions": len(pomdp.actions),
                "observations": len(pomdp.observations),
                "discount": pomdp.discount,
                "story": story(name),
            }
            for name, pomdp in models.items()
        ]
        print_json("domains", None, {"rows": rows})
        return
    print_table(
        ["domain", "S", "A", "O", "discount", "story"],
        [
            [
                name,
                len(pomdp.states),
                len(pomdp.actions),
                len(pomdp.observations),
                pomdp.discount,
                story(name),
            ]
            for name, pomdp in models.items()
        ],
        caption="S, A, O: numbers of states, actions and observations. `rpsr domains export NAME` "
        "-o FILE` writes a domain to a file; `rpsr info NAME` shows more about it.",
    )


@app.command
def export(
    name: Annotated[
        str,
        Parameter(completer=any_domain, help="A built-in domain, such as loadunload:cells=20."),
    ],
    /,
    *,
    output: Output,
    discount: Discount = None,
) -> None:
    """Write a built-in domain to a .pomdp or .rpsr file."""
    from rpsr.domains import build
    from rpsr.sources import save

    check_targets(output)
    pomdp = build(name)
    if discount is not None:
        pomdp = pomdp.with_discount(discount)
    for remark in save(pomdp, output):
        note(f"{output}: {remark}")
    wrote(output)


@app.command
def fetch(
    names: Annotated[
        tuple[str, ...], Parameter(help="Names of files in the repository; by default all.")
    ] = (),
    /,
    *,
    mirror: Annotated[
        str | None,
        Parameter(help="Download from this address (also: environment variable RPSR_MIRROR)."),
    ] = None,
    folder: Annotated[
        Path | None,
        Parameter(
            converter=named_path,
            help="Folder for the files (also: environment variable RPSR_CACHE).",
        ),
    ] = None,
    keep_unverified: Annotated[
        bool, Parameter(negative="", help="Keep files with a wrong checksum, with a warning.")
    ] = False,
    json: Json = False,
) -> None:
    """Download the classic repository of POMDP files and verify checksums.

    An interrupted download continues when the command is run again.
    """
    from rpsr.io.classics.fetch import NOT_CHECKED
    from rpsr.io.classics.fetch import fetch as download

    if mirror is None and "RPSR_MIRROR" not in os.environ:
        note(NOT_CHECKED)
    with download_progress() as progress:
        paths = download(
            list(names) or None,
            mirror=mirror,
            folder=folder,
            progress=progress,
            checksums="report" if keep_unverified else "require",
            warn=note,
        )
    if json:
        print_json("fetch", mirror, {"files": [str(path) for path in paths]})
    else:
        for path in paths:
            print_lines([str(path)])
