"""Tests of kafkatx.records.checksum."""

from __future__ import annotations

import sys
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.records import checksum
from tests.records.strategies import quick


class Crc32cTests(SynchronousTestCase):
    """CRC-32C, both ways of computing it."""

    def test_known(self) -> None:
        """The vectors of RFC 3720 B.4 and the usual check value come out of both."""
        for crc in (checksum.crc32c, checksum.portable_crc32c()):
            self.assertEqual(crc(b"123456789"), 0xE3069283)
            self.assertEqual(crc(bytes(32)), 0x8A9136AA)
            self.assertEqual(crc(b"\xff" * 32), 0x62A8AB43)
            self.assertEqual(crc(b""), 0)

    def test_agree(self) -> None:
        """crc32c and crcmod agree on any data, of any kind, in one piece and in two."""
        portable = checksum.portable_crc32c()

        @quick
        @given(st.binary(max_size=300), st.binary(max_size=30))
        def check(first: bytes, second: bytes) -> None:
            expected = checksum.crc32c(first + second)
            self.assertEqual(portable(first + second), expected)
            for crc in (checksum.crc32c, portable):
                self.assertEqual(crc(memoryview(second), crc(memoryview(first))), expected)

        check()

    def test_without_the_wheel(self) -> None:
        """Without the crc32c wheel crcmod is used."""
        with mock.patch.dict(sys.modules, {"crc32c": None}):
            chosen = checksum._fastest()
        self.assertIn("portable", chosen.__qualname__)
        self.assertEqual(chosen(b"123456789"), 0xE3069283)

    def test_with_the_wheel(self) -> None:
        """The wheel is used if it can be imported."""
        self.assertEqual(checksum.crc32c.__module__.partition(".")[0], "crc32c")
