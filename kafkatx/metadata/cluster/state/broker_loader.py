"""Reads of the nodes of brokers: their registrations, incarnations and what they tell of replicas.

It touches the tree, and does not change it. One transaction writes a broker's registration, its incarnation
and its lease; later in that life, the incarnation is only set when the broker begins to stop. An incarnation
is read before the registration: so it is of the same life if its mzxid is not below the registration's czxid,
and else it is read again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

import attrs

from kafkatx.interfaces import ITree
from kafkatx.interfaces.tree import Watch
from kafkatx.metadata.cluster.state.image import FoundBrokers
from kafkatx.metadata.cluster.state.requests import children, each, read
from kafkatx.metadata.layout import brokers, paths
from kafkatx.metadata.layout.fields import UnreadableNode, natural
from kafkatx.metadata.layout.incarnations import Incarnation, decode_incarnation, decode_offline
from kafkatx.metadata.layout.restorations import decode_log_ends
from kafkatx.types import BrokerNode, LogEnd, TopicPartition

ATTEMPTS = 5
"""Readings of a broker that registers again and again meanwhile."""


@attrs.frozen
class _Life:
    """The incarnation of a broker.

    :ivar version: version of its node; -1 if there is none.
    :ivar mzxid: transaction that last set it.
    """

    content: Incarnation
    version: int
    mzxid: int

    def lost_epoch(self, node: BrokerNode | None) -> int:
        """Return the epoch of the broker's last registration that was not clean; -1 if there is none.

        :param node: the broker in this life; None if it is not live.
        """
        if self.content.clean or (node is None and self.content.stopping):
            return self.content.lost_epoch
        return self.mzxid if node is None else node.epoch

    def stale_epoch(self, node: BrokerNode | None) -> int:
        """Return the epoch of its last registration whose logs did not continue its life; -1: there is none.

        :param node: as for :meth:`lost_epoch`.
        """
        return self.lost_epoch(node) if self.content.stale else self.content.stale_epoch


@attrs.frozen
class Told:
    """The news of one live broker, as ``ClusterState.offline`` and ``ClusterState.log_ends`` have them."""

    offline: frozenset[TopicPartition] = frozenset()
    log_ends: Mapping[TopicPartition, LogEnd] = MappingProxyType({})


_NO_LIFE = _Life(Incarnation(""), -1, -1)


class BrokerLoader:
    """Reads the nodes of all brokers.

    :param unreadable: called for a node that cannot be read; it may raise.
    """

    def __init__(self, tree: ITree, unreadable: Callable[[UnreadableNode], None]) -> None:
        self._tree = tree
        self._unreadable = unreadable
        self._number = 0

    async def load(self, watch: Watch | None = None) -> FoundBrokers:
        """Read all brokers.

        :param watch: called when a broker registers, or its registration ends.
        """
        self._number += 1
        number = self._number
        # before the registrations: the version of a broker that registers after this is another one
        names = await children(self._tree, paths.INCARNATIONS)
        ids = [one for one in map(natural, names) if one is not None]
        lives = dict(zip(ids, await each(self._life, ids), strict=True))
        names = list(await self._tree.children(paths.BROKER_IDS, watch))
        live = sorted(one for one in map(paths.parse_broker, names) if one is not None)
        brokers = await each(lambda one: self._broker(one, lives.get(one)), live)
        nodes: dict[int, BrokerNode | None] = {}
        told: dict[int, Told] = {}
        for broker_id, found in zip(live, brokers, strict=True):
            if found is None:
                nodes[broker_id] = lives[broker_id] = None  # what is known of it stays
                continue
            nodes[broker_id], lives[broker_id], told[broker_id] = found
        known = {broker_id: life for broker_id, life in lives.items() if life is not None}
        lost = {broker_id: life.lost_epoch(nodes.get(broker_id)) for broker_id, life in known.items()}
        stale = {broker_id: life.stale_epoch(nodes.get(broker_id)) for broker_id, life in known.items()}
        return FoundBrokers(
            number,
            nodes,
            {broker_id: life.version for broker_id, life in known.items()},
            {broker_id: one.offline for broker_id, one in told.items() if one.offline},
            {broker_id: epoch for broker_id, epoch in lost.items() if epoch >= 0},
            {broker_id: epoch for broker_id, epoch in stale.items() if epoch >= 0},
            {broker_id: one.log_ends for broker_id, one in told.items() if one.log_ends},
        )

    async def _life(self, broker_id: int) -> _Life | None:
        """Read an incarnation; None if there is none, or it cannot be read."""
        path = paths.incarnation(broker_id)
        found = await read(self._tree, path)
        if found is None:
            return _NO_LIFE
        try:
            return _Life(decode_incarnation(path, found[0]), found[1].version, found[1].mzxid)
        except UnreadableNode as error:
            self._unreadable(error)
            return None

    async def _broker(self, broker_id: int, life: _Life | None) -> tuple[BrokerNode, _Life, Told] | None:
        """Read a live broker.

        :param life: its incarnation, which was read before.
        :return: the broker, its incarnation and what it tells; None if it is gone, or cannot be read.
        """
        path = paths.broker(broker_id)
        try:
            for _ in range(ATTEMPTS):
                found = await read(self._tree, path)
                if found is None:
                    return None
                registration = brokers.decode(broker_id, path, found[0])
                node = registration.node(found[1].czxid)
                if not registration.is_kafkatx:
                    return node, _NO_LIFE, Told()
                if life is not None and life.mzxid >= node.epoch:
                    return _complete(node, life), life, await self._told(broker_id, found[1].ephemeral_owner)
                # it has registered since, or its incarnation is missing
                life = await self._life(broker_id)
                if life is None:
                    return None
                if life is _NO_LIFE:
                    return node, life, Told()
        except UnreadableNode as error:
            self._unreadable(error)
        return None

    async def _told(self, broker_id: int, session_id: int) -> Told:
        """Read what a live broker tells of its replicas, in the session of its registration.

        :raises UnreadableNode: a node is damaged.
        """
        failures, ends = paths.offline(broker_id), paths.log_ends(broker_id)
        failed, ended = await each(partial(read, self._tree), (failures, ends))
        told = Told()
        if failed is not None and failed[1].ephemeral_owner == session_id:
            told = attrs.evolve(told, offline=decode_offline(failures, failed[0]))
        if ended is not None and ended[1].ephemeral_owner == session_id:
            told = attrs.evolve(told, log_ends=MappingProxyType(decode_log_ends(ends, ended[0])))
        return told


def _complete(node: BrokerNode, life: _Life) -> BrokerNode:
    """Return a broker with what its incarnation says."""
    content = life.content
    return attrs.evolve(
        node,
        incarnation=life.version - content.stopping,
        stopping=content.stopping,
        clean=content.clean,
    )
