"""Reads of the nodes of brokers: their registrations, incarnations and offline replicas.

It touches the tree, and does not change it. One transaction writes a broker's registration, its incarnation
and its lease; later in that life, the incarnation is only set when the broker begins to stop. An incarnation
is read before the registration: so it is of the same life if its mzxid is not below the registration's czxid,
and else it is read again.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs
from twisted.logger import Logger

from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import NodeStat
from kafkatx.interfaces.tree import Watch
from kafkatx.metadata.cluster.state.image import FoundBrokers
from kafkatx.metadata.cluster.state.requests import children, each, read
from kafkatx.metadata.layout import brokers, paths
from kafkatx.metadata.layout.fields import UnreadableNode, natural
from kafkatx.metadata.layout.incarnations import decode_incarnation, decode_offline
from kafkatx.types import BrokerNode, TopicPartition

ATTEMPTS = 5
"""Readings of a broker that registers again and again meanwhile."""


@attrs.frozen
class _Found:
    """A live broker.

    :ivar version: version of its incarnation; -1 if it has none.
    """

    node: BrokerNode
    version: int
    offline: frozenset[TopicPartition]


class BrokerLoader:
    """Reads the nodes of all brokers.

    :param unreadable: called for a node that cannot be read; it may raise.
    """

    _log = Logger()

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
        incarnations = dict(zip(ids, await each(self._incarnation, ids), strict=True))
        live = [
            one
            for one in map(paths.parse_broker, await self._tree.children(paths.BROKER_IDS, watch))
            if one is not None
        ]
        nodes: dict[int, BrokerNode | None] = {}
        versions = {one: node[1].version for one, node in incarnations.items() if node is not None}
        offline: dict[int, frozenset[TopicPartition]] = {}
        found = await each(lambda one: self._broker(one, incarnations.get(one)), sorted(live))
        for broker_id, broker in zip(sorted(live), found, strict=True):
            nodes[broker_id] = None if broker is None else broker.node
            if broker is None:
                versions.pop(broker_id, None)
            else:
                versions[broker_id] = broker.version
                if broker.offline:
                    offline[broker_id] = broker.offline
        return FoundBrokers(number, nodes, versions, offline)

    async def _incarnation(self, broker_id: int) -> tuple[bytes, NodeStat] | None:
        return await read(self._tree, paths.incarnation(broker_id))

    async def _broker(self, broker_id: int, incarnation: tuple[bytes, NodeStat] | None) -> _Found | None:
        """Read a live broker.

        :param incarnation: its incarnation, which was read before.
        :return: None if it is gone, or cannot be read.
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
                    return _Found(node, -1, frozenset())
                if incarnation is not None and incarnation[1].mzxid >= node.epoch:
                    return await self._complete(node, found[1], *incarnation)
                # it has registered since, or its incarnation is missing
                incarnation = await self._incarnation(broker_id)
                if incarnation is None:
                    return _Found(node, -1, frozenset())
        except UnreadableNode as error:
            self._unreadable(error)
        return None

    async def _complete(self, node: BrokerNode, stat: NodeStat, data: bytes, own: NodeStat) -> _Found:
        """Return a broker with the content of its incarnation, and its offline replicas.

        :param stat: that of its registration.
        :param own: that of its incarnation.
        """
        path = paths.offline(node.id)
        life = decode_incarnation(paths.incarnation(node.id), data)
        failed = await read(self._tree, path)
        offline: frozenset[TopicPartition] = frozenset()
        if failed is not None and failed[1].ephemeral_owner == stat.ephemeral_owner:
            offline = decode_offline(path, failed[0])
        complete = attrs.evolve(
            node,
            incarnation=own.version - life.stopping,
            stopping=life.stopping,
            clean=life.clean,
        )
        return _Found(complete, own.version, offline)
