"""The supervisor's files in the data directory: its lock, the cluster's state and its socket, the note.

All functions block.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress

from kafkatx.daemon.process_file import ProcessNote
from kafkatx.errors import SettingError
from kafkatx.log.checkpoint import META_PROPERTIES, decode_meta_properties
from kafkatx.log.files import Files
from kafkatx.log.store.lock_file import locked
from kafkatx.names import SUPERVISOR_LOCK, TREE_FILE
from kafkatx.types import SharedFile

TREE_SOCKET = "kafkatx-tree.sock"

ADVICE = (
    "no log was changed. Restore the file from a backup; or set kafkatx.start.anew=true, which renames the"
    " partitions' directories to ...-stray and removes none"
)
"""The end of messages about a state that is lost."""


class Directory:
    """The first of the given log dirs, in which the supervisor works.

    :param path: absolute path.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._lock: SharedFile | None = None
        self._note: ProcessNote | None = None

    @property
    def tree_file(self) -> str:
        """Path of the cluster's state."""
        return os.path.join(self.path, TREE_FILE)

    @property
    def tree_socket(self) -> str:
        """Path of the socket of the cluster's state."""
        return os.path.join(self.path, TREE_SOCKET)

    def lock(self) -> None:
        """Make the directory, and take its lock.

        :raises SettingError: another supervisor has it, or it cannot be made.
        """
        try:
            os.makedirs(self.path, mode=0o700, exist_ok=True)
            self._lock = locked(Files(), self.path, os.path.join(self.path, SUPERVISOR_LOCK))
        except OSError as error:
            raise SettingError(f"log.dirs={self.path}: cannot be used: {error}") from None

    def unlock(self) -> None:
        """Release the lock. A second call does nothing."""
        self._lock = None  # the file is closed with its last reference

    def write_note(self, note: ProcessNote, pid_file: bool) -> None:
        """Write the note about this process.

        :raises OSError: it cannot be written.
        """
        self._note = note
        if pid_file:
            note.write_pid(self.path)
        note.write(self.path)

    def remove_note(self) -> None:
        """Remove the note."""
        if self._note is not None:
            self._note.remove([self.path])


def past_id(log_dirs: Sequence[str]) -> int | None:
    """Return the id of the broker whose log dirs these are themselves; None if there is none.

    :raises SettingError: they are of several brokers.
    """
    found = {path: owner for path in log_dirs if (owner := _owner(path)) is not None}
    if len(set(found.values())) > 1:
        raise SettingError(
            f"log.dirs={','.join(log_dirs)}: belong to several brokers by their {META_PROPERTIES}: "
            + ", ".join(f"{path} to broker {owner}" for path, owner in found.items())
        )
    return next(iter(found.values()), None)


def check_tree(tree_file: str, directories: Sequence[str]) -> None:
    """Check that the cluster's state is there if brokers have data of a cluster.

    :param directories: the brokers' log dirs.
    :raises SettingError: it is missing or empty.
    """
    if os.path.exists(tree_file) and os.path.getsize(tree_file):
        return
    for path in directories:
        cluster_id = _meta(path).get("cluster.id")
        if cluster_id is not None:
            raise SettingError(
                f"{tree_file}: the cluster's state is missing or empty, but {path} belongs to cluster "
                f"{cluster_id}; {ADVICE}"
            )


def idle_brokers(log_dir: str, started: Sequence[str]) -> Iterator[str]:
    """Yield the names of brokers that have data below a directory and are not started.

    :param started: log dirs of the brokers that are.
    """
    with suppress(OSError):
        for name in sorted(os.listdir(log_dir)):
            path = os.path.join(log_dir, name)
            if name.isdigit() and path not in started and _owner(path) is not None:
                yield name


def _owner(path: str) -> int | None:
    pairs = _meta(path)
    text = pairs.get("broker.id", pairs.get("node.id", ""))
    return int(text) if text.isdigit() else None


def _meta(path: str) -> dict[str, str]:
    try:
        with open(os.path.join(path, META_PROPERTIES), "rb") as file:
            return decode_meta_properties(file.read())
    except OSError:
        return {}
