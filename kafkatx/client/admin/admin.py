"""The admin client: topics, records, log dirs; its parts: groups, configs, ACLs and others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IReactorTime

from kafkatx.client.admin import mirrors
from kafkatx.client.admin.acls import Acls
from kafkatx.client.admin.configs import Configs
from kafkatx.client.admin.credentials import Credentials
from kafkatx.client.admin.destinations import Destinations
from kafkatx.client.admin.groups import Groups
from kafkatx.client.admin.quotas import Quotas
from kafkatx.client.admin.transactions import Transactions
from kafkatx.client.deferreds import client_cluster, deferred, gather_by_key
from kafkatx.clientcore.admin import topics as messages
from kafkatx.clientcore.admin.configs import ConfigEntry, Resource, ResourceType
from kafkatx.clientcore.admin.mirror_status import MirrorReport
from kafkatx.clientcore.admin.topics import LogDir, TopicDescription
from kafkatx.clientcore.list_offsets import EARLIEST, LATEST
from kafkatx.clientcore.metadata import ClusterMetadata, TopicMetadata
from kafkatx.clientcore.metadata_request import require_topic
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.networkclient.cluster import Cluster
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.create_topics import CreateTopicsRequest
from kafkatx.wire.messages.describe_log_dirs import DescribeLogDirsRequest


class Admin:
    """Administers a cluster::

        admin = Admin(bootstrap_servers="127.0.0.1:9092")
        await admin.start()
        await admin.create_topic("clicks", partitions=8)
        await admin.configs.alter(Resource(ResourceType.TOPIC, "clicks"), {"retention.ms": "3600000"})
        for group in await admin.groups.listings(): ...
        await admin.close()

    Retriable errors are retried until ``default.api.timeout.ms`` is over. Besides the errors that a method
    names, each fails with ConnectionFailed: no broker answers; RequestTimedOut: it was not done in time;
    RequestError UNSUPPORTED_VERSION: the brokers are too old for it; ClientClosed. Cancelling a call drops
    its result; the broker may do what was requested nevertheless.

    :ivar groups: consumer groups and their offsets.
    :ivar configs: settings of topics and brokers.
    :ivar quotas: client quotas.
    :ivar transactions: transactional ids, and the producers of partitions.
    :ivar acls: access control lists.
    :ivar credentials: users with SCRAM credentials.
    """

    def __init__(
        self,
        settings: Mapping[str, object] = MappingProxyType({}),
        *,
        reactor: IReactorTime | None = None,
        cluster: Cluster | None = None,
        **more: object,
    ) -> None:
        """Make an admin client; :meth:`start` connects.

        :param settings: by Kafka's names, with dots or underscores; *more* likewise.
        :param reactor: None: the cluster's, or the installed one.
        :param cluster: a cluster to share, with its settings; it is not closed with the admin client.
        :raises SettingError: a setting is unknown or has a bad value.
        """
        self.settings, self.cluster = client_cluster("admin", settings, more, reactor, cluster)
        self._owned = cluster is None
        self._destinations = Destinations(self.cluster, lane="" if self._owned else "admin")
        self.groups = Groups(self._destinations)
        self.configs = Configs(self._destinations)
        self.quotas = Quotas(self._destinations)
        self.transactions = Transactions(self._destinations)
        self.acls = Acls(self._destinations)
        self.credentials = Credentials(self._destinations)

    @deferred
    async def start(self) -> Admin:
        """Connect; fires with this client. Fails with ConnectionFailed if no bootstrap server answers."""
        await self.cluster.start()
        return self

    def close(self) -> Deferred[None]:
        """Close the connections, unless they are another client's; fires when they are closed."""
        return self.cluster.close() if self._owned else succeed(None)

    # -- topics

    @deferred
    async def create_topic(
        self,
        name: str,
        partitions: int = -1,
        replication: int = -1,
        configs: Mapping[str, str] = MappingProxyType({}),
        validate_only: bool = False,
    ) -> None:
        """Create a topic, and wait until the brokers know it.

        :param partitions: -1: the broker's ``num.partitions``.
        :param replication: the replication factor; -1: the broker's ``default.replication.factor``.
        :param validate_only: only check whether it could be created.

        Fails with RequestError TOPIC_ALREADY_EXISTS, INVALID_TOPIC_EXCEPTION, INVALID_CONFIG, ...
        """

        async def attempt() -> None:
            version = await self._destinations.controller_version(CreateTopicsRequest)
            request = messages.create_topic_request(
                name, partitions, replication, configs, self._destinations.timeout_ms, version, validate_only
            )
            messages.check_created((await self._destinations.controller(request)).topics)

        async def known() -> None:
            messages.check_known(name, await self.cluster.describe([name]))

        await self.cluster.retrying(attempt)
        self.cluster.stale()
        if not validate_only:
            await self.cluster.retrying(known)

    @deferred
    async def delete_topic(self, name: str) -> None:
        """Delete a topic and its records.

        Fails with UnknownTopic, or RequestError TOPIC_DELETION_DISABLED, ...
        """
        request = messages.delete_topic_request(name, self._destinations.timeout_ms)

        async def attempt() -> None:
            messages.check_changed((await self._destinations.controller(request)).responses)

        await self.cluster.retrying(attempt)
        self.cluster.stale()

    @deferred
    async def create_partitions(self, name: str, count: int) -> None:
        """Increase a topic's number of partitions to *count*; records stay where they are.

        Fails with UnknownTopic, or RequestError INVALID_PARTITIONS (it has as many or more), ...
        """
        request = messages.create_partitions_request(name, count, self._destinations.timeout_ms)

        async def attempt() -> None:
            messages.check_changed((await self._destinations.controller(request)).results)

        await self.cluster.retrying(attempt)
        self.cluster.stale()

    @deferred
    async def metadata(self) -> ClusterMetadata:
        """Describe all brokers and all topics, as one broker sees them now."""
        return await self._destinations.describe(None)

    @deferred
    async def list_topics(self, internal: bool = False) -> list[TopicMetadata]:
        """List all topics by name; internal topics only with *internal*."""
        return messages.topics_listed(await self._destinations.describe(None), internal)

    @deferred
    async def describe_topic(self, name: str) -> TopicDescription:
        """Describe a topic: its partitions, their offsets (of those with a leader), and its configs.

        Fails with UnknownTopic.
        """

        async def attempt() -> TopicMetadata:
            return require_topic(name, await self.cluster.describe([name]))

        topic = await self.cluster.retrying(attempt)
        led = [TopicPartition(name, number) for number in messages.partitions_with_leader(topic)]
        offsets = await gather_by_key(
            (EARLIEST, LATEST), lambda time: self._destinations.offsets(dict.fromkeys(led, time))
        )
        earliest, latest = (
            {at.partition: answer for at, answer in offsets[time].items()} for time in (EARLIEST, LATEST)
        )
        return messages.topic_description(topic, earliest, latest, await self._configs(name))

    async def _configs(self, topic: str) -> dict[str, ConfigEntry]:
        """Return a topic's configs; none if the broker is too old for DescribeConfigs."""
        try:
            return await self.configs.describe(Resource(ResourceType.TOPIC, topic))
        except RequestError as error:
            if error.code is not ErrorCode.UNSUPPORTED_VERSION:
                raise
            return {}

    # -- records

    @deferred
    async def list_offsets(
        self, timestamps: Mapping[TopicPartition, int], isolation_level: int = 0
    ) -> dict[TopicPartition, tuple[int, int]]:
        """Look offsets up by time.

        :param timestamps: for each partition a time in ms, or -1: latest (the offset of the next record), -2:
            earliest, -3: the record with the largest timestamp.
        :param isolation_level: 1: latest is the last stable offset.
        :return: fires with the offset of the first record at or after the time, and that record's timestamp;
            -1 and -1 where there is none. Fails with UnknownTopic, or RequestError: a partition does not
            exist.
        """
        return await self._destinations.offsets(timestamps, isolation_level)

    @deferred
    async def delete_records(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Delete the records before an offset in each partition.

        :param offsets: for each partition the first offset to keep; -1: delete all records.
        :return: fires with the log start offset of each partition. Fails with UnknownTopic, or RequestError
            OFFSET_OUT_OF_RANGE, POLICY_VIOLATION, ...; other partitions may have been truncated.
        """

        async def delete(at: TopicPartition) -> int:
            request = messages.delete_records_request(at, offsets[at], self._destinations.timeout_ms)

            async def attempt() -> int:
                (leader,) = await self._destinations.leaders([at])
                return messages.low_watermark(await self._destinations.node(leader, request), at)

            return await self.cluster.retrying(attempt)

        return await gather_by_key(offsets, delete)

    # -- log dirs

    @deferred
    async def describe_log_dirs(self, node_ids: Iterable[int] | None = None) -> dict[int, list[LogDir]]:
        """Describe the log dirs of these brokers, or of all brokers."""

        async def describe(node_id: int) -> list[LogDir]:
            async def attempt() -> list[LogDir]:
                return messages.log_dirs(await self._destinations.node(node_id, DescribeLogDirsRequest(None)))

            return await self.cluster.retrying(attempt)

        if node_ids is None:
            node_ids = (await self._destinations.describe([])).brokers
        return await gather_by_key(node_ids, describe)

    # -- mirrors

    @deferred
    async def describe_mirrors(
        self, links: Collection[str] | None = None, topics: Collection[str] | None = None
    ) -> MirrorReport:
        """Describe links and the partitions that they fill, as all brokers tell it; None stands for all.

        Fails with NoMirrors if a broker is not kafkatx, or older than links.
        """
        return await mirrors.describe(self._destinations, links, topics)
