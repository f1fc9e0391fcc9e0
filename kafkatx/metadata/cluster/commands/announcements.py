"""Announcements of a registered broker to the cluster: it is about to stop; some of its replicas are offline;
where its logs end.

It touches the tree. Each is a node of the broker, and a change record that names the broker: the others read
its nodes again. :mod:`kafkatx.metadata.cluster.registration` writes the nodes with each new registration.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import Check, Create, Delete, Operation, SetData
from kafkatx.metadata.cluster.commands.transactions import Plan, Transactions
from kafkatx.metadata.cluster.registration import Registration
from kafkatx.metadata.cluster.state.requests import read
from kafkatx.metadata.layout import paths
from kafkatx.metadata.layout.changes import ChangeRecord
from kafkatx.metadata.layout.incarnations import encode_offline
from kafkatx.metadata.layout.restorations import encode_log_ends
from kafkatx.types import BrokerNode, LogEnd, TopicPartition


class Announcements:
    """Tells the cluster of this broker."""

    def __init__(self, tree: ITree, transactions: Transactions, registration: Registration) -> None:
        self._tree = tree
        self._transactions = transactions
        self._registration = registration

    async def begin_stopping(self, node: BrokerNode) -> None:
        """Tell that this broker is about to stop.

        :raises RequestError: REQUEST_TIMED_OUT.
        """
        registration = self._registration
        registration.stopping = True
        path = paths.incarnation(node.id)

        async def plan() -> Plan | None:
            current = registration.current
            found = None if current is None else await read(self._tree, path)
            if current is None or found is None or found[1].version != current.version:
                return None  # it is told already, or will be with the registration
            content = current.content.stops(current.epoch).encode()
            return Plan([SetData(path, content, current.version)], ChangeRecord("", brokers=[node.id]))

        if registration.current is not None:
            await self._transactions.make(plan)

    async def report_offline(self, node: BrokerNode, replicas: Collection[TopicPartition]) -> None:
        """Tell that more replicas of this broker are offline.

        :raises RequestError: REQUEST_TIMED_OUT.
        """
        registration = self._registration
        registration.offline = registration.offline.union(replicas)
        if registration.current is not None and replicas:
            await self._tell(node, paths.offline(node.id), encode_offline(registration.offline))

    async def report_log_ends(self, node: BrokerNode, ends: Mapping[TopicPartition, LogEnd]) -> None:
        """Tell where logs of this broker end; with none, as it is told no more.

        :raises RequestError: REQUEST_TIMED_OUT.
        """
        if self._registration.current is not None:
            await self._tell(node, paths.log_ends(node.id), encode_log_ends(ends))

    async def _tell(self, node: BrokerNode, path: str, content: bytes) -> None:
        """Write an ephemeral node of this broker, in the session of its registration."""

        async def plan() -> Plan | None:
            current = self._registration.current
            if current is None:
                return None  # offline replicas are told with the registration, ends of logs after it
            found = await read(self._tree, path)
            operations: list[Operation] = [Check(paths.broker(node.id))]
            if found is not None and found[1].ephemeral_owner == current.session_id:
                if found[0] == content:
                    return None
                operations.append(SetData(path, content, found[1].version))
            else:
                operations += [Delete(path)] if found is not None else []
                operations.append(Create(path, content, ephemeral=True))
            return Plan(operations, ChangeRecord("", brokers=[node.id]))

        await self._transactions.make(plan)
