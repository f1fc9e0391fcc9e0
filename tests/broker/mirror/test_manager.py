"""The mirror manager: records of topics, settings of links, and the epochs of a promotion."""

from __future__ import annotations

from kafkatx.config.mirror_record import MirrorState
from kafkatx.errors import ErrorCode
from kafkatx.records.builder import build_values
from tests.broker.mirror.case import MirrorCase


class MirrorManagerTests(MirrorCase):
    def test_states(self) -> None:
        """Records come in the state mirroring alone, whatever the link's settings say."""
        self.link()
        self.make_mirror()
        self.pump()
        for state in (MirrorState.PAUSED, MirrorState.FAILED, MirrorState.PROMOTING, MirrorState.PAUSED):
            self.change_record(state=state)
            self.log.add(b"a")
            self.source.wake()
            end = self.partition.log.log_end_offset
            self.pump()
            self.assertEqual(self.partition.log.log_end_offset, end, state)
            self.assertTrue(self.status().stopped)
            self.change_record(state=MirrorState.MIRRORING)
            self.pump()
            self.check_equal()

    def test_promotion(self) -> None:
        """While a topic is promoted, its leader raises its epoch above all that came; then it is writable."""
        self.link()
        self.make_mirror()
        self.log.elect()
        self.log.add(b"a")
        self.pump()
        self.assertEqual(self.produce(build_values([b"x"], 1)).error_code, ErrorCode.POLICY_VIOLATION)
        self.change_record(state=MirrorState.PROMOTING, attempt=3)
        self.pump(0.1)
        found = self.status()
        self.assertEqual((found.stopped, found.attempt, found.leader_epoch), (True, 3, 2))
        self.assertEqual(self.produce(build_values([b"x"], 1)).error_code, ErrorCode.POLICY_VIOLATION)
        self.change_record(state=MirrorState.PROMOTED, ends=(1,))
        self.assertEqual(self.produce(build_values([b"x"], 1)).base_offset, 1)
        self.assertEqual([self.partition.log.epoch_at(offset) for offset in (0, 1)], [1, 2])
        self.log.add(b"b")
        self.pump()
        self.assertEqual(self.partition.log.log_end_offset, 2)

    def test_link_goes(self) -> None:
        """A link that is taken out of the settings copies no more, and the topic says why."""
        self.link()
        self.make_mirror()
        self.pump()
        self.successResultOf(self.broker.metadata.alter_broker_configs("", lambda old: {}))
        self.log.add(b"a")
        self.pump()
        self.assertEqual(self.partition.log.log_end_offset, 0)
        self.assertIn("no link dc1", self.status().reason)
        self.assertEqual(self.broker.mirrors.links(), [])
        self.link()
        self.pump()
        self.check_equal()

    def test_another_source(self) -> None:
        """With other bootstrap servers a link goes to these."""
        self.log.add(b"a")
        self.alter(bootstrap_servers="nowhere:9092")
        self.make_mirror()
        self.pump()
        self.assertEqual(self.partition.log.log_end_offset, 0)
        self.link()
        self.pump()
        self.check_equal()
