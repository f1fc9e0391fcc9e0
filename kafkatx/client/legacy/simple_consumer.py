"""The SimpleConsumer of Kafka 0.7 and of the 2011 paper: it keeps no state; every fetch names its offset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IReactorTime

from kafkatx.client.admin.destinations import Destinations
from kafkatx.client.deferreds import client_cluster, deferred, gather_by_key
from kafkatx.client.legacy.message_sets import MessageSets
from kafkatx.clientcore.legacy import simple_consumer as messages
from kafkatx.clientcore.legacy.simple_consumer import FetchRequest, MessageSet
from kafkatx.clientcore.list_offsets import EARLIEST, LATEST
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.networkclient.cluster import Cluster
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.list_offsets import ListOffsetsRequest


class SimpleConsumer:
    """Reads partitions at offsets that the application keeps::

        consumer = SimpleConsumer(bootstrap_servers="127.0.0.1:9092")
        await consumer.start()
        messages = await consumer.fetch("events", 0, offset)
        for record in messages:
            print(record.value)
        offset = messages.next_offset

    There is no group and no read-ahead, and calls are independent of each other. Leaders are looked up.
    Retriable errors are retried until ``default.api.timeout.ms`` is over. A broker answers fetches in order:
    one that waits at the end of its log delays others at the same broker.

    Besides the errors that a method names, each fails with UnknownTopic; ConnectionFailed: no leader answers;
    RequestTimedOut; RequestError INVALID_PARTITIONS: there is no such partition; ClientClosed. Cancelling a
    call drops its result.
    """

    def __init__(
        self,
        settings: Mapping[str, object] = MappingProxyType({}),
        *,
        reactor: IReactorTime | None = None,
        cluster: Cluster | None = None,
        **more: object,
    ) -> None:
        """Make a consumer; :meth:`start` connects.

        :param settings: a consumer's, by Kafka's names, with dots or underscores; *more* likewise.
        :param reactor: None: the cluster's, or the installed one.
        :param cluster: a cluster to share; it is not closed with the consumer.
        :raises SettingError: a setting is unknown or has a bad value.
        """
        chosen, self.cluster = client_cluster("consumer", settings, more, reactor, cluster)
        self.settings = chosen
        self._owned = cluster is None
        self._destinations = Destinations(self.cluster, lane="")
        self._sets = MessageSets(self.cluster, chosen)

    @deferred
    async def start(self) -> SimpleConsumer:
        """Connect; fires with this consumer. Fails with ConnectionFailed if no bootstrap server answers."""
        await self.cluster.start()
        return self

    def close(self) -> Deferred[None]:
        """Close the connections, unless they are another client's; fires when they are closed."""
        return self.cluster.close() if self._owned else succeed(None)

    # -- records

    @deferred
    async def fetch(
        self,
        topic: str,
        partition: int,
        offset: int,
        max_bytes: int | None = None,
        *,
        min_bytes: int | None = None,
        max_wait_ms: int | None = None,
    ) -> MessageSet:
        """Fetch the records of a partition from an offset on.

        :param offset: the first offset; the log end offset is allowed.
        :param max_bytes: the approximate size; None: ``max.partition.fetch.bytes``.
        :param min_bytes: the broker waits for this many bytes, for *max_wait_ms* at most; None:
            ``fetch.min.bytes`` and ``fetch.max.wait.ms``. 0: it answers at once.
        :return: fires with the records, perhaps none. Fails with OffsetOutOfRange; CorruptRecords,
            Undecodable, UnsupportedCompression: the first record cannot be read.
        """
        wanted = FetchRequest(topic, partition, offset, max_bytes)
        (found,) = await self._sets.fetch([wanted], min_bytes, max_wait_ms)
        if found.error is not None and not found.records:
            raise found.error
        return found

    @deferred
    async def multifetch(
        self,
        requests: Iterable[FetchRequest | tuple[str, int, int] | tuple[str, int, int, int]],
        *,
        min_bytes: int | None = None,
        max_wait_ms: int | None = None,
    ) -> list[MessageSet]:
        """Fetch from several partitions in parallel: one request to each leader.

        :param requests: also as tuples: topic, partition, offset and optionally max_bytes.
        :return: fires with a message set for each, in their order. An error of one of them is its ``error``,
            and is raised by iterating over it; the others are not affected.
        """
        wanted = [FetchRequest(*request) for request in requests]
        return await self._sets.fetch(wanted, min_bytes, max_wait_ms)

    # -- offsets

    @deferred
    async def offsets_before(self, topic: str, partition: int, time: int, max_offsets: int = 1) -> list[int]:
        """Look up offsets before a time, from which a partition can be read; the largest first.

        :param time: in ms; -1: latest, the log end offset; -2: earliest.
        :param max_offsets: the largest number of offsets.
        :return: fires with the base offsets of segments that were last written at or before the time. For
            brokers that do not tell segments any more (Apache Kafka 4): the offset of the first record at or
            after the time, or the log end offset if there is none, and the log start offset.
        """
        at = TopicPartition(topic, partition)

        async def attempt() -> list[int] | None:
            leader = await self._sets.leader(at)
            try:
                version = await self.cluster.version_for(leader, ListOffsetsRequest, 0)
            except RequestError as error:
                if error.code is not ErrorCode.UNSUPPORTED_VERSION:
                    raise
                return None
            request = messages.offsets_before_request(at, time, max_offsets)
            return messages.offsets_before(await self._destinations.node(leader, request, version), at)

        found = await self.cluster.retrying(attempt)
        if found is not None:
            return found
        times = (EARLIEST, LATEST, time)
        told = await gather_by_key(times, lambda one: self._destinations.offsets({at: one}))
        start, end, first_after = (told[one][at][0] for one in times)
        return messages.offsets_known(time, start, end, first_after, max_offsets)
