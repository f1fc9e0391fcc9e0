"""The nodes by which old tools for Apache Kafka ask the controller for elections and reassignments.

It touches the tree. ``/admin/preferred_replica_election`` is deleted when the elections were tried.
``/admin/reassign_partitions`` is deleted when the reassignments that it names have ended, so that the tool
(``kafka-reassign-partitions --verify``) sees that they are under way. A node that cannot be read is deleted,
too: the tool would wait for it for ever. Apache Kafka's controller does the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import BadVersion, Change, Check, Delete, NodeStat, NoNode, Refused, TreeError
from kafkatx.metadata.cluster.control.corrections import ends_role
from kafkatx.metadata.cluster.state.image import ControllerFacts
from kafkatx.metadata.cluster.state.requests import read
from kafkatx.metadata.cluster.state.view import View
from kafkatx.metadata.controller.reassignments import is_reassigned, target
from kafkatx.metadata.controller.writes import Answers
from kafkatx.metadata.layout import admin, paths
from kafkatx.metadata.layout.fields import UnreadableNode
from kafkatx.types import TopicPartition

LOOK_S = 600.0
"""Seconds after which reassignments under way are looked at again, though nothing has changed."""


class AdminNodes:
    """Does what these nodes ask for, while this broker is the controller.

    :param role: returns the facts by which this broker is the controller; None if it is not.
    :param elect: elects preferred leaders.
    :param reassign: begins reassignments.
    """

    _log = Logger()

    def __init__(
        self,
        tree: ITree,
        view: View,
        role: Callable[[], ControllerFacts | None],
        elect: Callable[[Sequence[TopicPartition]], Deferred[Answers]],
        reassign: Callable[[Mapping[TopicPartition, Sequence[int]]], Deferred[Answers]],
    ) -> None:
        self._tree = tree
        self._view = view
        self._role = role
        self._elect = elect
        self._reassign = reassign
        self._running: set[str] = set()
        self._changed: set[str] = set()

    def consider(self) -> None:
        """Look at both nodes, and watch them from then on: this broker is the controller."""
        for path in (paths.PREFERRED_REPLICA_ELECTION, paths.REASSIGN_PARTITIONS):
            self._look(path)

    def _look(self, path: str) -> None:
        self._changed.add(path)
        if path not in self._running:
            self._running.add(path)
            Deferred.fromCoroutine(self._run(path))

    def _watch(self, path: str, change: Change) -> None:
        if change is not Change.LOST and self._role() is not None:
            self._look(path)

    async def _run(self, path: str) -> None:
        try:
            while path in self._changed and (role := self._role()) is not None:
                self._changed.discard(path)
                # the watch of exists() tells of a node that is created later, too
                await self._tree.exists(path, partial(self._watch, path))
                found = await read(self._tree, path)
                if found is not None:
                    await self._obey(role, path, *found)
        except (TreeError, RequestError, CancelledError) as error:
            # the connection or the role is lost: the controller calls consider() when it is back
            self._log.debug("node {path} waits: {error}", path=path, error=error)
        except Exception:
            self._log.failure("node {path} cannot be obeyed; delete it, and use the admin API", path=path)
        finally:
            self._running.discard(path)

    async def _obey(self, role: ControllerFacts, path: str, data: bytes, stat: NodeStat) -> None:
        self._log.info("a tool asks for {name}", name=path.rpartition("/")[2].replace("_", " "))
        try:
            if path == paths.REASSIGN_PARTITIONS:
                await self._move(admin.decode_reassignments(data))
            else:
                self._report(await self._elect(admin.decode_elections(data)))
        except UnreadableNode as error:
            self._log.error("{error}; it is deleted", error=error)
        try:
            await self._tree.multi(
                [Check(paths.CONTROLLER_EPOCH, role.epoch_version), Delete(path, stat.version)]
            )
        except NoNode:
            pass
        except BadVersion as error:
            if not ends_role(error):
                self._changed.add(path)  # the tool has written something else meanwhile
        except Refused as error:
            self._log.error("node {path} cannot be deleted: {error}", path=path, error=error)

    async def _move(self, wanted: Mapping[TopicPartition, Sequence[int]]) -> None:
        """Reassign partitions, and wait until that is done."""
        self._report(await self._reassign(wanted))
        while self._role() is not None and self._is_under_way(wanted):
            await self._view.until(lambda: self._role() is None or not self._is_under_way(wanted), LOOK_S)
        if self._role() is None:
            raise CancelledError

    def _is_under_way(self, wanted: Mapping[TopicPartition, Sequence[int]]) -> bool:
        """Return True if a reassignment to the wanted replicas, and to no others, goes on."""
        topics = self._view.state.topics
        for one, replicas in wanted.items():
            topic = topics.get(one.topic)
            if topic is not None and one.partition < len(topic.partitions):
                found = topic.partitions[one.partition]
                if is_reassigned(found) and target(found) == tuple(replicas):
                    return True
        return False

    def _report(self, answers: Answers) -> None:
        for one, error in answers.items():
            if error is not None and error.code is not ErrorCode.ELECTION_NOT_NEEDED:
                self._log.warn("{partition}: {error}", partition=str(one), error=error)
