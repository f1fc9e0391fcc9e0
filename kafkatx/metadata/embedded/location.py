"""The location of the embedded metadata store's database: one of ``log.dirs``.

A new file is created in the first of ``log.dirs``, but not beside data of another cluster. Later it may be in
any of them: their order does not matter. Every function here blocks.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator, Sequence

from kafkatx.errors import SettingError, StateLost
from kafkatx.metadata.sqlite.files import SIDE_FILES
from kafkatx.names import META_PROPERTIES, PARTITION_DIRECTORY, TREE_FILE

FILE_NAME = "kafkatx-cluster.sqlite3"


def find_file(log_dirs: Sequence[str], anew: bool) -> str:
    """Return the path of the database, which may not exist yet.

    :param anew: create it also beside data of another cluster.
    :raises StateLost: there are several files; or none, though there are partitions or a log dir names its
        cluster.
    """
    paths = [
        os.path.join(path, FILE_NAME) for path in {os.path.realpath(one): one for one in log_dirs}.values()
    ]
    found = [path for path in paths if _size(path)]
    if len(found) > 1:
        raise StateLost(
            f"log.dirs: the cluster's state is in {' and in '.join(found)}: one of them must be moved away",
            log_dirs,
        )
    if found:
        return found[0]
    if not anew:
        for path in log_dirs:
            for what in _data(path):
                raise StateLost(
                    f"log.dirs={','.join(log_dirs)}: the cluster's state, {FILE_NAME}, is in none of them or "
                    f"is empty, but {what}: a log dir is missing or not mounted, or the file was removed",
                    log_dirs,
                )
    return os.path.join(log_dirs[0], FILE_NAME)


def refuse_shared(log_dirs: Sequence[str]) -> None:
    """Refuse log dirs of which one has the state of several brokers.

    :raises SettingError: that is so.
    """
    for log_dir in log_dirs:
        if _size(os.path.join(log_dir, TREE_FILE)):
            raise SettingError(
                f"log.dirs={log_dir}: belongs to a cluster of several brokers ({TREE_FILE}): start them with "
                "kafkatx up --brokers"
            )


def put_aside(path: str) -> str:
    """Rename a database and the files that SQLite keeps beside it; return the new path."""
    aside = f"{path}.{uuid.uuid4().hex}-damaged"
    for end in ("", *SIDE_FILES):
        with contextlib.suppress(FileNotFoundError):
            os.rename(path + end, aside + end)
    return aside


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _data(log_dir: str) -> Iterator[str]:
    """Yield the signs that a log dir has belonged to a cluster."""
    try:
        names = sorted(os.listdir(log_dir))
    except OSError:
        return
    for name in names:
        if PARTITION_DIRECTORY.fullmatch(name) and os.path.isdir(os.path.join(log_dir, name)):
            yield f"{os.path.join(log_dir, name)} is a partition's directory"
    with contextlib.suppress(OSError), open(os.path.join(log_dir, META_PROPERTIES), "rb") as file:
        if any(line.startswith(b"cluster.id=") for line in file):
            yield f"{file.name} names a cluster"
