"""The balancer ``zookeeper`` of a ConsumerConnector: Kafka 0.8's protocol. Touches the tree and the clock.

A rebalance reads the members and partitions, stops reading, lets the connector commit, deletes this member's
owners, computes its share, creates its owners, and continues from the committed offsets. Records that are
being processed meanwhile are read twice, so changes that concern others, new topics or a broker that comes or
goes, cause no rebalance. Members of
Apache Kafka 0.8 may be in the same group. ``clientcore.legacy.zookeeper.member`` has the order of the steps.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from kafkatx.client.legacy.zookeeper.connection import new_member_id, now_ms, open_zookeeper
from kafkatx.client.legacy.zookeeper.offsets import GroupOffsets
from kafkatx.client.legacy.zookeeper.old_offsets import OldOffsets
from kafkatx.client.legacy.zookeeper.registry import GroupRegistry, GroupState
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.clientcore.legacy.topic_filter import Subscription
from kafkatx.clientcore.legacy.zookeeper import nodes
from kafkatx.clientcore.legacy.zookeeper.assignment import assigned_streams
from kafkatx.clientcore.legacy.zookeeper.member import GroupMember, Step
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import consumer as table
from kafkatx.errors import KafkaTXError, SettingError
from kafkatx.interfaces import IBalancer, ITree
from kafkatx.interfaces.nodes import NotAuthenticated, SessionExpired, SessionState, TreeError
from kafkatx.types import TopicPartition

OpenTree: TypeAlias = Callable[[ClientSettings, Any], tuple[ITree, Callable[[], None]]]
"""Returns a tree for a consumer's settings and a reactor, and a function to call after it was closed."""


@implementer(IBalancer)
class ZooKeeperBalancer:
    """A balancer that keeps members, owners and offsets in ZooKeeper.

    :param member_id: the member's id; None: a new one.
    """

    _log = Logger()

    def __init__(self, open_tree: OpenTree = open_zookeeper, member_id: str | None = None) -> None:
        self._open_tree = open_tree
        self._member_id = member_id
        self._begun: Deferred[None] = Deferred()
        self._running: Deferred[None] | None = None
        self._pause: Deferred[None] | None = None
        self._settled: GroupState | None = None

    def join(self, consumer: Any, subscription: Subscription, listener: object) -> Deferred[None]:
        """Register, and rebalance whenever members, topics or brokers change.

        :return: fires when the member has registered the first time; fails with SettingError if ZooKeeper
            does not accept this client.
        :raises KafkaTXError: ``group.id`` or ``zookeeper.connect`` is missing, or kazoo is not installed.
        """
        settings: ClientSettings = consumer.settings
        group = settings[table.GROUP_ID]
        if not group:
            raise SettingError("kafkatx.balancer=zookeeper: set group.id")
        paths = nodes.GroupPaths(group)
        self._reactor: IReactorTime = consumer.cluster.reactor
        self._consumer, self._subscription, self._listener = consumer, subscription, listener
        self._exclude_internal = settings[table.EXCLUDE_INTERNAL_TOPICS]
        self._reset = settings[table.AUTO_OFFSET_RESET]
        self._id = self._member_id or new_member_id(group)
        self._tree, self._ended = self._open_tree(settings, self._reactor)
        self._member = GroupMember(
            settings[table.REBALANCE_BACKOFF_MS] / 1000, settings[table.REBALANCE_MAX_RETRIES]
        )
        self._registry = GroupRegistry(self._tree, paths, self._id, self._changed)
        kafka = settings[table.OFFSETS_STORAGE] == "kafka"
        self._offsets = GroupOffsets(
            self._tree,
            paths,
            self._registry,
            consumer if kafka else None,
            in_tree=not kafka or settings[table.DUAL_COMMIT_ENABLED],
            old=OldOffsets(self._tree, paths, settings[table.OLD_OFFSETS]),
        )
        self._tree.subscribe(self._session_changed)
        self._running = Deferred.fromCoroutine(self._run())
        return self._begun

    def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> Deferred[None]:
        """Store offsets of partitions that this member owns; CommitFailed names those that it does not."""
        return Deferred.fromCoroutine(self._offsets.commit(offsets))

    def leave(self) -> Deferred[None]:
        """Release the partitions, delete the member's node, and end the session."""
        return Deferred.fromCoroutine(self._leave())

    async def _leave(self) -> None:
        running, self._running = self._running, None
        if running is None:
            return
        self._member.leave()
        self._wake()
        try:
            if self._tree.state is not SessionState.CONNECTED:  # a step under way can end nothing
                running.addErrback(_trap_cancelled)
                running.cancel()
            await running
            if self._tree.state is SessionState.CONNECTED:
                await self._revoke()
                await self._registry.unregister()
        except (TreeError, KafkaTXError) as error:
            self._log.warn("{member} could not leave its group: {error}", member=self._id, error=error)
        finally:
            self._registry.forget()
            try:
                await self._tree.close()
            finally:
                self._ended()
                if not self._begun.called:
                    self._begun.callback(None)

    # -- events

    def _changed(self) -> None:
        self._member.changed()
        self._wake()

    def _session_changed(self, state: SessionState) -> None:
        if state is SessionState.CONNECTED:
            self._member.connected()
        elif state is SessionState.SUSPENDED:
            self._member.suspended()
        elif state is SessionState.LOST:
            self._registry.forget()  # at once: no commit may be sent in a later session
            self._member.session_lost()
        self._wake()

    def _wake(self) -> None:
        pause, self._pause = self._pause, None
        if pause is not None:
            pause.callback(None)

    # -- steps

    async def _run(self) -> None:
        """Make one step after another, until the member leaves."""
        while True:
            step = self._member.next(self._reactor.seconds())
            if step is Step.LEAVE:
                return
            if step is Step.WAIT:
                await self._wait()
                continue
            try:
                await self._make(step)
            except CancelledError:
                raise
            except (TreeError, KafkaTXError) as error:
                self._failed(step, error)
            except Exception:
                self._log.failure("{step} in ZooKeeper", step=step.value)
                self._member.failed(self._reactor.seconds())

    async def _wait(self) -> None:
        seconds = self._member.wait_s(self._reactor.seconds())
        pause: Deferred[None] = Deferred()
        self._pause = pause
        timer: IDelayedCall | None = None
        if seconds is not None:
            timer = self._reactor.callLater(seconds, self._wake)
        try:
            await pause
        finally:
            self._pause = None
            if timer is not None and timer.active():
                timer.cancel()

    async def _make(self, step: Step) -> None:
        if step is Step.REGISTER:
            if self._tree.state in (SessionState.CLOSED, SessionState.LOST):
                await self._tree.connect()
            await self._registry.register(self._subscription, now_ms())
            self._member.registered()
            if not self._begun.called:
                self._begun.callback(None)
        elif step is Step.DROP:
            await self._drop()
            self._member.dropped()
        else:
            await self._rebalance()
            self._member.balanced()

    def _failed(self, step: Step, error: Exception) -> None:
        if isinstance(error, NotAuthenticated) and not self._begun.called:
            self._begun.errback(SettingError(f"zookeeper.connect: {error}"))
        if self._member.failed(self._reactor.seconds()):
            self._log.warn(
                "{member} could not {step} {count} times, and goes on trying: {error}",
                member=self._id,
                step=step.value,
                count=self._member.max_retries,
                error=error,
            )

    async def _rebalance(self) -> None:
        self._member.rebalance_started()
        state = await self._registry.read(self._subscription)
        if state == self._settled and self._registry.owned.keys() == self._consumer.assignment():
            return  # something else has changed, that does not concern this group
        self._settled = None
        await self._revoke()
        if self._id not in state.members:
            self._member.unregistered()
            raise SessionExpired(f"the node of {self._id} was deleted, and is created again")
        streams = assigned_streams(self._id, state.members, state.topics, self._exclude_internal)
        await self._registry.claim(streams)
        offsets = await self._offsets.read(streams, state.topics)
        if self._registry.owned.keys() != streams.keys():
            raise SessionExpired("the session has expired while offsets were read")
        await self._assign(set(streams), offsets)
        self._settled = state

    async def _assign(self, places: set[TopicPartition], offsets: Mapping[TopicPartition, int]) -> None:
        self._consumer.assign(places)
        for at in sorted(places):
            if at in offsets:
                self._consumer.seek(at, offsets[at])
            elif self._reset == "earliest":
                self._consumer.seek_to_beginning(at)
            elif self._reset == "latest":
                self._consumer.seek_to_end(at)
        if places:
            await self._tell("on_partitions_assigned", places)

    async def _revoke(self) -> None:
        """Stop reading, let the connector commit, and release the partitions."""
        places = set(self._consumer.assignment())
        if places:
            self._consumer.pause(*places)
            await self._tell("on_partitions_revoked", places)
        self._consumer.assign(())
        await self._registry.release()

    async def _drop(self) -> None:
        """Stop reading partitions that others may own already."""
        self._settled = None
        places = set(self._consumer.assignment())
        self._consumer.assign(())
        if places:
            await self._tell("on_partitions_lost", places)

    async def _tell(self, event: str, places: set[TopicPartition]) -> None:
        """Call the listener; an error of it is logged, and does not stop the rebalance."""
        try:
            result = getattr(self._listener, event)(set(places))
            if isinstance(result, Awaitable):
                await result
        except CancelledError:
            raise
        except KafkaTXError as error:
            self._log.warn("the rebalance listener's {event}: {error}", event=event, error=error)
        except Exception:
            self._log.failure("the rebalance listener's {event}", event=event)


def _trap_cancelled(failure: Failure) -> None:
    failure.trap(CancelledError)
