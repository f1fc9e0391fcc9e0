"""Tests of the node of producer ids."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.layout.fields import UnreadableNode
from kafkatx.metadata.layout.producer_ids import ProducerIdBlock, decode, first_producer_id, following

KAFKA_3_9 = b'{"version":1,"broker":1,"block_start":"1000","block_end":"1999"}'


class ProducerIdTests(SynchronousTestCase):
    def test_kafka(self) -> None:
        """A block of Apache Kafka 3.9 is read, and written again byte for byte."""
        block = decode(KAFKA_3_9)
        self.assertEqual(block, ProducerIdBlock(1, range(1000, 2000)))
        assert block is not None
        self.assertEqual(block.encode(), KAFKA_3_9)

    def test_following(self) -> None:
        """Blocks follow each other without a gap; the node that Kafka makes at first has none."""
        self.assertIsNone(decode(b""))
        self.assertEqual(following(None, 1), ProducerIdBlock(1, range(1000)))
        self.assertEqual(following(decode(KAFKA_3_9), 2, 5), ProducerIdBlock(2, range(2000, 2005)))

    def test_lowest(self) -> None:
        """A block begins above all ids of before this time, but never within an earlier block."""
        first = first_producer_id(1_700_000_000.9)
        self.assertEqual(following(decode(KAFKA_3_9), 1, 5, first).ids, range(first, first + 5))
        later = ProducerIdBlock(1, range(first, first + 5))
        self.assertEqual(following(later, 1, 5, first).ids.start, first + 5)
        self.assertGreater(first_producer_id(1_700_000_001.0), first + 10**6)

    def test_last(self) -> None:
        """There is an error when the ids of 63 bits are used up, and not before."""
        last = following(ProducerIdBlock(1, range(2**63 - 5)), 1, 5)
        self.assertEqual(decode(last.encode()), last)
        self.assertRaises(OverflowError, following, last, 1, 1)

    def test_wrong(self) -> None:
        """Numbers that are not text, an end before the start, and a newer version are errors."""
        for old, new in (
            (b'"1000"', b"1000"),
            (b'"1999"', b'"998"'),
            (b'n":1', b'n":2'),
            (b'"1999"', b'"99999999999999999999"'),
        ):
            self.assertRaises(UnreadableNode, decode, KAFKA_3_9.replace(old, new))
