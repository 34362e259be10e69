"""The reference of the command line, made from the commands themselves."""

from io import StringIO

from rich.console import Console

from rpsr.cli.app import app

# One example per verb, in the order of the page; each runs after the ones above it.
EXAMPLES = {
    "info": "rpsr info loadunload",
    "accuracy": "rpsr accuracy loadunload -o rows.jsonl --shard 1/1",
    "merge": "rpsr merge rows.jsonl",
    "core": "rpsr core loadunload --model rpsr",
    "solve": "rpsr solve tiger -o tiger.json --certificate proof.json",
    "verify": "rpsr verify tiger proof.json",
    "almost-sure": "rpsr almost-sure 4x3 --goal good",
    "evaluate": "rpsr evaluate tiger --policy tiger.json --episodes 100",
    "report": "rpsr report tiger -o tiger.html",
    "simulate": "rpsr simulate tiger -o log.jsonl --episodes 100 --steps 10",
    "learn": "rpsr learn log.jsonl -o model.rpsr --discount 0.95 --estimator last-k",
    "convert": "rpsr convert tiger tiger.pomdp",
    "domains list": "rpsr domains list",
    "domains export": "rpsr domains export tiger -o exported.pomdp",
    "domains fetch": "rpsr domains fetch tiger.95.POMDP --folder classics",
    "reproduce": "rpsr reproduce --quick --out reproduction",
}


def reference() -> str:
    """One section per verb, as Markdown: an example, then the help."""
    return "\n".join(
        f"## `{verb}`\n\n```console\n$ {example}\n```\n\n```text\n{help_of(verb)}\n```\n"
        for verb, example in EXAMPLES.items()
    )


def help_of(verb: str) -> str:
    """The text of `rpsr VERB --help`, without the lines that all verbs share."""
    console = Console(file=StringIO(), width=92, highlight=False)
    with console.capture() as captured:
        app.help_print(verb.split(), console=console)
    text = captured.get().split("Every verb accepts")[0].strip()
    return "\n".join(line.rstrip() for line in text.splitlines())
