"""Tests of kafkatx.mirror.core.provenance."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.mirror.core.provenance import (
    HEADER,
    HeaderStamp,
    Provenance,
    chain,
    parse,
    passed_through,
    producer_id,
)
from kafkatx.records.batch import decode_headers
from kafkatx.records.builder import encode_headers


class ProvenanceTests(SynchronousTestCase):
    def test_text(self) -> None:
        """A header's value is read as it is written."""
        place = Provenance("Xy-9_", "a.b", 3, 17)
        self.assertEqual(place.encode(), b"Xy-9_:a.b:3:17")
        self.assertEqual(parse(place.encode()), place)

    def test_no_provenance(self) -> None:
        """Values of another form are none."""
        for value in (None, b"", b"a:b:c", b"a:b:1:x", b"a:b:-1:2", b"a:b:1:2:3", b"\xff:b:1"):
            self.assertIsNone(parse(value), value)

    def test_stamp(self) -> None:
        """The stamp follows the headers that are there, whatever the number of digits."""
        stamp = HeaderStamp("C", "t", 0)
        for offset in (0, 9, 10, 12345, 1 << 62):
            for before in ([], [("h", b"v")], [("n", None), (HEADER, b"A:t:0:5")], [("x", b"")] * 70):
                encoded = stamp.add(encode_headers(before) if before else b"", offset)
                self.assertEqual(decode_headers(encoded), [*before, (HEADER, b"C:t:0:%d" % offset)])

    def test_chain(self) -> None:
        """The places that a record has passed are told, the oldest first; other headers are not looked at."""
        encoded = encode_headers([(HEADER, b"A:t:0:5"), ("x", b"B:t:0:5"), (HEADER, b"C:u:0:6")])
        self.assertEqual([place.cluster_id for place in chain(encoded)], ["A", "C"])
        self.assertEqual(chain(b""), [])
        self.assertEqual(chain(encode_headers([("x", HEADER.encode())])), [])

    def test_cycle(self) -> None:
        """A record has passed the clusters of its whole chain."""
        encoded = encode_headers([(HEADER, b"A:t:0:5"), (HEADER, b"C:u:0:6")])
        self.assertEqual([passed_through(encoded, name) for name in "ABC"], [True, False, True])
        self.assertFalse(passed_through(b"", "A"))

    def test_producer_id(self) -> None:
        """Each topic of each cluster has an id of its own, always the same, above those that brokers give."""
        ids = {producer_id(cluster, topic) for cluster in ("A", "B") for topic in ("t", "u", "")}
        self.assertEqual(len(ids), 6)
        self.assertTrue(all(1 << 61 <= one < 1 << 62 for one in ids))
        self.assertEqual(producer_id("A", "t"), 3304829988305862820)
