"""The part of `rpsr convert` that is about logs."""

from __future__ import annotations

import warnings

from rpsr.cli.shared.opening import refuse_domain
from rpsr.cli.shared.output import check_targets, wrote


def is_log(source: str, target: str) -> bool:
    """Whether one of two names is that of a log, so that both must be."""
    from rpsr.logs.stream import LOG_SUFFIXES

    return source.lower().endswith(LOG_SUFFIXES) or target.lower().endswith(LOG_SUFFIXES)


def convert_log(source: str, target: str, columns: dict[str, str] | None) -> None:
    """Write a log, a file or a folder of files, in the format of the target's suffix."""
    from rpsr.logs import Columns, stream_logs, write_logs
    from rpsr.logs.writers import check_target

    refuse_domain(source, target)
    check_target(target)
    check_targets(target)  # the target may be the source, which is read before it is replaced
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)  # each is a note on standard error
        log = stream_logs(source, columns=None if columns is None else Columns(**columns))
        write_logs(log, target)
    wrote(target)
