"""Walking over batches in a file."""

from __future__ import annotations

import os

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import CorruptRecords
from kafkatx.log.files import Files
from kafkatx.log.segment import scan
from kafkatx.log.segment.scan import walk, walk_whole
from kafkatx.records.batch import Record
from kafkatx.records.compression import Codec
from kafkatx.records.conversion import batches
from kafkatx.records.legacy.message_sets import build
from kafkatx.testing.contracts.partition_log import batch
from kafkatx.types import SharedFile


class ScanTests(SynchronousTestCase):
    """walk and walk_whole."""

    def setUp(self) -> None:
        """A directory for files."""
        self.directory = self.mktemp()
        os.makedirs(self.directory)

    def file(self, data: bytes) -> SharedFile:
        """A file with this content."""
        path = os.path.join(self.directory, "log")
        with open(path, "wb") as file:
            file.write(data)
        return SharedFile(path, os.O_RDONLY)

    @settings(deadline=None, max_examples=60)
    @given(
        sizes=st.lists(st.sampled_from([0, 1, 50, 8000, 8192, 20000]), max_size=12),
        chunk=st.integers(61, 9000),
    )
    def test_same_as_in_memory(self, sizes: list[int], chunk: int) -> None:
        """Both walks find the same as a walk in memory, for all sizes of batches and reads."""
        data = b"".join(
            batch([b"x" * size])
            if number % 3
            else build([Record(number, 5, None, b"x" * size, [])], number % 2)
            for number, size in enumerate(sizes)
        )
        expected = [tuple(span) for span in batches(data)]
        file = self.file(data)
        self.patch(scan, "_CHUNK_BYTES", chunk)
        self.patch(scan, "_WHOLE_CHUNK_BYTES", chunk)
        found = list(walk(Files(), file, 0, len(data)))
        self.assertEqual([one[:6] for one in found], expected)
        whole = list(walk_whole(Files(), file, 0, len(data)))
        self.assertEqual([one for one, _ in whole], found)
        self.assertEqual(b"".join(part for _, part in whole), data)

    def test_every_truncation(self) -> None:
        """Inside a batch the walk by headers ends with CorruptRecords, the whole one just ends."""
        parts = [batch([b"abc"]), build([Record(1, 5, None, b"abc", [])], 1, Codec.GZIP), batch([b"d"])]
        data = b"".join(parts)
        ends = [len(b"".join(parts[:count])) for count in range(4)]
        for end in range(len(data)):
            file = self.file(data[:end])
            if end in ends:
                self.assertEqual(len(list(walk(Files(), file, 0, end))), ends.index(end))
            else:
                self.assertRaises(CorruptRecords, list, walk(Files(), file, 0, end))
            complete = sum(0 < one <= end for one in ends)
            self.assertEqual(len(list(walk_whole(Files(), file, 0, end))), complete)

    def test_garbled(self) -> None:
        """A wrong byte under a checksum ends the whole walk at its batch, in every magic."""
        for one in (
            batch([b"abc"]),
            build([Record(0, 5, None, b"abc", [])], 0),
            build([Record(0, 5, None, b"abc", [])], 1),
        ):
            data = bytearray(one * 3)
            data[2 * len(one) - 1] ^= 1
            self.assertEqual(len(list(walk_whole(Files(), self.file(bytes(data)), 0, len(data)))), 1)
