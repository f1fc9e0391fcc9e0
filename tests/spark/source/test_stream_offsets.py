"""Offsets as Spark keeps them."""

from __future__ import annotations

import json

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.spark.source.stream_offsets import (
    StrangeOffsets,
    carried_start,
    first_end,
    initial,
    is_initial,
    losses,
    positions,
    to_json,
)
from kafkatx.types import TopicPartition

A0, A1, A10, B0 = (TopicPartition(*item) for item in (("a", 0), ("a", 1), ("a", 10), ("b", 0)))


class FormTests(SynchronousTestCase):
    def test_as_sparks_own(self) -> None:
        """The form is Spark's; equal positions are equal texts, in whatever order they come."""
        text = '{"a": {"0": 5, "1": 3, "10": 4}, "b": {"0": 7}}'
        self.assertEqual(json.dumps(to_json({B0: 7, A10: 4, A1: 3, A0: 5})), text)
        self.assertEqual(json.dumps(json.loads(text)), text)

    def test_back(self) -> None:
        """Offsets are read as they were written, with a start and without."""
        here, before = {A0: 5, B0: 7}, {A0: 2}
        for offset in (to_json(here), initial(here), first_end(here, before)):
            self.assertEqual(positions(json.loads(json.dumps(offset))), here)

    def test_start(self) -> None:
        """Only the end of the first batch carries a start; only the initial offset is one."""
        here, before = {A0: 5}, {A0: 2}
        self.assertEqual(carried_start(first_end(here, before)), before)
        self.assertEqual(carried_start(first_end({}, {})), {})
        for offset in (to_json(here), initial(here)):
            self.assertIsNone(carried_start(offset))
        found = [is_initial(offset) for offset in (initial({}), first_end({}, {}), to_json(here))]
        self.assertEqual(found, [True, False, False])

    def test_no_topic_is_called_so(self) -> None:
        """The name beside the topics is none that a topic may have."""
        self.assertNotRegex(next(iter(initial({}))), "^[a-zA-Z0-9._-]+$")

    def test_strange(self) -> None:
        """Offsets of another source are refused, with what to do."""
        for offset in ({"a": 5}, {"a": {"x": 5}}, {"a": {"0": None}}, {"a": [1]}):
            error = self.assertRaises(StrangeOffsets, positions, offset)
            self.assertIn("checkpointLocation of its own", str(error))
        self.assertRaises(StrangeOffsets, carried_start, {"<start>": 5})


class LossesTests(SynchronousTestCase):
    def test_none(self) -> None:
        """Offsets that grow or stay, and partitions that are added, are no loss."""
        self.assertEqual(list(losses({A0: 5, A1: 3}, {A0: 5, A1: 4, B0: 1})), [])

    def test_losses(self) -> None:
        """Partitions that are gone, and such as end before their start, in the words of Spark's source."""
        self.assertEqual(
            list(losses({A0: 5, A1: 3, B0: 1}, {A0: 4})),
            [
                "a-1, b-0 are gone. Some data may have been missed",
                "Partition a-0's offset was changed from 5 to 4, some data may have been missed",
            ],
        )
