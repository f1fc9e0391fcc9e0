"""``kafkatx log adopt``: rebuild the metadata database from the log dirs. It reads and writes both."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Sequence
from types import TracebackType

from kafkatx.broker.replica.logs import broker_life
from kafkatx.log.files import Files
from kafkatx.log.inspect.paths import locked
from kafkatx.log.store import adoption
from kafkatx.metadata.embedded.adoption import new_id, write
from kafkatx.metadata.embedded.database import ClusterDatabase
from kafkatx.metadata.embedded.ids import kafka_id
from kafkatx.metadata.embedded.location import find_file, put_aside
from kafkatx.metadata.sqlite.database import DatabaseDamaged
from kafkatx.names import TREE_FILE


class Adoption:
    """The plan of an adoption, and its execution; the log dirs are locked inside of this context.

    :param strays: as for :func:`kafkatx.log.store.adoption.plan`.
    :param broker_id: used if the log dirs do not have it.
    :raises SettingError: the database is another broker's, is in use, or is of a newer version.
    :raises StateLost: there are several databases.
    :raises LogDirInUse: a broker is running.
    :ivar lines: the plan, for a person.
    :ivar notes: what stays unchanged.
    :ivar problems: the reasons why it cannot be done.
    """

    def __init__(
        self, log_dirs: Sequence[str], strays: Collection[str] | None, empty: bool, broker_id: int | None
    ) -> None:
        self.lines: list[str] = []
        self.notes: list[str] = []
        self.problems: list[str] = []
        self._log_dirs = list(dict.fromkeys(os.path.abspath(path) for path in log_dirs))
        self._strays = strays
        self._empty = empty
        self._broker_id = broker_id
        self._open = contextlib.ExitStack()
        self._files = Files()

    def __enter__(self) -> Adoption:
        try:
            for path in self._log_dirs:
                self._open.enter_context(locked(path))
            self._plan()
        except BaseException:
            self._open.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._open.close()

    def _plan(self) -> None:
        self._dirs = [adoption.look(self._files, path) for path in self._log_dirs]
        self._generation = max(one.generation for one in self._dirs)
        self._path = find_file(self._log_dirs, anew=True)
        self._damaged = False
        self._database: ClusterDatabase | None = None
        self._owner = self._find_owner()
        known = self._read() if os.path.exists(self._path) and os.path.getsize(self._path) else None
        if known is None and not self._damaged:
            self._say_if_shared()
        if known is None:
            self.lines.append(f"{self._path}: {'is renamed, and ' if self._damaged else ''}is made")
        elif known.is_older:
            self.lines.append(f"{self._path}: is older than the log dirs, and is taken as it is")
        self._todo = adoption.plan(self._dirs, known, self._owner, self._strays, self._empty, new_id)
        self.lines += self._todo.lines
        self.problems += self._todo.problems
        self.notes += self._todo.notes
        self._cluster_id = known.cluster_id if known else self._find_cluster_id()

    def _say_if_shared(self) -> None:
        """Say what an adoption means for log dirs of a broker that has others beside it."""
        shared = [path for path in self._log_dirs if _is_shared(path)]
        if not shared:
            return
        what = f"{shared[0]} belongs to a cluster of several brokers, whose state is not here"
        if self._empty:
            self.problems.append(
                f"{what}: --empty changes nothing there. Start the broker: it copies partitions that it lacks"
                " from replicas in sync. Where no other replica is in sync, start it once with"
                " kafkatx.start.anew=true"
            )
        else:
            self.notes.append(f"{what}: the topics become those of a broker that is alone")

    def _find_owner(self) -> int:
        owners = {one.broker_id: one.path for one in self._dirs if one.broker_id is not None}
        if self._broker_id is not None:
            owners.setdefault(str(self._broker_id), "--broker-id")
        if len(owners) > 1:
            said = ", ".join(f"{path} to {owner}" for owner, path in owners.items())
            self.problems.append(f"the log dirs belong to several brokers: {said}; name those of one")
        return next((int(owner) for owner in owners if owner.isdecimal()), 0)

    def _find_cluster_id(self) -> str:
        ids = (one.meta["cluster.id"] for one in self._dirs if "cluster.id" in one.meta)
        return next(ids, None) or kafka_id(new_id())

    def _read(self) -> adoption.Known | None:
        """Return the contents of the database; None if it is damaged."""
        try:
            self._database = database = ClusterDatabase(self._path)
            self._open.callback(database.close)
            loaded = database.register(self._owner, self._find_cluster_id())
        except DatabaseDamaged as error:
            self.lines.append(str(error))
            self._damaged = True
            return None
        return adoption.Known(
            loaded.cluster_id, loaded.topics, loaded.recorded, database.generation < self._generation
        )

    def carry_out(self) -> None:
        """Execute the plan.

        :raises OSError: a file could not be written; adopt again.
        """
        if self._damaged:
            put_aside(self._path)
        adoption.carry_out(self._files, self._todo.take)
        if self._database is None or self._damaged:
            self._database = ClusterDatabase(self._path)
            self._open.callback(self._database.close)
            self._database.register(self._owner, self._cluster_id)
        todo = self._todo
        write(self._database, todo.topics, todo.grown, todo.placed, self._generation)


def _is_shared(log_dir: str) -> bool:
    """Return True if a broker of a cluster of several has used a log dir."""
    beside = os.path.join(os.path.dirname(log_dir), TREE_FILE)
    return os.path.exists(os.path.join(log_dir, broker_life.NAME)) or os.path.exists(beside)
