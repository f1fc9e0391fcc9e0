"""Blocking calls from coroutines, under asyncio, trio or Twisted, without blocking the loop."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from types import ModuleType
from typing import TypeVar

T = TypeVar("T")


async def run_in_thread(call: Callable[[], T]) -> T:
    """Run *call* in a worker thread and return its result.

    The loop is the one that runs the calling coroutine: asyncio's, trio's, or else Twisted's installed
    reactor, by ``deferToThread``.
    """
    if _in_asyncio():
        return await asyncio.get_running_loop().run_in_executor(None, call)
    trio = _running_trio()
    if trio is not None:
        result: T = await trio.to_thread.run_sync(call)
        return result
    from twisted.internet.threads import deferToThread

    return await deferToThread(call)


def _in_asyncio() -> bool:
    """Return True if asyncio runs the calling coroutine, and not Twisted on top of asyncio's loop."""
    try:
        return asyncio.current_task() is not None
    except RuntimeError:
        return False


def _running_trio() -> ModuleType | None:
    """Return the module ``trio`` if it runs the calling coroutine, otherwise None."""
    trio = sys.modules.get("trio")
    if trio is None:
        return None
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        return None
    return trio
