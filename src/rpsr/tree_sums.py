"""Sums over items of work: a map over the items, and a tree of additions.

The results of `FAN` consecutive items are added, then the sums of `FAN` consecutive groups, and so
on. The tree depends on the number of items alone, so that not even the last digit of a float
depends on who adds, on the number of workers, or on the order in which they finish. Sums that are
exact are the same in any order.

On Dask, workers add: results stay where they were computed, and go from worker to worker. Only the
last sum comes here. Dask runs again what a killed worker did or held. Other executors send every
result to this process. To send it back to be added takes longer than to add it, so this process
adds: exact sums as they come, so that it holds one, others in the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any, TypeVar

from rpsr.cluster import Checked, Submit, WorkFailed, finished, imported, staying, submit_of
from rpsr.errors import SchedulerLost
from rpsr.packing import packed, unpacked
from rpsr.parallel import LOST, Progress, completed, in_order, nothing

FAN = 4  # sums that are added together: few, because a worker holds all of them
Item = TypeVar("Item")
Node = TypeVar("Node")
Sum = TypeVar("Sum")


def summed(
    work: Callable[[Item], Sum],
    items: Sequence[Item],
    executor: Executor | None,
    add: Callable[[Sum, Sum], Sum],
    progress: Progress | None,
    what: str,
    *,
    exact: bool = False,
) -> Sum:
    """The sum of `work(item)` over all items, of which there is at least one.

    add: adds a sum and the one of the items after it, and may change the first. Both `work` and
    `add` must be importable elsewhere. progress: see `in_order`. exact: sums are the same in any
    order. An error is raised if an item is lost.
    """
    submit = submit_of(executor)
    if submit is not None and len(items) > 1:
        try:
            return _on_workers(submit, work, items, add, progress or nothing, what)
        except _Lost:  # nothing of it: item by item, its failures are separated from the work's
            pass
    if exact:
        return _folded(add, _results(completed(work, items, executor, progress, what)))
    results = in_order(work, items, executor, progress, what)
    return _tree(results, len(items), partial(_folded, add))


def _results(numbered: Iterator[tuple[int, Sum]]) -> Iterator[Sum]:
    """The results alone, none of which is still referred to here when the next one is asked for."""
    return map(itemgetter(1), numbered)


def _folded(add: Callable[[Sum, Sum], Sum], sums: Iterable[Sum]) -> Sum:
    """The sum of consecutive sums; unlike `reduce`, no sum that was added is still referred to."""
    left = iter(sums)
    total = next(left)
    for other in left:
        total = add(total, other)
        del other
    return total


def _tree(leaves: Iterator[Node], count: int, join: Callable[[Iterable[Node]], Node]) -> Node:
    """The root of the tree over the next `count` leaves, which are taken one after the other."""
    if count == 1:
        return next(leaves)
    size = 1
    while size * FAN < count:
        size *= FAN
    return join(_tree(leaves, min(size, count - k), join) for k in range(0, count, size))


class _Lost(Exception):
    """Workers were killed, or could not be reached, more often than Dask forgives."""


@dataclass(frozen=True)
class _Leaf:
    """Work on a packed item."""

    work: Callable[[Any], Any]

    def __call__(self, item: bytes) -> Any:
        return self.work(imported(item))


@dataclass(frozen=True)
class _Joined:
    """The sum of consecutive sums, which are unpacked one after the other."""

    add: Callable[[Any, Any], Any]

    def __call__(self, *sums: bytes) -> Any:
        return _folded(self.add, map(imported, sums))


def _on_workers(
    submit: Submit,
    work: Callable[[Item], Sum],
    items: Sequence[Item],
    add: Callable[[Sum, Sum], Sum],
    progress: Progress,
    what: str,
) -> Sum:
    """The sum as Dask's workers compute it; only the last one comes to this process."""
    futures: list[Any] = []
    try:
        leaf, joined = Checked.of(_Leaf(work)), Checked.of(_Joined(add))
        futures += [submit(staying, leaf, packed(item)) for item in items]
        join = partial(submit, staying, joined, priority=1)  # before more items, to free memory
        root = _tree(iter(futures), len(items), lambda sums: join(*sums))
        futures.append(root)
        for number, future in enumerate(finished(futures), 1):
            if future is root:
                break
            future.release()  # workers keep its result until it is added
            progress(f"{what} {number} of {len(items)}")
        return unpacked(root.result())
    except WorkFailed as failed:
        raise unpacked(failed.error) from None
    except CancelledError:
        raise SchedulerLost(LOST) from None
    except Exception as error:
        raise _Lost from error
    finally:
        for future in futures:
            future.release()
