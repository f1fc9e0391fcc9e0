"""The bytes of the samples."""

from __future__ import annotations

import random
import zlib

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.history.codec import MAGIC, MOST_BYTES, decode, encode
from kafkatx.broker.history.history import MOST_NAMED, History
from kafkatx.broker.history.series import ROWS

NOW_MS = 1_700_000_100_000


def filled(seconds: int = 700, named: int = 3) -> History:
    """Return a history with samples."""
    history = History()
    for second in range(seconds):
        history.add_named({f"lag:g{number}": 1.0 for number in range(named)})
        history.add(NOW_MS + 1000 * second, {row.name: float(second) for row in ROWS})
    return history


def same(one: History, other: History) -> bool:
    """Return True if two histories have the same samples."""
    return all(
        a.last == b.last
        and {n: c.tobytes() for n, c in a.columns.items()} == {n: c.tobytes() for n, c in b.columns.items()}
        for a, b in zip(one.rings, other.rings, strict=True)
    )


class CodecTests(SynchronousTestCase):
    def test_round_trip(self) -> None:
        """Samples that are read are those that were written."""
        for history in (History(), filled()):
            self.assertTrue(same(decode(encode(history)), history))

    def test_size(self) -> None:
        """All series there can be take less than four megabytes, and what is read can go on."""
        history = filled(700, MOST_NAMED)
        history.add(NOW_MS + 10**6, {})
        data = encode(history)
        self.assertLess(len(data), MOST_BYTES)
        read = decode(data)
        read.add(NOW_MS + 10**6 + 1000, {"connections": 1.0})

    def test_damage(self) -> None:
        """A file that is cut, flipped, longer or foreign is noticed, whatever its checksum."""
        data, chance = encode(filled(40)), random.Random(1)
        for _ in range(300):
            at = chance.randrange(len(data))
            flipped = bytearray(data)
            flipped[at] ^= 1 << chance.randrange(8)
            self.assertRaises(ValueError, decode, bytes(flipped))
            self.assertRaises(ValueError, decode, data[:at])
        head = len(MAGIC) + 4
        for content in (
            data[:-4] + b"\0\0\0\0",
            data[: len(data) // 2],
            data[:head] + b"{" + data[head + 1 : -4],
            MAGIC + b"\0\0\0\2[]",
            MAGIC + b"\0\0\0\4null",
            MAGIC + b"\0\0\0\x03[1]",
            MAGIC + b"\xff\xff\xff\xff[]",
            b"",
        ):
            self.assertRaises(ValueError, decode, content + zlib.crc32(content).to_bytes(4, "big"))
        self.assertRaises(ValueError, decode, b"")
        self.assertRaises(ValueError, decode, MAGIC + bytes(MOST_BYTES))
