"""The control of links by the controller's broker: whole brokers, a source, one clock."""

from __future__ import annotations

import uuid
from typing import Any

import attrs

from kafkatx.broker.mirror.control.group_plan import mark_of
from kafkatx.broker.mirror.control.own_brokers import OwnBrokers
from kafkatx.broker.mirror.control.states_round import StatesRound
from kafkatx.broker.mirror.mirrored_partition import MirroredPartition
from kafkatx.clientcore.admin.mirror_status import MirrorStatus
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.config.mirror_record import MirrorState
from kafkatx.records.builder import build_values
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest
from tests.broker.mirror.control.case import ControlCase
from tests.broker.running import produce_request

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


async def _lose(*_: object) -> None:
    raise ConnectionFailed("lost")


class TopicsTests(ControlCase):
    def test_created(self) -> None:
        """Topics appear with partitions, configs, the default replicas and a record; records follow."""
        self.source.configs["t"] = {
            "retention.ms": "5",
            "min.insync.replicas": "9",
            "compression.type": "odd",
        }
        self.log().add(b"a", b"b")
        self.link()
        topic = self.topic()
        self.assertEqual([len(one.replicas) for one in topic.partitions], [3, 3])
        self.assertEqual(self.record().source_id, self.source.topics["t"].topic_id)
        self.assertNotEqual(topic.topic_id, self.source.topics["t"].topic_id)
        self.assertEqual(set(topic.configs), {"retention.ms", "kafkatx.mirror"})
        self.assertEqual(self.values("t", 0), [b"a", b"b"])

    def test_only_chosen(self) -> None:
        """Other topics and internal ones are not created."""
        for name in ("other", "__consumer_offsets", "x.internal"):
            self.source.add_topic(name)
        self.link("t|.*internal|__.*")
        self.assertEqual(set(self.brokers[1].metadata.state.topics) - {"__consumer_offsets"}, {"t"})
        self.assertIsNone(self.topic("t").configs.get("segment.bytes"))

    def test_one_controller(self) -> None:
        """Only one broker asks the source about topics; another one does when it is the controller."""
        self.link()
        first = self.controller
        self.kill(first)
        self.advance(20)
        self.start(first)
        self.source.add_topic("u")
        self.advance(2)
        self.assertNotEqual(self.controller, first)
        self.assertIn("u", self.brokers[self.controller].metadata.state.topics)

    def test_followed(self) -> None:
        """Growth and changed configs are followed."""
        self.link()
        self.source.topics["t"].logs.append(attrs.evolve(self.log()))
        self.source.configs["t"] = {"segment.ms": "6"}
        self.advance(2)
        self.assertEqual(len(self.topic().partitions), 3)
        self.assertEqual(self.topic().configs["segment.ms"], "6")
        del self.source.configs["t"]["segment.ms"]
        self.advance(2)
        self.assertNotIn("segment.ms", self.topic().configs)

    def test_others(self) -> None:
        """A topic of that name that others own is left alone, and the status says so."""
        self.create("t", 1)
        self.link()
        self.assertEqual(len(self.topic().partitions), 1)
        self.assertNotIn("kafkatx.mirror", self.topic().configs)
        (status,) = self.brokers[self.controller].broker.mirrors.links()
        self.assertIn("topics that are not mirrored: t: a topic of that name is here already", status.error)

    def test_made_anew(self) -> None:
        """A topic that was made anew at the source fails, keeps its records, and can be mirrored again."""
        self.log().add(b"a")
        self.link()
        self.source.add_topic("t", 2, uuid.UUID(int=99))
        self.log().add(b"b")
        self.advance(2)
        self.assertIs(self.state(), MirrorState.FAILED)
        self.assertIn("made anew: delete it here", self.record().reason)
        self.assertEqual(self.values("t", 0), [b"a"])
        self.run_to_end(self.brokers[1].metadata.delete_topic("t"))
        self.advance(3)
        self.assertIs(self.state(), MirrorState.MIRRORING)
        self.assertEqual(self.values("t", 0), [b"b"])

    def test_deleted(self) -> None:
        """A topic that the source has no more fails and stays; if it is back, it goes on."""
        self.link()
        gone = self.source.topics.pop("t")
        self.advance(2)
        self.assertIs(self.state(), MirrorState.FAILED)
        self.source.topics["t"] = gone
        self.advance(2)
        self.assertIs(self.state(), MirrorState.MIRRORING)

    def test_source_away(self) -> None:
        """While the source is away the status says why; then all goes on."""
        for node_id in self.source.node_ids:
            self.network.cut |= {(broker_id, 100 + node_id) for broker_id in self.brokers}
        self.link()
        (status,) = self.brokers[self.controller].broker.mirrors.links()
        self.assertIn("no broker", status.error)
        self.network.cut.clear()
        self.advance(10)
        self.assertIn("t", self.brokers[1].metadata.state.topics)
        (status,) = self.brokers[self.controller].broker.mirrors.links()
        self.assertEqual(status.error, "")

    def test_settings(self) -> None:
        """Pauses and other patterns work at once; a removed link leaves its topics."""
        self.link("x", refresh_interval_ms="86400000")
        self.assertNotIn("t", self.brokers[1].metadata.state.topics)
        self.alter(topics=".*")
        self.advance(1)
        self.alter(paused="t")
        self.advance(1)
        self.assertIs(self.state(), MirrorState.PAUSED)
        self.alter(paused="")
        self.advance(1)
        self.assertIs(self.state(), MirrorState.MIRRORING)
        self.run_to_end(self.brokers[1].metadata.alter_broker_configs("", lambda old: {}))
        self.advance(1)
        self.assertIs(self.state(), MirrorState.MIRRORING)
        self.assertEqual(self.brokers[self.controller].broker.mirrors.links(), [])


class GroupsTests(ControlCase):
    def setUp(self) -> None:
        """Give the source a group."""
        super().setUp()
        self.log().add(b"a", b"b", b"c")
        self.source.groups["g"] = {
            T0: OffsetAndMetadata(2, "", 0),
            TopicPartition("x", 0): OffsetAndMetadata(1),
        }

    def moved(self, offset: int) -> None:
        """Commit for the group at the source, and wait for the copy."""
        self.source.groups["g"] = {T0: OffsetAndMetadata(offset, "", 0)}
        self.advance(3)

    def status(self) -> Any:
        """Return the status of the link."""
        (found,) = self.brokers[self.controller].broker.mirrors.links()
        return found

    def test_copied(self) -> None:
        """Offsets of mirrored topics are copied with their epochs, and again when they change."""
        self.link()
        self.advance(4)
        self.assertEqual(self.offsets("g"), {0: OffsetAndMetadata(2, mark_of("dc1"), 0)})
        self.assertEqual(self.offsets("g", "x"), {})
        self.moved(1)
        self.assertEqual(self.offsets("g")[0].offset, 1)
        self.assertEqual((self.status().groups, self.status().skipped_groups), (1, 0))
        self.assertGreaterEqual(self.status().groups_age_ms, 0)
        self.assertEqual(self.status().groups_error, "")

    def test_metadata(self) -> None:
        """Metadata of the source are copied; such a group is followed by the next controller, too."""
        self.source.groups["g"] = {T0: OffsetAndMetadata(1, "mine", 0)}
        self.link()
        self.advance(4)
        self.assertEqual(self.offsets("g"), {0: OffsetAndMetadata(1, "mine", 0)})
        self.kill(self.controller)
        self.advance(20)
        self.source.groups["g"] = {T0: OffsetAndMetadata(3, "mine", 0)}
        self.advance(4)
        self.assertEqual(self.offsets("g")[0].offset, 3)

    def test_used(self) -> None:
        """A group that another client has used here is never overwritten, nor by the next controller."""
        self.link()
        self.advance(4)
        self.assertEqual(self.commit("g", "t", {0: 0}), 0)
        self.moved(3)
        self.assertEqual(self.offsets("g")[0].offset, 0)
        self.assertEqual((self.status().groups, self.status().skipped_groups), (0, 1))
        self.kill(self.controller)
        self.advance(20)
        self.moved(1)
        self.assertEqual(self.offsets("g")[0].offset, 0)

    def test_next_controller(self) -> None:
        """The next controller knows the copies of the last one as such."""
        self.link()
        self.advance(4)
        self.kill(self.controller)
        self.advance(20)
        self.moved(3)
        self.assertEqual(self.offsets("g")[0].offset, 3)

    def test_pattern(self) -> None:
        """Groups that the pattern does not choose, and brokers' own, are not copied."""
        self.source.groups["kafkatx-audit"] = self.source.groups["other"] = dict(self.source.groups["g"])
        self.link(groups="g|kafkatx-audit")
        self.advance(4)
        self.assertEqual((self.offsets("other"), self.offsets("kafkatx-audit")), ({}, {}))
        self.assertEqual(self.status().groups, 1)

    def test_paused(self) -> None:
        """Offsets of a topic that is not mirrored now stay as they are."""
        self.link()
        self.advance(4)
        self.alter(paused="t")
        self.advance(1)
        self.moved(3)
        self.assertEqual(self.offsets("g")[0].offset, 2)

    def test_errors(self) -> None:
        """A group whose offsets the source does not tell leaves the round incomplete, others are copied."""
        self.source.groups["bad"] = dict(self.source.groups["g"])
        self.source.group_errors["bad"] = 16
        self.link()
        self.advance(4)
        self.assertEqual(self.offsets("g")[0].offset, 2)
        self.assertIn("'bad'", self.status().groups_error)
        self.assertGreater(self.status().groups_age_ms, 3000)
        self.source.group_errors.clear()
        self.advance(2)
        self.assertEqual(self.status().groups_error, "")


class PromotionTests(ControlCase):
    def setUp(self) -> None:
        """Make a link whose topic has records of a producer, and a group that is beyond them."""
        super().setUp()
        self.log().add(b"a", b"b", b"c")
        self.log(1).add(b"d")
        self.source.groups["g"] = {T0: OffsetAndMetadata(9), T1: OffsetAndMetadata(1)}
        self.link()
        self.advance(4)

    def check_promoted(self) -> None:
        """Check that the topic is promoted as it should be."""
        record = self.record()
        self.assertIs(record.state, MirrorState.PROMOTED, record)
        self.assertEqual(record.ends, (3, 1))
        self.assertEqual({number: one.offset for number, one in self.offsets("g").items()}, {0: 3, 1: 1})
        self.assertEqual(self.produce("t", 0, b"new", 10.0), 0)
        self.log().add(b"late")
        self.advance(3)
        self.assertEqual(self.values("t", 0), [b"a", b"b", b"c", b"new"])

    def test_promoted(self) -> None:
        """Producers write after the end, groups are at the end at most, the link adds nothing any more."""
        self.assertEqual(self.offsets("g")[0].offset, 9)
        self.assertNotEqual(self.produce("t", 0, b"early"), 0)
        self.alter(promoted="t")
        self.advance(4)
        self.check_promoted()
        self.alter(promoted="")
        self.advance(2)
        self.assertIs(self.state(), MirrorState.PROMOTED)

    def test_retried_batch(self) -> None:
        """A producer of the source that retries its batch here gets the offset that it has, and goes on."""
        batch = build_values(
            [b"x", b"y"], self.stores.now_ms(), producer_id=9, producer_epoch=0, base_sequence=0
        )
        self.log().add_batch(batch)
        self.advance(2)
        self.alter(promoted="t")
        self.advance(4)
        self.assertEqual(self.record().ends, (5, 1))
        leader = self.leaders("t")[0]
        response = self.ask(leader, 0, 9, produce_request(batch))
        (told,) = response.responses[0].partition_responses
        self.assertEqual((told.error_code, told.base_offset), (0, 3))
        following = build_values(
            [b"z"], self.stores.now_ms(), producer_id=9, producer_epoch=0, base_sequence=2
        )
        response = self.ask(leader, 0, 9, produce_request(following))
        (told,) = response.responses[0].partition_responses
        self.assertEqual((told.error_code, told.base_offset), (0, 5))
        self.assertEqual(self.values("t", 0)[3:], [b"x", b"y", b"z"])

    def test_last_copy(self) -> None:
        """Groups go on at the offsets that they have at the source when the topic is promoted."""
        patch = self.patch(OwnBrokers, "groups", _lose)
        self.alter(promoted="t")
        self.advance(4)
        self.source.groups["g"] = {T0: OffsetAndMetadata(2), T1: OffsetAndMetadata(0)}
        self.source.groups["new"] = {T0: OffsetAndMetadata(3)}
        self.assertEqual(self.record().ends, (3, 1))
        self.assertEqual(self.offsets("g")[0].offset, 9)
        patch.restore()
        self.advance(4)
        self.assertIs(self.state(), MirrorState.PROMOTED)
        self.assertEqual({number: one.offset for number, one in self.offsets("g").items()}, {0: 2, 1: 0})
        self.assertEqual(self.offsets("new")[0].offset, 3)

    def test_silent_source(self) -> None:
        """A source that accepts connections and says nothing does not hold up a promotion for long."""
        for node_id in self.source.node_ids:
            self.network.cut |= {(100 + node_id, broker_id) for broker_id in self.brokers}
        self.alter(promoted="t")
        self.advance(25)
        self.assertIs(self.state(), MirrorState.PROMOTED)

    def test_without_link(self) -> None:
        """A mirror whose link and source are gone can be promoted."""
        self.run_to_end(self.brokers[1].metadata.alter_broker_configs("", lambda old: {}))
        for node_id in self.source.node_ids:
            self.network.close(100 + node_id)
        self.advance(1)
        self.run_to_end(
            self.brokers[1].metadata.alter_broker_configs("", lambda old: {"mirror.dc1.promoted": ".*"})
        )
        self.advance(4)
        self.check_promoted()

    def test_controller_dies(self) -> None:
        """Whenever the controller dies, the next one completes the promotion."""
        whole = StatesRound._perform
        for number in range(1, 5):
            if number > 1:
                self.tearDownAndAgain()
            left = [number]

            async def perform(states: StatesRound, steps: Any, records: Any, left: list[int] = left) -> None:
                await whole(states, steps, records)
                left[0] -= 1
                if not left[0]:
                    self.stores.clock.callLater(0, self.kill, states._broker_id)

            patch = self.patch(StatesRound, "_perform", perform)
            self.alter(promoted=".*")
            self.advance(25)
            patch.restore()
            self.assertEqual(len(self.brokers), 2, number)
            self.check_promoted()

    def tearDownAndAgain(self) -> None:
        """Begin again with other brokers."""
        self.kill_all()
        self.setUp()

    def test_leader_dies(self) -> None:
        """A leader that dies in the middle holds it up only until there is another."""
        follower = next(one for one in self.leaders("t") if one != self.controller)
        self.alter(promoted="t")
        self.kill(follower)
        self.advance(25)
        self.check_promoted()

    def test_producer_ids(self) -> None:
        """No producer gets an id that records of the topic have, also not from a block from before."""
        used = max(map(self.producer_id, self.brokers)) + 10**9
        whole = MirroredPartition.status

        def status(one: MirroredPartition) -> MirrorStatus:
            found = whole(one)
            return attrs.evolve(found, max_producer_id=used if found.partition else 2**62)

        self.patch(MirroredPartition, "status", status)
        self.alter(promoted="t")
        self.advance(6)
        self.check_promoted()
        for broker_id in self.brokers:
            self.assertGreater(self.producer_id(broker_id), used)
            self.assertLess(self.producer_id(broker_id), used + 20_000)

    def producer_id(self, broker_id: int) -> int:
        """Return a new producer id of a broker."""
        response = self.ask(broker_id, 22, 4, InitProducerIdRequest(None, 60_000))
        found: int = response.producer_id
        return found
