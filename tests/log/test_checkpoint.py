"""The text files beside the segments."""

from __future__ import annotations

import uuid

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.log.checkpoint import (
    CheckpointDamaged,
    decode_epochs,
    decode_meta_properties,
    decode_offsets,
    decode_partition_metadata,
    encode_epochs,
    encode_meta_properties,
    encode_offsets,
    encode_partition_metadata,
)
from kafkatx.types import TopicPartition

A, B = TopicPartition("a.b_c", 0), TopicPartition("x-y", 12)


class CheckpointTests(SynchronousTestCase):
    """Formats, and malformed files."""

    def test_offsets(self) -> None:
        """An offset checkpoint has version, count, and a line per partition."""
        data = encode_offsets({B: 5, A: 2**62})
        self.assertEqual(data, b"0\n2\na.b_c 0 4611686018427387904\nx-y 12 5\n")
        self.assertEqual(decode_offsets(data), {A: 2**62, B: 5})
        self.assertEqual(decode_offsets(encode_offsets({})), {})

    def test_epochs(self) -> None:
        """The epoch checkpoint has a line per epoch."""
        data = encode_epochs([(0, 0), (3, 17)])
        self.assertEqual(data, b"0\n2\n0 0\n3 17\n")
        self.assertEqual(decode_epochs(data), [(0, 0), (3, 17)])

    def test_partition_metadata(self) -> None:
        """The topic id is in url-safe base64 without padding, with Apache Kafka's line ends or others."""
        topic_id = uuid.UUID("fb0e5b36-9a0c-4c3e-bb1f-ffeeddccbbaa")
        data = encode_partition_metadata(topic_id)
        self.assertEqual(data, b"version: 0\ntopic_id: -w5bNpoMTD67H__u3cy7qg")
        self.assertEqual(decode_partition_metadata(data), topic_id)
        self.assertEqual(decode_partition_metadata(data.replace(b"\n", b"\r\n") + b"\n"), topic_id)

    def test_meta_properties(self) -> None:
        """Apache Kafka's meta.properties, dated and commented, is read; ours names the cluster if known."""
        kafkas = b"#\n#Sat Nov 21 09:00:00 UTC 2026\ncluster.id=abc\nversion=0\nbroker.id=7\n"
        self.assertEqual(
            decode_meta_properties(kafkas), {"cluster.id": "abc", "version": "0", "broker.id": "7"}
        )
        pairs = {"version": "0", "broker.id": "7"}
        self.assertEqual(encode_meta_properties(pairs), b"version=0\nbroker.id=7\n")
        self.assertEqual(decode_meta_properties(encode_meta_properties(pairs)), pairs)

    def test_damaged(self) -> None:
        """Other versions, wrong counts, missing fields and garbage are no checkpoint."""
        for data in (b"", b"0", b"1\n0\n", b"0\n2\na 0 1\n", b"0\n1\na 0\n", b"0\n1\na b 1\n", b"\xff\n0\n"):
            self.assertRaises(CheckpointDamaged, decode_offsets, data)
            self.assertRaises(CheckpointDamaged, decode_epochs, data)
        for data in (b"", b"version: 0\n", b"topic_id: ???", b"topic_id: AAAA", b"\xff\xfe", b"nonsense"):
            self.assertRaises(CheckpointDamaged, decode_partition_metadata, data)

    def test_cut_short(self) -> None:
        """No part of a checkpoint is one, not even where only the last digits are missing: 1 is not 17."""
        epochs, offsets = encode_epochs([(0, 0), (3, 17)]), encode_offsets({A: 17})
        for end in range(len(epochs)):
            self.assertRaises(CheckpointDamaged, decode_epochs, epochs[:end])
        for end in range(len(offsets)):
            self.assertRaises(CheckpointDamaged, decode_offsets, offsets[:end])

    def test_epochs_rise(self) -> None:
        """A checkpoint whose epochs or starts do not rise is malformed."""
        for entries in ([(1, 0), (1, 5)], [(2, 0), (1, 5)], [(1, 5), (2, 5)], [(1, 5), (2, 4)]):
            self.assertRaises(CheckpointDamaged, decode_epochs, encode_epochs(entries))

    @settings(deadline=None, max_examples=50)
    @given(
        st.dictionaries(
            st.tuples(st.from_regex(r"[a-zA-Z0-9._-]{1,20}", fullmatch=True), st.integers(0, 10**6)),
            st.integers(0, 2**63 - 1),
        )
    )
    def test_round_trip(self, offsets: dict[tuple[str, int], int]) -> None:
        """Offsets of any partitions are read back as written."""
        named = {TopicPartition(*key): offset for key, offset in offsets.items()}
        self.assertEqual(decode_offsets(encode_offsets(named)), named)
