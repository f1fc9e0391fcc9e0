"""Power cuts of a broker: acknowledgements to clients are compared with the data left on the disk."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from random import Random
from typing import Any

import attrs
from twisted.internet.defer import Deferred, execute
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.broker import Broker
from kafkatx.broker.handlers import delete_records, produce
from kafkatx.broker.produce.staged_single import StagedForOne
from kafkatx.broker.requests.context import RequestContext
from kafkatx.config import BrokerConfig, log_config
from kafkatx.config.log_config import LogConfig
from kafkatx.log.files import Files
from kafkatx.log.store.file_store import FileLogStore
from kafkatx.metadata.embedded.store import EmbeddedMetadataStore
from kafkatx.net.requests import Peer
from kafkatx.records.builder import build_values
from kafkatx.records.compression import Codec
from kafkatx.records.conversion import batches, iter_any
from kafkatx.testing.contracts.partition_log import bytes_of, find_retention
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkatx.wire.messages.produce import ProduceResponse
from tests.broker.running import NODE, NOW_MS, Held, at_once, produce_request
from tests.log.disk import PowerCutFiles
from tests.log.fakes import QuickFiles, crash

TOPIC = "t"
MOST_CHANGES = 500
PEER = Peer("127.0.0.1", 40_000, "127.0.0.1", 9092)
PRODUCE = RequestContext(0, 9, None, PEER)
DELETE_RECORDS = RequestContext(21, 2, None, PEER)


@attrs.define
class Sent:
    """A batch that was sent to a partition, and its acknowledgement."""

    records: bytes
    values: list[bytes]
    base_offset: int
    acknowledged: bool = False


@attrs.define
class Known:
    """The knowledge of a client about a partition at the moment of the cut."""

    sent: list[Sent] = attrs.field(factory=list)
    start: int = 0
    exposed: int = 0
    flushed: int = 0
    producer_sequence: int = 0

    @property
    def acknowledged_end(self) -> int:
        """The offset after the last record that was acknowledged."""
        return max((one.base_offset + len(one.values) for one in self.sent if one.acknowledged), default=0)

    @property
    def written(self) -> dict[int, bytes]:
        """Every value that was ever sent, by offset."""
        return {one.base_offset + n: value for one in self.sent for n, value in enumerate(one.values)}


class PowerCutRound:
    """One broker's life: random requests and background tasks until the power cut, then a check.

    :param case: test case whose assertions are used.
    """

    def __init__(self, case: SynchronousTestCase, path: str, seed: int) -> None:
        self.random = random = Random(seed)
        self.case = case
        self.path = path
        self.flush_messages: int | None = random.choice((1, 1, 1, 4, None))
        settings = {
            "log.segment.bytes": str(random.choice((300, 1000, 100_000))),
            "log.index.interval.bytes": "100",
            "log.expose": random.choice(("written", "flushed")),
            "log.flush.interval.ms": random.choice(("50", str(2**63 - 1))),
            "log.segment.delete.delay.ms": "1000",
        }
        if self.flush_messages is not None:
            settings["log.flush.interval.messages"] = str(self.flush_messages)
        os.makedirs(path)
        self.config = BrokerConfig.load(None, {**settings, "log.dirs": path})
        self.log_config: LogConfig = log_config(self.config, {})
        self.known = {n: Known() for n in range(2)}
        self.clock = Clock()
        self.clock.advance(NOW_MS / 1000)
        self.files = PowerCutFiles(path, random, random.randint(1, MOST_CHANGES))
        self.metadata = EmbeddedMetadataStore(self.config, at_once, durable=False)
        self.metadata.start(NODE)
        self.workers = Held()
        self.broker = self._start()
        creating = Deferred.fromCoroutine(self.broker.topic_commands.create(TOPIC, [(0,), (0,)]))
        self.workers.work()
        case.successResultOf(creating)

    def _store(self, path: str, files: Files, workers: Any) -> FileLogStore:
        config = self.config.with_values({"log.dirs": path})
        return FileLogStore(config, workers, self.clock, find_retention, files)

    def _start(self) -> Broker:
        self.workers = Held()
        store = self._store(self.path, self.files, self.workers)
        now_ms = lambda: int(self.clock.seconds() * 1000)  # noqa: E731
        broker = Broker(self.config, self.metadata, store, self.clock, self.workers, now_ms)
        opening = Deferred.fromCoroutine(broker.open())
        self.workers.work()
        self.case.successResultOf(opening)
        return broker

    # --- the broker's life

    def live(self, steps: int = 60) -> None:
        """Do random things until the power is gone."""
        seldom = (self.wait, self.chores, self.new_epoch, self.delete, self.kill)
        actions = (self.produce,) * 8 + (self.work,) * 6 + seldom
        for _ in range(steps):
            self.random.choice(actions)()
            if self.files.dead:
                break
            self._look()
        self.files.cut()
        self._crash()
        self.metadata.stop()

    def _crash(self) -> None:
        store = self.broker.store
        assert isinstance(store, FileLogStore)
        crash(store)
        self.broker.flushes.stop()

    def _look(self) -> None:
        """Record the offsets that a consumer could know now."""
        for number, known in self.known.items():
            partition = self.broker.topics.of(TOPIC)[number]
            known.exposed = partition.high_watermark
            known.flushed = partition.log.flushed_offset

    def produce(self) -> None:
        """Send a batch or two to each of some partitions in one write round."""
        staged = []
        for _ in range(self.random.randint(1, 3)):
            number = self.random.randrange(2)
            known = self.known[number]
            values = [b"%d" % self.random.getrandbits(32) for _ in range(self.random.randint(1, 3))]
            values[0] += b"x" * self.random.choice((0, 10, 600))
            records = build_values(values, NOW_MS, Codec.NONE, 7, 0, known.producer_sequence)
            known.producer_sequence += len(values)
            sent = Sent(records, values, -1)
            known.sent.append(sent)
            request = produce_request(records, self.random.choice((1, -1)), TOPIC, number)
            answer = produce.answer(self.broker, request, PRODUCE)
            assert isinstance(answer, StagedForOne)
            staged.append((answer, sent))
        failed = self.broker.write_staged()
        for answer, sent in staged:
            response = answer.respond(failed)
            assert response is not None
            if not isinstance(response, Deferred):
                self._answered(response, sent)
            else:
                sent.base_offset = answer.base_offset
                response.addCallback(self._answered, sent)
        self.broker.replicas.wake_waiting()

    def _answered(self, response: ProduceResponse | None, sent: Sent) -> None:
        assert response is not None
        (result,) = response.responses[0].partition_responses
        self.case.assertEqual(result.error_code, 0)
        sent.base_offset = result.base_offset
        # answers after the power cut reach no client
        sent.acknowledged = not self.files.dead

    def work(self) -> None:
        """Make the disk's worker do some of its waiting jobs."""
        self.workers.work(self.random.randint(1, 4))

    def wait(self) -> None:
        """Advance the clock; flush.ms is met once the worker has done its jobs."""
        self.clock.advance(self.random.choice((0.01, 0.06, 2.0)))
        if self.log_config.flush_ms == 50 and self.random.random() < 0.5:
            self.clock.advance(0.06)
            self.workers.work()
            for partition in self.broker.topics.of(TOPIC):
                log = partition.log
                self.case.assertEqual(log.flushed_offset, log.log_end_offset)

    def chores(self) -> None:
        """Write checkpoints, or roll logs by age."""
        store = self.broker.store
        if self.random.random() < 0.5:
            store.checkpoint()
        else:
            for log in store.logs.values():
                log.roll_if_due(NOW_MS * 3)

    def new_epoch(self) -> None:
        """Begin a new leader epoch."""
        self.random.choice(self.broker.topics.of(TOPIC)).leader_epoch += 1

    def kill(self) -> None:
        """Kill and restart the process, which leaves its writes in the page cache only."""
        if self.random.random() < 0.5:
            return
        self._crash()
        self.broker = self._start()

    def delete(self) -> None:
        """Delete records below the high watermark."""
        number = self.random.randrange(2)
        partition = self.broker.topics.of(TOPIC)[number]
        offset = self.random.randint(0, partition.high_watermark)
        asked = DeleteRecordsRequest([DeleteRecordsTopic(TOPIC, [DeleteRecordsPartition(number, offset)])])

        def answered(response: Any) -> None:
            (result,) = response.topics[0].partitions
            self.case.assertEqual(result.error_code, 0)
            if not self.files.dead:
                self.known[number].start = max(self.known[number].start, result.low_watermark)

        delete_records.answer(self.broker, asked, DELETE_RECORDS).addCallback(answered)

    # --- afterwards

    def check(self) -> None:
        """Open the remaining files, perhaps cutting the power in the middle of that, and compare."""
        path = f"{self.path}-after"
        self.files.restore(path)
        if self.random.random() < 0.4:
            files = PowerCutFiles(path, self.random, self.random.randint(1, 40))
            store = self._store(path, files, lambda name: execute)
            self.case.successResultOf(store.open(lambda topic: self.log_config))
            crash(store)
            path += "-again"
            files.restore(path)
        store = self._store(path, QuickFiles(), lambda name: execute)
        self.case.successResultOf(store.open(lambda topic: self.log_config))
        for number, known in self.known.items():
            log = store.logs.get(TopicPartition(TOPIC, number))
            if log is None:  # its directory was made and never synced, so none of its files survived
                self.case.assertLessEqual(self._promised(known), 0)
            else:
                self._check(log, known)
        crash(store)

    def _check(self, log: Any, known: Known) -> None:
        case, end = self.case, log.log_end_offset
        case.assertGreaterEqual(end, self._promised(known))
        case.assertGreaterEqual(log.log_start_offset, known.start)
        found = list(_records(log))
        written = known.written
        case.assertEqual([offset for offset, _ in found], list(range(log.log_start_offset, end)))
        case.assertEqual(found, [(offset, written[offset]) for offset, _ in found])
        if found:
            self._send_again(log, known)

    def _promised(self, known: Known) -> int:
        """Return the offset, exclusive, up to which all records must exist."""
        promised = max(known.flushed, known.start)
        if self.flush_messages is not None:
            # fewer than flush.messages may have been acknowledged unflushed
            promised = max(promised, known.acknowledged_end - (self.flush_messages - 1))
        return max(promised, known.exposed) if self.log_config.exposes_flushed else promised

    def _send_again(self, log: Any, known: Known) -> None:
        """Send the last two stored batches and all lost ones again; check that each is stored once."""
        end = log.log_end_offset
        kept = [one for one in known.sent if 0 <= one.base_offset < end]
        there = [one for one in kept if one.base_offset >= log.log_start_offset]
        lost = known.sent[len(kept) :]
        for one in [*there[-2:], *lost]:
            again = log.append(one.records, 99, NOW_MS, True)
            expected = one.base_offset if one in there else log.log_end_offset
            self.case.assertEqual((again.error, again.base_offset), (0, expected), again.message)
            log.write()
        total = sum(len(one.values) for one in known.sent)
        self.case.assertEqual(log.log_end_offset, total)


def _records(log: Any) -> Any:
    """Return offset and value of every record."""
    at = log.log_start_offset
    while at < log.log_end_offset:
        data = memoryview(bytes_of(log.read(at, 1 << 30, log.log_end_offset, True)))
        yield from ((one.offset, one.value) for one in iter_any(data) if one.offset >= at)
        at = list(batches(data))[-1].last_offset + 1


def run_rounds(case: SynchronousTestCase, seeds: Iterable[int]) -> None:
    """Run one round for each seed; a seed reproduces its round."""
    for seed in seeds:
        path = case.mktemp()
        try:
            one = PowerCutRound(case, path, seed)
            one.live()
            one.check()
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        for suffix in ("", "-after", "-after-again"):
            shutil.rmtree(path + suffix, ignore_errors=True)
