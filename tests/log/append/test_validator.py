"""The fast path and the full validation of an append agree."""

from __future__ import annotations

import struct
from typing import Any

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import BOUNDED, HEADERS, LogConfig
from kafkatx.log.append.appender import Appender
from kafkatx.log.append.result import Appended
from kafkatx.log.append.validator import topic_codec
from kafkatx.log.leader_epochs import LeaderEpochCache
from kafkatx.log.producer_state import ProducerStateManager
from kafkatx.log.transactions.ended import EndedTransactions
from kafkatx.records import batch as v2
from kafkatx.records.checksum import crc32c
from kafkatx.records.compression import Codec
from kafkatx.testing.contracts.partition_log import NOW_MS, TP, batch

FIELDS = {
    "length": (v2.LENGTH_AT, ">i"),
    "magic": (v2.MAGIC_AT, ">b"),
    "attributes": (v2.ATTRIBUTES_AT, ">h"),
    "last_offset_delta": (v2.LAST_OFFSET_DELTA_AT, ">i"),
    "base_timestamp": (v2.BASE_TIMESTAMP_AT, ">q"),
    "max_timestamp": (v2.MAX_TIMESTAMP_AT, ">q"),
    "producer_id": (v2.PRODUCER_ID_AT, ">q"),
    "producer_epoch": (v2.PRODUCER_EPOCH_AT, ">h"),
    "base_sequence": (v2.BASE_SEQUENCE_AT, ">i"),
    "count": (v2.COUNT_AT, ">i"),
}
SMALL = st.one_of(st.integers(-3, 130), st.integers(-(2**31), 2**31 - 1))
VALUES = {
    "length": SMALL,
    "magic": st.integers(-1, 4),
    "attributes": st.integers(0, 255),
    "last_offset_delta": SMALL,
    "base_timestamp": st.one_of(st.integers(-2, 2), st.integers(NOW_MS - 2000, NOW_MS + 2000)),
    "max_timestamp": st.one_of(st.integers(-2, 2), st.integers(NOW_MS - 2000, NOW_MS + 2000)),
    "producer_id": st.integers(-1, 2),
    "producer_epoch": st.integers(-1, 2),
    "base_sequence": st.integers(-1, 5),
    "count": SMALL,
}
CHANGES = st.lists(
    st.sampled_from(sorted(FIELDS)).flatmap(lambda name: st.tuples(st.just(name), VALUES[name])), max_size=3
)


def log(straight: bool, config: LogConfig) -> Appender:
    """Return a log that uses the fast path, or one that never does."""
    made = Appender(TP, config, ProducerStateManager(), EndedTransactions(), LeaderEpochCache(), 0)
    made._plain = made._plain and straight
    return made


class AgreementTests(SynchronousTestCase):
    """Both ways of Appender.append."""

    @settings(deadline=None, max_examples=400)
    @given(
        values=st.lists(st.binary(max_size=10), min_size=1, max_size=4),
        codec=st.sampled_from([Codec.NONE, Codec.GZIP]),
        changes=CHANGES,
        right_crc=st.booleans(),
        cut=st.integers(-3, 3),
        max_message_bytes=st.sampled_from([80, 100, 10**6]),
    )
    def test_agree(
        self,
        values: list[bytes],
        codec: Codec,
        changes: list[tuple[str, Any]],
        right_crc: bool,
        cut: int,
        max_message_bytes: int,
    ) -> None:
        """Both paths give the same answer for any batch, and stage the same bytes."""
        data = bytearray(batch(values, codec=codec, producer=(1, 0, 0)))
        for name, value in changes:
            at, format = FIELDS[name]
            struct.pack_into(format, data, at, value)
        if right_crc:
            struct.pack_into(">I", data, v2.CRC_AT, crc32c(data[v2.ATTRIBUTES_AT :]))
        sent = bytes(data[:cut] if cut < 0 else data + bytes(cut))
        config = LogConfig(
            max_message_bytes=max_message_bytes,
            message_timestamp_before_max_ms=1000,
            message_timestamp_after_max_ms=1000,
        )
        short, careful = log(True, config), log(False, config)
        first, second = (one.append(sent, 3, NOW_MS, True) for one in (short, careful))
        assert isinstance(first, Appended) and isinstance(second, Appended)
        self.assertEqual(first._replace(message=None), second._replace(message=None))
        self.assertEqual(b"".join(short.staged.buffers), b"".join(careful.staged.buffers))
        self.assertEqual(short.staged.batches, careful.staged.batches)
        self.assertEqual(short.producers.states, careful.producers.states)

    def test_short_way_is_taken(self) -> None:
        """A plain batch takes the fast path; if only headers are checked, so does every codec."""
        for codec, validation in ((Codec.NONE, BOUNDED), (Codec.NONE, HEADERS), (Codec.GZIP, HEADERS)):
            made = log(True, LogConfig(records_validation=validation))
            made._allowance.open_ms = NOW_MS + 1
            self.patch(Appender, "_append_otherwise", None)
            self.assertEqual(made.append(batch([b"a"], codec=codec), 0, NOW_MS, True).error, 0)

    def test_no_copy(self) -> None:
        """A staged plain batch is a view of the request, except for 16 bytes."""
        made = log(True, LogConfig())
        made._allowance.open_ms = NOW_MS + 1
        sent = batch([b"a"])
        made.append(sent, 0, NOW_MS, True)
        self.assertEqual([len(part) for part in made.staged.buffers], [16, len(sent) - 16])
        rest = made.staged.buffers[1]
        assert isinstance(rest, memoryview)
        self.assertIs(rest.obj, sent)

    def test_topic_codec(self) -> None:
        """compression.type names a codec, none, or leaves it to the producer."""
        for name, codec in (("producer", None), ("uncompressed", Codec.NONE), ("zstd", Codec.ZSTD)):
            self.assertEqual(topic_codec(attrs.evolve(LogConfig(), compression_type=name)), codec)
