"""A copier with aiokafka (protocol 1, without KIP-447: one member only)."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import KafkaError, ProducerFenced

from tests.copiers.programs.loop import (
    MOST,
    POLL_S,
    SESSION_MS,
    TRANSACTION_MS,
    Job,
    Taken,
    end_of_input,
    first_offsets,
    next_offsets,
    say,
)
from tests.copiers.values import ABORT, Plan, Value


class Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # the library has no types
    """Lets no rebalance begin within a transaction, and keeps the positions over it.

    The client does not ask for stable offsets: those that it is given may be older than its last commit.
    """

    def __init__(self, copier: Copier) -> None:
        self._copier = copier

    async def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
        """Wait for the end of the transaction; records that are not in one are read again."""
        self._copier.revocations += 1
        async with self._copier.lock:
            pass

    async def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        """Seek to the positions that this process knows."""
        self._copier.seek(self._copier.positions)


class Copier:
    """A producer and a consumer.

    :ivar positions: the next offset of each partition.
    :ivar revocations: the number of rebalances.
    """

    def __init__(self, job: Job) -> None:
        self.lock = asyncio.Lock()
        self.positions: dict[int, int] = {}
        self.revocations = 0
        self._job = job
        self._plan = Plan(job.nth)
        self._producer = AIOKafkaProducer(
            bootstrap_servers=job.bootstrap,
            transactional_id=job.transactional_id,
            transaction_timeout_ms=TRANSACTION_MS,
            linger_ms=1,
        )
        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=job.bootstrap,
            group_id=job.group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=SESSION_MS // 6,
        )

    async def run(self) -> None:
        """Copy until standard input ends."""
        stopping = end_of_input()
        await self._producer.start()
        async with self._producer.transaction():
            pass  # the producer id comes before the consumer's offsets
        await self._consumer.start()
        self._consumer.subscribe([self._job.source], listener=Listener(self))
        try:
            while not stopping.is_set():
                await self._poll()
        finally:
            await self._consumer.stop()
            await self._producer.stop()

    async def _poll(self) -> None:
        before = self.revocations
        found = await self._consumer.getmany(timeout_ms=int(POLL_S * 1000), max_records=MOST)
        taken = [Taken(place.partition, one.offset, one.value) for place in found for one in found[place]]
        for partition, offset in first_offsets(taken).items():
            self.positions.setdefault(partition, offset)
        async with self.lock:
            if self.revocations != before:
                self.seek(self.positions)
            elif taken:
                await self._copy(taken)

    async def _copy(self, taken: list[Taken]) -> None:
        try:
            await self._transaction(taken)
        except ProducerFenced:
            raise
        except KafkaError as error:
            await self._producer.abort_transaction()
            self.seek(first_offsets(taken))
            say("error", f"{type(error).__name__}: {error}")

    async def _transaction(self, taken: list[Taken]) -> None:
        values = self._plan.next([Value.decode(one.value).number for one in taken])
        await self._producer.begin_transaction()
        sent = [
            await self._producer.send(self._job.target, value.encode(), partition=one.partition)
            for one, value in zip(taken, values, strict=True)
        ]
        await asyncio.gather(*sent)
        offsets = {TopicPartition(self._job.source, p): at for p, at in next_offsets(taken).items()}
        await self._producer.send_offsets_to_transaction(offsets, self._job.group)
        if values[0].fate == ABORT:
            await self._producer.abort_transaction()
            self.seek(first_offsets(taken))
        else:
            await self._producer.commit_transaction()
            self.positions |= next_offsets(taken)
        say(values[0].fate)

    def seek(self, positions: dict[int, int]) -> None:
        """Read partitions from these offsets on, as far as they are assigned."""
        assigned = self._consumer.assignment()
        for partition, offset in positions.items():
            place = TopicPartition(self._job.source, partition)
            if place in assigned:
                self._consumer.seek(place, offset)


async def copy(job: Job) -> None:
    """Run a copier in the running loop."""
    await Copier(job).run()


if __name__ == "__main__":
    asyncio.run(copy(Job.parse(sys.argv[1:])))
