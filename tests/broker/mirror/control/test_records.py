"""Writes of records: each only if the record that it replaces is there."""

from __future__ import annotations

import uuid

import attrs
from twisted.internet.defer import Deferred

from kafkatx.broker.mirror.control.records import RecordChanged, follow_configs, replace_record
from kafkatx.config.mirror_record import KAFKATX_MIRROR, MirrorRecord, MirrorState, record_of
from tests.broker.running import BrokerTestCase

RECORD = MirrorRecord("dc1", uuid.UUID(int=1))
PAUSED = attrs.evolve(RECORD, state=MirrorState.PAUSED)


class RecordsTests(BrokerTestCase):
    def setUp(self) -> None:
        """Make a mirror."""
        super().setUp()
        configs = {KAFKATX_MIRROR: RECORD.text(), "retention.ms": "5", "min.insync.replicas": "1"}
        commands = self.broker.topic_commands
        plan = [(self.broker.node_id,)]
        self.successResultOf(Deferred.fromCoroutine(commands.create("t", plan, configs)))

    @property
    def configs(self) -> dict[str, str]:
        """The configs of the topic."""
        return dict(self.broker.metadata.state.topics["t"].configs)

    def replace(self, before: MirrorRecord, after: MirrorRecord) -> Deferred[None]:
        """Replace the record."""
        return Deferred.fromCoroutine(replace_record(self.broker.topic_commands, "t", before, after))

    def follow(self, link: str, configs: dict[str, str]) -> Deferred[None]:
        """Follow configs."""
        return Deferred.fromCoroutine(follow_configs(self.broker.topic_commands, "t", link, configs))

    def test_replaced(self) -> None:
        """The record is replaced, and no other config."""
        before = self.configs
        self.successResultOf(self.replace(RECORD, PAUSED))
        self.assertEqual(record_of(self.configs), PAUSED)
        self.assertEqual({**self.configs, KAFKATX_MIRROR: ""}, {**before, KAFKATX_MIRROR: ""})

    def test_changed(self) -> None:
        """Nothing is written if another record is there."""
        self.successResultOf(self.replace(RECORD, PAUSED))
        self.failureResultOf(self.replace(RECORD, attrs.evolve(RECORD, attempt=1)), RecordChanged)
        self.assertEqual(record_of(self.configs), PAUSED)

    def test_followed(self) -> None:
        """The followed configs are replaced as a whole, the others stay."""
        self.successResultOf(self.follow("dc1", {"segment.ms": "7"}))
        expected = {KAFKATX_MIRROR: RECORD.text(), "segment.ms": "7", "min.insync.replicas": "1"}
        self.assertEqual(self.configs, expected)

    def test_not_followed(self) -> None:
        """Configs of another link's topic, or of a promoted one, stay."""
        self.failureResultOf(self.follow("dc2", {}), RecordChanged)
        self.successResultOf(self.replace(RECORD, attrs.evolve(RECORD, state=MirrorState.PROMOTED)))
        self.failureResultOf(self.follow("dc1", {}), RecordChanged)
        self.assertEqual(self.configs["retention.ms"], "5")
