"""Targets of resets."""

from __future__ import annotations

import attrs

from kafkatx.broker.console.api.groups.targets import Target, Targets, read_target
from kafkatx.broker.console.errors import ConsoleError
from kafkatx.types import NO_LEADER, TopicPartition
from kafkatx.web.calls import Call
from tests.broker.console.case import ConsoleCase


class TargetTests(ConsoleCase):
    def test_texts(self) -> None:
        """A target is told in the audit as it was given."""
        for value, text in (("latest", "latest"), ({"offset": "7"}, "offset 7"), ({"shift": -7}, "shift -7")):
            self.assertEqual(str(read_target(value)), text)

    def test_without_leader(self) -> None:
        """A partition without a leader, or of a topic that has gone, has no target."""
        self.make_topic("t", 2)
        state = self.broker.metadata.state
        topic = state.topics["t"]
        partitions = (topic.partitions[0], attrs.evolve(topic.partitions[1], leader=NO_LEADER))
        changed = attrs.evolve(state, topics={"t": attrs.evolve(topic, partitions=partitions)})
        self.patch(self.broker.metadata, "state", changed)
        targets = Targets(self.console.parts, Call("GET", "/", (), {}))
        for name, code in (("t", "LEADER_NOT_AVAILABLE"), ("u", "UNKNOWN_TOPIC_OR_PARTITION")):
            finding = targets.find([TopicPartition("t", 0), TopicPartition(name, 1)], Target("latest"), {})
            self.assertEqual(self.failureResultOf(finding, ConsoleError).value.code, code)
