"""Tests of kafkatx.cli.cluster.topic_rows."""

from __future__ import annotations

import json
import uuid

from kafkatx.cli.cluster.topic_rows import print_descriptions, print_topics
from kafkatx.clientcore.admin.configs import ConfigEntry, Source
from kafkatx.clientcore.admin.topics import PartitionDescription, TopicDescription
from kafkatx.clientcore.metadata import PartitionMetadata, TopicMetadata
from tests.cli.output.test_terminal import TerminalCase

PARTITION = PartitionMetadata(0, 1, 4, (1, 2, 3), (1, 2))
TOPIC = TopicMetadata("t", {0: PARTITION}, uuid.UUID(int=7))
DESCRIPTION = TopicDescription(
    "t",
    uuid.UUID(int=7),
    False,
    (PartitionDescription(PARTITION, 3, 9),),
    {
        "retention.ms": ConfigEntry("retention.ms", "5", Source.TOPIC),
        "cleanup.policy": ConfigEntry("cleanup.policy", "delete", Source.DEFAULT),
    },
)


class TopicRowsTests(TerminalCase):
    def test_json(self) -> None:
        """A listed topic has its id, and the numbers of partitions and replicas."""
        print_topics([TOPIC], as_json=True, header=False)
        self.assertEqual(
            json.loads(self.out.text()),
            {
                "topic": "t",
                "topic_id": str(uuid.UUID(int=7)),
                "partitions": 1,
                "replicas": 3,
                "internal": False,
            },
        )

    def test_description(self) -> None:
        """A line for the partition, and one for the setting that was made, not for the default."""
        print_descriptions([DESCRIPTION], as_json=False, header=False, named=False)
        self.assertEqual(self.out.text(), "0\t1\t4\t1,2,3\t1,2\t3\t9\nretention.ms=5\n")

    def test_named(self) -> None:
        """With several topics each line begins with the name."""
        print_descriptions([DESCRIPTION], as_json=False, header=True, named=True)
        self.assertEqual([line.split("\t")[0] for line in self.out.text().splitlines()], ["topic", "t", "t"])

    def test_nobody_in_sync(self) -> None:
        """A partition without in-sync replicas shows a dash."""
        alone = PartitionDescription(PartitionMetadata(0, -1, 4, (1,), ()), -1, -1)
        print_descriptions([TopicDescription("t", uuid.UUID(int=7), False, (alone,))], False, False, False)
        self.assertEqual(self.out.text(), "0\t-1\t4\t1\t-\t-1\t-1\n")

    def test_tables(self) -> None:
        """At a terminal: a title, the partitions, the settings; ids are told apart by commas and spaces."""
        self.use_streams(tty=True)
        print_descriptions([DESCRIPTION], as_json=False, header=False, named=False)
        for text in ("topic t, id", "1, 2, 3", "retention.ms"):
            self.assertIn(text, self.out.text())
