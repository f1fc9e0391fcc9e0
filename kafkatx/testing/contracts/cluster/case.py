"""The base of the contract of metadata stores of a cluster: makers, faults, and waiting for states."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from twisted.internet.defer import Deferred, succeed

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces import IMetadataStore, ITree
from kafkatx.nodes import BrokerProcess
from kafkatx.types import BrokerNode, ClusterDelta, ClusterState, PartitionState

if TYPE_CHECKING:
    from twisted.trial.unittest import TestCase as _Case
else:
    # a mixin: trial would run the contract itself if it were a test case
    _Case = object

T = TypeVar("T")


def node(broker_id: int) -> BrokerNode:
    """Return a broker of this id."""
    return BrokerNode(broker_id, f"host{broker_id}", 9092)


class ContractLife:
    """A process that has the locks of its broker's log dirs (``BrokerLife``).

    :param continues: False if its logs are not those of the broker's last life.
    """

    def __init__(self, directories: Sequence[str], continues: bool = True) -> None:
        self.lives: Mapping[str, str] = dict.fromkeys(directories, uuid.uuid4().hex)
        self.ended: Mapping[str, str] = {}
        self._continues = continues

    def process(self) -> BrokerProcess:
        """Return this process."""
        return BrokerProcess(1, "boot", {f"/{each}": each for each in self.lives})

    def begin(self, lives: Mapping[str, str], closed: Collection[str]) -> Deferred[bool]:
        """Say whether the logs continue the broker's last life."""
        return succeed(self._continues)


class ClusterStoreCase(_Case):
    """Mixin for a ``twisted.trial.unittest.TestCase``; the subclass says how stores and faults are made."""

    def make_store(self) -> IMetadataStore:
        """Return a store that is not started. All stores of a test share their cluster."""
        raise NotImplementedError

    def make_tree(self) -> ITree:
        """Return a tree without a session, for tools that change the nodes of the cluster."""
        raise NotImplementedError

    async def result(self, deferred: Deferred[T]) -> T:
        """Return the result of a Deferred; make it fire if nothing else does."""
        return await deferred

    async def cut(self, store: IMetadataStore) -> None:
        """End the connection of a store, and let it get no other."""
        raise NotImplementedError

    async def heal(self, store: IMetadataStore) -> None:
        """Allow a store to connect again."""
        raise NotImplementedError

    async def expire(self, store: IMetadataStore) -> None:
        """End the session of a store at the server; its connection works."""
        raise NotImplementedError

    async def started(
        self, broker_id: int, directories: Sequence[str] = (), clean: bool = True, continues: bool = True
    ) -> IMetadataStore:
        """Return a store that a broker has started and registered; it is stopped at the test's end.

        :param continues: False if its logs are not those of the broker's last life.
        """
        store = self.make_store()
        await self.result(store.start(node(broker_id)))
        self.addCleanup(lambda: Deferred.fromCoroutine(self.result(store.stop())))
        directories = directories or [f"directory-{broker_id}"]
        await self.result(store.register(directories, clean, ContractLife(directories, continues)))
        return store

    async def until(self, store: IMetadataStore, condition: Callable[[ClusterState], bool]) -> ClusterState:
        """Return the state of a store when a condition holds for it."""
        reached: Deferred[ClusterState] = Deferred()

        def check(delta: ClusterDelta) -> None:
            if not reached.called and condition(delta.after):
                reached.callback(delta.after)

        if condition(store.state):
            return store.state
        store.subscribe(check)
        return await self.result(reached)

    async def failure_code(self, deferred: Deferred[T]) -> ErrorCode:
        """Return the code of the RequestError with which a Deferred fails."""
        try:
            found = await self.result(deferred)
        except RequestError as error:
            return error.code
        raise self.failureException(f"RequestError expected, but the result is {found!r}")

    async def led(self, store: IMetadataStore, topic: str, leader: int, epoch: int) -> PartitionState:
        """Wait until partition 0 of a topic has this leader in this leader epoch; return its state."""

        def is_led(state: ClusterState) -> bool:
            found = state.topics.get(topic)
            return found is not None and (
                (found.partitions[0].leader, found.partitions[0].leader_epoch) == (leader, epoch)
            )

        return (await self.until(store, is_led)).topics[topic].partitions[0]

    async def tool(self) -> ITree:
        """Return a tree with a session, as a tool for Apache Kafka has; it is closed at the test's end."""
        tree = self.make_tree()
        await self.result(tree.connect())
        self.addCleanup(tree.close)
        return tree
