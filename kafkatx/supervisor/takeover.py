"""The way of log dirs that one broker has used into a cluster of several: its state goes into the tree.

It reads log dirs in a worker, and writes through a session of its own. It can be interrupted at any time: the
next start begins again, until the old state file is renamed at the end.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from twisted.logger import Logger

from kafkatx.interfaces.workers import Worker
from kafkatx.metadata.embedded.location import FILE_NAME
from kafkatx.metadata.tree.local import LocalSettings, LocalTree

_log = Logger()


def is_alone(log_dirs: Sequence[str]) -> bool:
    """Return True if log dirs have the state of one broker. Blocks."""
    paths = [os.path.join(path, FILE_NAME) for path in log_dirs]
    return any(os.path.exists(path) and os.path.getsize(path) for path in paths)


async def take_over(log_dirs: Sequence[str], socket_path: str, reactor: Any, files: Worker) -> None:
    """Write the state of the broker that has used the log dirs into the tree; do nothing if none has.

    :param socket_path: path of the tree's socket.
    :param files: runs the calls that block.
    :raises KafkaTXError: the state is damaged, the broker is running, or the tree has another cluster.
    :raises TreeError: the tree has failed.
    """
    if not await files(lambda: is_alone(log_dirs)):
        return
    from kafkatx.daemon.embedded_data import EmbeddedData  # needed once in the life of a directory
    from kafkatx.metadata.transfer.importer import import_content

    data = EmbeddedData(log_dirs)
    await files(data.__enter__)
    try:
        tree = LocalTree(LocalSettings(socket_path), reactor, time.monotonic)
        await tree.connect()
        try:
            await import_content(tree, f"log.dirs={log_dirs[0]}", data.content)
        finally:
            await tree.close()
        aside = await files(data.finish)
    finally:
        await files(lambda: data.__exit__(None, None, None))
    _log.info(
        "the {topics} topics of broker {id}, which was alone, belong to the cluster now; its former state is"
        " kept as {aside}",
        topics=len(data.content.state.topics),
        id=data.content.broker_id,
        aside=aside,
    )
