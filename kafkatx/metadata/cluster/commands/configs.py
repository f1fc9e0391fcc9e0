"""Commands about configs, quotas and credentials: conditional writes of nodes, with Kafka's notifications.

It touches the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from twisted.internet.defer import DeferredLock

from kafkatx.interfaces import ConfigChange, ITree
from kafkatx.interfaces.nodes import Check, Create, Operation, SetData, parent_path
from kafkatx.metadata.cluster.commands.topics import deletion_fence, unknown_topic
from kafkatx.metadata.cluster.commands.transactions import Plan, Transactions
from kafkatx.metadata.cluster.state.requests import read
from kafkatx.metadata.layout import configs as config_nodes
from kafkatx.metadata.layout import entities, paths
from kafkatx.metadata.layout.changes import ChangeRecord
from kafkatx.metadata.layout.entities import ConfigEntity
from kafkatx.types import QuotaEntity

_Change = tuple[ConfigEntity, ConfigChange]


class ConfigCommands:
    """Changes configs, one command after the other: other brokers' changes cause enough conflicts."""

    def __init__(self, tree: ITree, transactions: Transactions) -> None:
        self._tree = tree
        self._transactions = transactions
        self._lock = DeferredLock()

    async def alter_topic(self, name: str, change: ConfigChange) -> None:
        """Change the configs of a topic.

        :raises RequestError: UNKNOWN_TOPIC_OR_PARTITION; or as *change* or ``Transactions.make`` does.
        """

        async def check() -> Sequence[Operation]:
            fence = await deletion_fence(self._tree)
            if await self._tree.exists(paths.topic(name)) is None:
                raise unknown_topic(name)
            return [*fence, Check(paths.topic(name))]

        await self._alter([(entities.topic(name), change)], check)

    async def alter_broker(self, broker: str, change: ConfigChange) -> None:
        """Change the configs of a broker, or of all; raises as :meth:`alter_topic`."""
        await self._alter([(entities.broker(broker), change)])

    async def alter_group(self, group_id: str, change: ConfigChange) -> None:
        """Change the configs of a group; raises as :meth:`alter_topic`."""
        await self._alter([(entities.group(group_id), change)])

    async def alter_client_metrics(self, subscription: str, change: ConfigChange) -> None:
        """Change the configs of a subscription to metrics of clients; raises as :meth:`alter_topic`."""
        await self._alter([(entities.client_metrics(subscription), change)])

    async def alter_quotas(self, changes: Mapping[QuotaEntity, Mapping[str, float | None]]) -> None:
        """Set and remove quotas, in one transaction.

        :raises RequestError: INVALID_REQUEST: there are no such quotas; or as ``Transactions.make``.
        """

        def setting(quotas: Mapping[str, float | None]) -> ConfigChange:
            return lambda old: config_nodes.with_quotas(old, quotas)

        every = [(entities.quota(entity), setting(quotas)) for entity, quotas in changes.items()]
        if every:
            await self._alter(every)

    async def alter_credentials(self, changes: Mapping[str, Mapping[str, str | None]]) -> None:
        """Set and remove SCRAM credentials of users, in one transaction.

        :raises RequestError: INVALID_REQUEST: a name cannot be a user's; or as ``Transactions.make``.
        """

        def setting(credentials: Mapping[str, str | None]) -> ConfigChange:
            return lambda old: config_nodes.with_credentials(old, credentials)

        every = [
            (entities.quota((("user", user),)), setting(credentials)) for user, credentials in changes.items()
        ]
        if every:
            await self._alter(every)

    async def _alter(
        self,
        changes: Sequence[_Change],
        check: Callable[[], object] | None = None,
    ) -> None:
        async def plan() -> Plan:
            operations: list[Operation] = []
            if check is not None:
                operations += await check()  # type: ignore[misc]
            made: set[str] = set()
            for entity, change in changes:
                operations += await self._write(entity, change, made)
            notified = [
                Create(paths.CONFIG_CHANGE_PREFIX, config_nodes.encode_notification(entity), sequential=True)
                for entity, _ in changes
                if entity.notifies
            ]
            record = ChangeRecord("", configs=[entity.path for entity, _ in changes])
            return Plan([*operations, *notified], record)

        await self._lock.acquire()
        try:
            await self._transactions.make(plan)
        finally:
            self._lock.release()

    async def _write(self, entity: ConfigEntity, change: ConfigChange, made: set[str]) -> list[Operation]:
        """Return the operations that change one node.

        :param made: paths that the transaction creates; added to.
        """
        path = paths.config(entity.path)
        found = await read(self._tree, path)
        old = {} if found is None else config_nodes.decode_configs(path, found[0])
        content = config_nodes.encode_configs(change(old))
        if found is not None:
            return [SetData(path, content, found[1].version)]
        if path in made:
            return [SetData(path, content)]
        missing = []
        above = parent_path(path)
        while above not in made and await self._tree.exists(above) is None:
            missing.append(above)
            above = parent_path(above)
        made.update([*missing, path])
        return [*(Create(each) for each in reversed(missing)), Create(path, content)]
