"""The nodes by which an older copy of the tree is noticed."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.layout.fields import UnreadableNode
from kafkatx.metadata.layout.restorations import (
    decode_log_ends,
    decode_restorations,
    described,
    encode_log_ends,
    encode_restorations,
    encode_restoring,
    generation,
    restorations_of,
)
from kafkatx.types import LogEnd, TopicPartition

ENDS = {TopicPartition("t", 1): LogEnd(3, 5, 4, 120), TopicPartition("u", 0): LogEnd(0, -1, -1, 0)}


class RestorationTests(SynchronousTestCase):
    def test_generation(self) -> None:
        """A generation rises with each change, and with a restoration; each is above an embedded state's."""
        found = [generation(1, -1), generation(1, 7), generation(1, 2**31), generation(2, 0)]
        self.assertEqual(found, sorted(found))
        self.assertGreater(found[0], 2**32 - 1)
        self.assertEqual([restorations_of(one) for one in found], [1, 1, 1, 2])
        self.assertEqual([described(found[1]), described(generation(3, 9))], ["7", "3-9"])

    def test_number(self) -> None:
        """The number of restorations is read as it was written; a new cluster has an empty node."""
        self.assertEqual(decode_restorations(encode_restorations(4)), 4)
        self.assertEqual(decode_restorations(b""), 1)
        self.assertEqual(encode_restoring(), b'{"version":1}')
        for wrong in (b'{"version":1,"number":0}', b'{"version":2,"number":3}', b"x"):
            self.assertRaises(UnreadableNode, decode_restorations, wrong)

    def test_log_ends(self) -> None:
        """The ends of logs are read as they were written."""
        data = encode_log_ends(ENDS)
        self.assertEqual(data, b'{"version":1,"partitions":{"t":[[1,3,5,4,120]],"u":[[0,0,-1,-1,0]]}}')
        self.assertEqual(decode_log_ends("/p", data), ENDS)

    def test_wrong_log_ends(self) -> None:
        """Entries of another form are errors."""
        for wrong in (b"[[1,3,5,4]]", b"[7]", b'[[1,3,5,4,"9"]]', b"[[true,3,5,4,9]]", b"{}"):
            data = b'{"version":1,"partitions":{"t":%s}}' % wrong
            self.assertRaises(UnreadableNode, decode_log_ends, "/p", data)
