"""Many requests to the tree at once, and reads of nodes that may be missing. It touches the tree only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from twisted.internet.defer import Deferred, FirstError, gatherResults

from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import NodeStat, NoNode
from kafkatx.interfaces.tree import Watch

T = TypeVar("T")
U = TypeVar("U")

AT_ONCE = 64
"""Calls of :func:`each` under way at the same time."""


async def each(function: Callable[[T], Awaitable[U]], items: Iterable[T], at_once: int = AT_ONCE) -> list[U]:
    """Call *function* with each item, several at a time.

    :return: the results, in the order of the items.
    :raises Exception: the first that a call raises; no further calls begin then.
    """
    numbered = list(enumerate(items))
    results: list[U | None] = [None] * len(numbered)
    waiting = iter(numbered)
    failed = False

    async def work() -> None:
        nonlocal failed
        for number, item in waiting:
            if failed:
                return
            try:
                results[number] = await function(item)
            except BaseException:
                failed = True
                raise

    try:
        await gatherResults(
            [Deferred.fromCoroutine(work()) for _ in range(min(at_once, len(numbered)))], consumeErrors=True
        )
    except FirstError as error:
        cause = error.subFailure.value or error
        raise cause from None
    return results  # type: ignore[return-value]  # all are set by now


async def read(tree: ITree, path: str, watch: Watch | None = None) -> tuple[bytes, NodeStat] | None:
    """Return data and stat of a node; None if there is none, and no watch then."""
    try:
        return await tree.read(path, watch)
    except NoNode:
        return None


async def children(tree: ITree, path: str) -> list[str]:
    """Return the names of a node's children, in order; none if there is no such node."""
    try:
        return list(await tree.children(path))
    except NoNode:
        return []
