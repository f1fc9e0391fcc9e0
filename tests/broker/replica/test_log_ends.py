"""A broker tells where its logs end, of partitions without in-sync replicas."""

from __future__ import annotations

import attrs
from twisted.internet.defer import fail

from kafkatx.broker.replica.log_ends import DELAY_S, RETRY_S, LogEnds
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.records.builder import build_values
from kafkatx.types import NO_LEADER, LogEnd, TopicPartition
from tests.broker.replicated import ReplicatedTestCase
from tests.broker.running import NOW_MS

ONE = TopicPartition("t", 0)


class LogEndsTests(ReplicatedTestCase):
    """The broker is number 1 of three."""

    def setUp(self) -> None:
        """Begin to tell, with a partition that has a record."""
        super().setUp()
        (self.partition,) = self.make_replicated()
        self.partition.log.append(build_values([b"v"], NOW_MS), 0, NOW_MS, True)
        self.partition.log.write()
        self.ends = LogEnds(self.metadata, self.broker.topics, self.clock)
        self.ends.start()
        self.addCleanup(self.ends.stop)

    def clear(self, epoch: int) -> None:
        """Show a state that no broker leads, of an older copy."""
        topic = self.metadata.state.topics["t"]
        state = attrs.evolve(
            topic.partitions[0],
            leader=NO_LEADER,
            leader_epoch=epoch,
            isr=(),
            partition_epoch=topic.partitions[0].partition_epoch + 1,
            revision=self.metadata.count(),
        )
        self.metadata.put(attrs.evolve(topic, partitions=(state,)))
        self.clock.advance(DELAY_S)

    def test_nothing_to_tell(self) -> None:
        """While all partitions have in-sync replicas nothing is told."""
        self.metadata.lead("t", 0, 2)
        self.clock.advance(1.0)
        self.assertEqual(self.metadata.log_ends, [])

    def test_told(self) -> None:
        """The end is told with the epoch of the state that it is for, and no more when there is a leader."""
        self.clear(5)
        log = self.partition.log
        self.assertEqual(
            self.metadata.log_ends, [{ONE: LogEnd(5, log.latest_epoch, log.epoch_at(0), log.log_end_offset)}]
        )
        self.clear(6)
        self.assertEqual(self.metadata.log_ends[1][ONE].asked, 6)
        self.metadata.lead("t", 0, 2, 7)
        self.clock.advance(DELAY_S)
        self.assertEqual(self.metadata.log_ends[2:], [{}])

    def test_registered_again(self) -> None:
        """The ends are told again after a new registration, which forgets them."""
        self.clear(5)
        self.metadata.join(1)
        self.clock.advance(DELAY_S)
        self.assertEqual(self.metadata.log_ends, [self.metadata.log_ends[0]] * 2)

    def test_failed(self) -> None:
        """Ends that could not be told are told a moment later."""
        report = self.metadata.report_log_ends
        self.patch(
            self.metadata, "report_log_ends", lambda ends: fail(RequestError(ErrorCode.REQUEST_TIMED_OUT))
        )
        self.clear(5)
        self.patch(self.metadata, "report_log_ends", report)
        self.clock.advance(RETRY_S)
        self.assertEqual(len(self.metadata.log_ends), 1)
