"""The data of a broker that was alone, for the way of its state into a tree. It reads and writes log dirs.

:mod:`kafkatx.metadata.transfer` writes the nodes. Then the log dirs are made to fit: the embedded metadata
store's database is renamed, so that no broker starts with it again, and the generations that the log dirs
have noted of it are removed, since a store over a tree has none.
"""

from __future__ import annotations

import contextlib
import os
import re
import uuid
from collections.abc import Sequence
from types import TracebackType

from kafkatx.errors import SettingError
from kafkatx.log.checkpoint import GENERATION
from kafkatx.log.files import Files
from kafkatx.log.inspect.paths import locked
from kafkatx.log.store import adoption
from kafkatx.metadata.embedded.database import ClusterDatabase
from kafkatx.metadata.embedded.location import FILE_NAME, find_file
from kafkatx.metadata.sqlite.files import SIDE_FILES
from kafkatx.metadata.transfer.content import Content
from kafkatx.types import ClusterState

_IMPORTED = re.compile(re.escape(FILE_NAME) + r"\.[0-9a-f]{32}-imported")


class EmbeddedData:
    """The data of a broker with an embedded metadata store, which must not run; locked inside of this
    context.

    :ivar content: the state.
    :raises SettingError: there is no state, or it is damaged.
    :raises LogDirInUse: the broker is running.
    """

    content: Content

    def __init__(self, log_dirs: Sequence[str]) -> None:
        self._log_dirs = list(dict.fromkeys(os.path.abspath(path) for path in log_dirs))
        self._open = contextlib.ExitStack()
        self._path = ""

    def __enter__(self) -> EmbeddedData:
        try:
            for path in self._log_dirs:
                self._open.enter_context(locked(path))
            self.content = self._read()
        except BaseException:
            self._open.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._open.close()

    def _read(self) -> Content:
        self._path = find_file(self._log_dirs, anew=True)
        if not os.path.exists(self._path):
            self._refuse_twice()
            raise SettingError(
                f"log.dirs={','.join(self._log_dirs)}: no broker with an embedded metadata store has used"
                f" them: there is no {FILE_NAME}"
            )
        facts = [adoption.look(Files(), path) for path in self._log_dirs]
        owners = {one.broker_id for one in facts if one.broker_id is not None}
        if len(owners) != 1:
            raise SettingError(
                f"log.dirs={','.join(self._log_dirs)}: they belong to {len(owners)} brokers by their"
                " meta.properties; name those of one broker"
            )
        database = ClusterDatabase(self._path)
        self._open.callback(database.close)
        broker_id = int(owners.pop() or 0)
        loaded = database.register(broker_id, "")
        generation = max(one.generation for one in facts)
        if generation > database.generation:
            raise SettingError(
                f"{self._path}: is older than the log dirs, which have noted change {generation} of it;"
                " restore the newest, or complete it with kafkatx log adopt"
            )
        state = ClusterState(
            loaded.cluster_id,
            controller_id=-1,
            topics=loaded.topics,
            broker_configs=loaded.broker_configs,
            group_configs=loaded.group_configs,
            client_metrics_configs=loaded.client_metrics_configs,
            client_quotas=loaded.client_quotas,
            scram_credentials=loaded.scram_credentials,
            acls=loaded.acls,
        )
        return Content(broker_id, state, loaded.recorded, database.allocate_producer_ids(0).start)

    def _refuse_twice(self) -> None:
        for path in self._log_dirs:
            for name in os.listdir(path):
                if _IMPORTED.fullmatch(name):
                    raise SettingError(
                        f"log.dirs={path}: was imported already; start the broker with zookeeper.connect."
                        f" {name} is its former state"
                    )

    def finish(self) -> str:
        """Make the log dirs fit a state in a tree; return the new path of the database.

        :raises OSError: a file cannot be changed; import again.
        """
        for path in self._log_dirs:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(path, GENERATION))
            Files().sync_dir(path)
        aside = f"{self._path}.{uuid.uuid4().hex}-imported"
        for end in ("", *SIDE_FILES):
            with contextlib.suppress(FileNotFoundError):
                os.rename(self._path + end, aside + end)
        Files().sync_dir(os.path.dirname(self._path))
        return aside
