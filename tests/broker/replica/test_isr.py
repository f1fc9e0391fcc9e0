"""The changes of in-sync replicas that a leader asks for, and their outcomes."""

from __future__ import annotations

from unittest.mock import patch

import attrs
from twisted.internet.defer import CancelledError
from twisted.logger import LogLevel, capturedLogs

from kafkatx.broker.replica import isr as module
from kafkatx.broker.replica.isr import SeenReplicas
from kafkatx.broker.replica.partition import Partition
from kafkatx.errors import ErrorCode
from kafkatx.records.builder import build_values
from kafkatx.types import IsrChange
from tests.broker.cluster import Command
from tests.broker.replicated import ReplicatedTestCase
from tests.broker.running import NOW_MS

LAG_S = 30.0


class IsrTestCase(ReplicatedTestCase):
    """Broker 1 leads ``t-0``, whose replicas are 1, 2 and 3; at least two must be in sync."""

    def setUp(self) -> None:
        """Make the topic."""
        super().setUp()
        (self.partition,) = self.make_replicated(configs={"min.insync.replicas": "2"})
        self.clock.advance(0)

    def write(self, count: int = 1, partition: Partition | None = None) -> int:
        """Append records as the leader; return the log's end."""
        written = partition or self.partition
        written.log.append(build_values([b"v"] * count, NOW_MS), written.leader_epoch, NOW_MS, True)
        self.broker.replicas.write(written)
        self.clock.advance(0)
        return written.log.log_end_offset

    def changes(self) -> list[IsrChange]:
        """Return all changes that were asked for."""
        return [change for command in self.asked() for change in command.args[0]]

    def asked(self) -> list[Command]:
        """Return the calls of alter_isr."""
        return [command for command in self.metadata.commands if command.name == "alter_isr"]

    def pass_time(self, *keep_up: int, seconds: float = LAG_S + LAG_S / 2 + 1) -> None:
        """Advance the time, while only these followers fetch."""
        for _ in range(int(seconds)):
            self.clock.advance(1)
            if keep_up:
                self.replicate(self.partition, self.partition.log.log_end_offset, *keep_up)


class LeavingTests(IsrTestCase):
    def test_in_time(self) -> None:
        """Followers that keep up stay, and nothing is asked for."""
        self.write()
        self.pass_time(2, 3, seconds=200)
        self.assertEqual((self.changes(), self.partition.high_watermark), ([], 1))

    def test_late(self) -> None:
        """A follower that does not fetch leaves after the time, and only then the high watermark goes on."""
        self.write()
        self.pass_time(2, seconds=29)
        self.assertEqual(self.changes(), [])
        self.pass_time(2, seconds=17)
        (change,) = self.changes()
        self.assertEqual((change.isr, change.min_insync, sorted(change.epochs)), ((1, 2), 2, [2]))
        self.assertEqual((self.partition.isr, self.partition.high_watermark), ((1, 2), 1))

    def test_counts_until_it_is_written(self) -> None:
        """The high watermark waits for a leaving follower until its leaving is written."""
        self.metadata.holding = True
        self.write()
        self.pass_time(2)
        (command,) = self.asked()
        self.assertEqual(self.partition.high_watermark, 0)
        command.carry_out()
        self.assertEqual((self.partition.isr, self.partition.high_watermark), ((1, 2), 1))

    def test_below_the_minimum(self) -> None:
        """All may leave: below min.insync.replicas the high watermark stands, and the others are eligible."""
        self.write()
        self.pass_time()
        state = self.partition.state
        self.assertEqual((state.isr, state.eligible, self.partition.high_watermark), ((1,), (2, 3), 0))

    def test_frozen(self) -> None:
        """A process that stood still takes no follower for late before it could have heard of it."""
        self.write()
        self.clock.advance(LAG_S * 3)
        self.clock.advance(0)
        self.assertEqual(self.changes(), [])
        self.pass_time(3)
        self.assertEqual(self.partition.isr, (1, 3))

    def test_after_a_pause(self) -> None:
        """A leader that was fenced for long and leads on in its epoch gives its followers the time again."""
        self.write()
        self.metadata.fence()
        self.clock.advance(LAG_S * 20)
        self.metadata.fence(False)
        self.pass_time(2, seconds=LAG_S - 1)
        self.assertEqual(self.changes(), [])
        self.pass_time(2)
        self.assertEqual(self.partition.isr, (1, 2))

    def test_without_a_lease(self) -> None:
        """A broker without a lease asks for nothing."""
        self.write()
        self.metadata.remaining_s = 0
        self.pass_time(seconds=100)
        self.assertEqual(self.changes(), [])

    def test_no_timer_without_copies(self) -> None:
        """A broker whose partitions have no copies has no timer; one that leads such again has."""
        self.metadata.lead("t", 0, 2)
        self.clock.advance(LAG_S)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.metadata.replicate("t", leader=1, replicas=(1, 2, 3), isr=(1, 2, 3))
        self.pass_time(2)
        self.assertEqual(self.partition.isr, (1, 2))


class JoiningTests(IsrTestCase):
    def setUp(self) -> None:
        """Broker 3 is not in sync."""
        super().setUp()
        self.metadata.replicate("t", isr=(1, 2))
        self.write(3)

    def test_joins(self) -> None:
        """A follower joins as soon as it has everything."""
        self.replicate(self.partition, 3, 3)
        self.assertEqual(self.changes(), [])
        self.clock.advance(0)
        epochs = {one: self.metadata.state.brokers[one].epoch for one in (2, 3)}
        (change,) = self.changes()
        self.assertEqual((change.isr, change.epochs), ((1, 2, 3), epochs))
        self.assertEqual(self.partition.isr, (1, 2, 3))

    def test_under_load(self) -> None:
        """A follower joins although the leader's end is always ahead: the high watermark waits for it."""
        for _ in range(4):
            end = self.partition.log.log_end_offset
            self.replicate(self.partition, end, 3)
            self.write()
            self.replicate(self.partition, end + 1, 2)
        self.assertEqual(self.partition.isr, (1, 2, 3))

    def test_counts_from_the_asking_on(self) -> None:
        """The high watermark does not pass a follower whose joining is asked for, and perhaps written."""
        self.metadata.holding = True
        self.replicate(self.partition, 3, 3)
        self.clock.advance(0)
        self.write()
        self.replicate(self.partition, 4, 2)
        self.assertEqual(self.partition.high_watermark, 3)
        self.pass_time(2)
        self.assertEqual((self.partition.high_watermark, len(self.asked())), (3, 1))

    def test_one_call(self) -> None:
        """The changes of one turn go in one call; each partition's answer is its own."""
        self.make_replicated("u", [(1, 2, 3), (1, 2, 3)])
        partitions = [self.partition, *self.broker.topics.of("u")]
        self.metadata.replicate("u", 0, isr=(1, 2))
        self.metadata.replicate("u", 1, isr=(1, 2))
        before = len(self.asked())
        self.metadata.holding = True
        for partition in partitions:
            self.replicate(partition, partition.log.log_end_offset, 3)
        self.clock.advance(0)
        (command,) = self.asked()[before:]
        self.assertEqual(len(command.args[0]), 3)
        self.metadata.replicate("u", 0, isr=(1,))  # the controller was first
        command.carry_out()
        self.assertEqual([partition.isr for partition in partitions], [(1, 2, 3), (1,), (1, 2, 3)])

    def test_turns(self) -> None:
        """Many partitions are looked at in several turns."""
        self.make_replicated("u", [(1, 2, 3)] * 5)
        self.clock.advance(0)
        partitions = self.broker.topics.of("u")
        for partition in partitions:
            self.metadata.replicate("u", partition.topic_partition.partition, isr=(1, 2))
        self.clock.advance(0)
        with patch.object(module, "AT_ONCE", 2):
            for partition in partitions:
                self.replicate(partition, 0, 3)
            before = len(self.asked())
            for _ in range(3):
                self.clock.advance(0)
        self.assertEqual([len(call.args[0]) for call in self.asked()[before:]], [2, 2, 1])

    def test_refused(self) -> None:
        """After a refusal it is asked again when half the time has passed, or something has changed."""
        self.metadata.holding = True
        self.replicate(self.partition, 3, 3)
        self.clock.advance(0)
        self.asked()[0].done.callback([ErrorCode.INELIGIBLE_REPLICA])
        self.replicate(self.partition, 3, 2, 3)
        self.clock.advance(0)
        self.assertEqual(len(self.asked()), 1)
        self.metadata.join(4)
        self.clock.advance(0)
        self.assertEqual(len(self.asked()), 2)
        self.asked()[1].done.callback([ErrorCode.REQUEST_TIMED_OUT])
        self.pass_time(2, 3, seconds=LAG_S / 2 + 1)
        self.assertEqual(len(self.asked()), 3)

    def test_high_watermark_after_a_refusal(self) -> None:
        """A follower whose joining was refused holds nothing up any more."""
        self.metadata.holding = True
        self.replicate(self.partition, 3, 3)
        self.clock.advance(0)
        self.metadata.begin_to_stop(3)
        self.write()
        self.replicate(self.partition, 4, 2)
        self.assertEqual(self.partition.high_watermark, 3)
        self.asked()[0].carry_out()
        self.assertEqual((self.partition.isr, self.partition.high_watermark), ((1, 2), 4))

    def test_late_answer(self) -> None:
        """The answer to a change of an earlier state settles nothing (race 11)."""
        self.metadata.holding = True
        self.replicate(self.partition, 3, 3)
        self.clock.advance(0)
        self.metadata.replicate("t", isr=(1,))  # so it was refused, and broker 3 is asked for anew
        self.clock.advance(0)
        first, second = self.asked()
        self.assertEqual(second.args[0][0].isr, (1, 3))
        first.done.callback([ErrorCode.INVALID_UPDATE_VERSION])
        assert self.partition.leadership is not None
        self.assertIsNotNone(self.partition.leadership.asked)
        self.assertFalse(self.partition.leadership.refused)

    def test_answer_after_another_leader(self) -> None:
        """The answer of an earlier epoch does not matter any more."""
        self.metadata.holding = True
        self.replicate(self.partition, 3, 3)
        self.clock.advance(0)
        (command,) = self.asked()
        self.metadata.lead("t", 0, 2)
        command.done.callback([ErrorCode.INVALID_UPDATE_VERSION])
        self.metadata.replicate("t", leader=1, replicas=(1, 2, 3), isr=(1, 2))
        assert self.partition.leadership is not None
        self.assertEqual(self.partition.leadership.refused, False)

    def test_in_doubt(self) -> None:
        """A change whose outcome is not known counts until a later state is seen, also after a fence."""
        self.metadata.holding = True
        self.replicate(self.partition, 3, 3)
        self.clock.advance(0)
        self.metadata.fence()
        self.metadata.fence(False)
        self.write()
        self.pass_time(2)
        self.assertEqual((self.partition.high_watermark, len(self.asked())), (3, 1))
        self.asked()[0].carry_out()
        self.assertEqual(self.partition.isr, (1, 2, 3))

    def test_store_stops(self) -> None:
        """A store that stops ends the asking without a line in the log; any other failure is a bug."""
        for error, lines in ((CancelledError(), 0), (ValueError("bug"), 1)):
            self.metadata.holding = True
            self.metadata.replicate("t", isr=(1, 2))
            self.replicate(self.partition, 3, 3)
            with capturedLogs() as events:
                self.clock.advance(0)
                self.asked()[-1].done.errback(error)
            self.assertEqual(len([e for e in events if e["log_level"] == LogLevel.critical]), lines)
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)

    def test_new_life(self) -> None:
        """Fetches of a broker's past life let it not join after it has registered again (KIP-903)."""
        self.metadata.holding = True
        self.replicate(self.partition, 3, 3)
        self.metadata.join(3)
        self.clock.advance(0)
        self.assertEqual(self.changes(), [])
        self.replicate(self.partition, 3, 3)
        self.clock.advance(0)
        self.assertEqual(self.changes()[0].epochs[3], self.metadata.state.brokers[3].epoch)

    def test_stopping(self) -> None:
        """A broker that is about to stop does not join (KIP-841), nor does one whose replica is offline."""
        self.metadata.begin_to_stop(3)
        self.replicate(self.partition, 3, 3)
        self.clock.advance(0)
        self.assertEqual(self.changes(), [])
        self.metadata.join(3)
        self.metadata.fail_replicas(3, self.partition.topic_partition)
        self.replicate(self.partition, 3, 3)
        self.clock.advance(0)
        self.assertEqual(self.changes(), [])

    def test_member_whose_machine_went_down(self) -> None:
        """The leader vouches for no member that registered again unclean; it joins with the next change."""
        node = self.metadata.state.brokers[2]
        down = attrs.evolve(node, epoch=self.metadata.count(), clean=False)
        self.metadata.change(brokers={**self.metadata.state.brokers, 2: down})
        self.replicate(self.partition, 3, 3)
        self.clock.advance(0)
        self.assertEqual(self.changes()[-1].isr, (1, 3))
        self.replicate(self.partition, 3, 2)
        self.clock.advance(0)
        self.assertEqual(self.partition.isr, (1, 3, 2))


class SeenReplicasTests(IsrTestCase):
    def test_may_join(self) -> None:
        """A replica may join in the present life of its broker only."""
        seen = SeenReplicas(self.metadata, self.partition.topic_partition)
        epoch = self.metadata.state.brokers[2].epoch
        found = [seen.may_join(*one) for one in ((2, epoch), (2, epoch - 1), (2, epoch + 1), (4, 1))]
        self.assertEqual(found, [True, False, False, False])


class AgainTests(IsrTestCase):
    def test_recovering(self) -> None:
        """A leader that was elected unclean writes its in-sync replicas at once."""
        self.metadata.replicate("t", isr=(1,), recovering=True)
        self.clock.advance(0)
        self.assertEqual((self.changes()[0].isr, self.partition.state.recovering), ((1,), False))
        self.clock.advance(0)
        self.assertEqual(len(self.changes()), 1)

    def test_minimum_lowered(self) -> None:
        """Eligible replicas are cleared when min.insync.replicas is lowered, and only then records commit."""
        self.metadata.replicate("t", isr=(1,), eligible=(2, 3))
        self.write()
        self.metadata.holding = True
        topic = self.metadata.state.topics["t"]
        self.metadata.put(attrs.evolve(topic, configs={"min.insync.replicas": "1"}))
        self.clock.advance(0)
        (command,) = self.asked()
        self.assertEqual(self.partition.high_watermark, 0)
        command.carry_out()
        self.assertEqual((self.partition.state.eligible, self.partition.high_watermark), ((), 1))

    def test_more_replicas(self) -> None:
        """A leader counts the followers that a reassignment adds, though its role stays the same."""
        (partition,) = self.make_replicated("u", [[1]])
        self.write(2, partition)
        self.assertEqual(
            (partition.replicated, partition.leadership, partition.high_watermark), (False, None, 2)
        )
        self.metadata.replicate("u", replicas=(1, 2), adding=(2,))
        self.replicate(partition, 2, 2)
        self.clock.advance(0)
        self.assertEqual(partition.isr, (1, 2))
        self.write(1, partition)
        self.pass_time(2, 3)
        self.assertEqual(partition.isr, (1,))
        self.metadata.replicate("u", replicas=(1,), adding=(), isr=(1,))
        self.write(1, partition)
        self.assertEqual((partition.leadership, partition.high_watermark), (None, 4))


class StopTests(IsrTestCase):
    def test_stop(self) -> None:
        """After the stop no timer is left, and nothing is asked for."""
        self.metadata.replicate("t", isr=(1, 2))
        self.successResultOf(self.broker.topics.settled())
        self.replicate(self.partition, 0, 3)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.assertEqual(self.changes(), [])
