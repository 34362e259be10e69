"""The `rpsr` command: verbs, exit codes, and errors in one line.

Exit codes: 0 done; 1 wrong input; 2 wrong usage; 3 a limit was reached before the goal; 130
interrupted by Ctrl-C; 143 ended by SIGTERM, which is handled like Ctrl-C: the results so far are
shown and written. Numerical libraries are imported inside the verbs, so that help is quick.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from inspect import getdoc
from io import TextIOWrapper
from typing import Any

from cyclopts import App, CycloptsError, Parameter

from rpsr._version import __version__
from rpsr.cli import domains
from rpsr.cli.accuracy import accuracy
from rpsr.cli.almost_sure import almost_sure
from rpsr.cli.convert import convert
from rpsr.cli.core import core
from rpsr.cli.evaluate import evaluate
from rpsr.cli.info import info
from rpsr.cli.learn import learn
from rpsr.cli.merge import merge
from rpsr.cli.report import report
from rpsr.cli.reproduce import reproduce
from rpsr.cli.shared.options import STANDARD_STREAM
from rpsr.cli.shared.output import note
from rpsr.cli.shared.signals import INTERRUPTED, TERMINATED, handled_as_ctrl_c
from rpsr.cli.shared.streams import discard, open_missing_streams
from rpsr.cli.shared.wrong_use import wrong_use
from rpsr.cli.simulate import simulate
from rpsr.cli.solve import solve
from rpsr.cli.verify import verify
from rpsr.compile_limit import still_compiling
from rpsr.errors import RpsrError, TimeLimitReached


def _default_in_help(value: object) -> str | None:
    """The default of an option in its help; that a flag is not given, or a list empty, is clear."""
    return None if value is None or value is False or value == () else str(value)


app = App(
    name="rpsr",
    default_parameter=Parameter(show_default=_default_in_help),
    help="Predictive state representations that get rewards right.",
    version=__version__,
    help_epilogue="Every verb accepts --debug, which shows the traceback of an error.\n\n"
    "Exit codes: 0 done; 1 wrong input; 2 wrong usage; 3 a limit, such as --time-limit, stopped "
    "the work early; 130 interrupted by Ctrl-C; 143 ended by SIGTERM.",
    help_format="plaintext",
    suppress_keyboard_interrupt=False,
)


def _flowing(verb: Callable[..., object]) -> str:
    """A verb's docstring with one line per paragraph: help wraps it to the terminal's width."""
    return "\n\n".join(" ".join(part.split()) for part in (getdoc(verb) or "").split("\n\n"))


_MODELS = (reproduce, report, info, core, accuracy, merge)
_VERBS = (*_MODELS, solve, almost_sure, verify, simulate, evaluate, learn, convert)
for _place, _verb in enumerate(_VERBS):
    app.command(_verb, sort_key=_place, help=_flowing(_verb))  # help shows them in this order
app.command(domains.app)
app.register_install_completion_command()


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit code."""
    with handled_as_ctrl_c() as signalled:
        code = _main(arguments)
    code = TERMINATED if signalled and code == INTERRUPTED else code
    if arguments is None and still_compiling():  # it would last seconds, and nobody waits for it
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):
                stream.flush()
        os._exit(code)
    return code


def _main(arguments: list[str] | None) -> int:
    open_missing_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # escapes ζ on a terminal that cannot show it
            stream.reconfigure(errors="backslashreplace")
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    words = [STANDARD_STREAM if word == "-" else word for word in words if word != "--debug"]
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _note_warning
            code = app(words, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except CycloptsError as error:
        verb = " ".join(["rpsr", *(error.command_chain or ())])
        note(f"{wrong_use(error, verb)} ('{verb} --help' lists the options)")
        return 2
    except RpsrError as error:
        if debug:
            raise
        note(_one_line(error))
        return 3 if isinstance(error, TimeLimitReached) else 1
    except KeyboardInterrupt:
        if debug:
            raise
        note("interrupted")
        return INTERRUPTED
    except (BrokenPipeError, SystemExit) as error:
        if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
            raise
        # The reader of the output has closed it, as in `rpsr ... | head`; rich then exits.
        discard(sys.stdout)
        return 0
    except OSError as error:
        if debug:
            raise
        note(f"{error.filename or 'output'}: {error.strerror or error}")
        return 1
    except Exception as error:
        if debug:
            raise
        note(f"unexpected {type(error).__name__}: {_one_line(error)} (--debug shows the traceback)")
        return 1


def _note_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    note(str(message))


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


if __name__ == "__main__":
    sys.exit(main())
