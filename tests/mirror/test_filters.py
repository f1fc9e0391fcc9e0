"""Tests of kafkatx.mirror.filters."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client import Record
from kafkatx.errors import SettingError
from kafkatx.interfaces import IRecordFilter
from kafkatx.mirror.filters import RegexFilter
from kafkatx.records.builder import encode_headers
from kafkatx.testing.contracts.mirror import RecordFilterContract


def regex(**settings: str) -> RegexFilter:
    """Make a filter."""
    made = RegexFilter()
    made.configure({name.replace("__", "."): text for name, text in settings.items()})
    return made


def record(key: bytes | None = None, value: bytes | None = None, **headers: bytes | None) -> Record:
    """Make a record."""
    encoded = encode_headers(list(headers.items())) if headers else b""
    return Record("t", 0, 5, 1000, 0, key, value, encoded)


class RegexContractTests(RecordFilterContract, SynchronousTestCase):
    def make_filter(self) -> IRecordFilter:
        """Make a filter."""
        return regex(value="a")


class RegexFilterTests(SynchronousTestCase):
    def test_all_must_match(self) -> None:
        """Key, value and headers, as far as they are set, must all match; what is missing does not."""
        both = regex(key="^k", value=r"\x00z", header__tenant="^acme$")
        self.assertTrue(both.keep(record(b"k1", b"a\0z", tenant=b"acme")))
        for other in (
            record(b"xk", b"a\0z", tenant=b"acme"),
            record(None, b"a\0z", tenant=b"acme"),
            record(b"k1", b"az", tenant=b"acme"),
            record(b"k1", None, tenant=b"acme"),
            record(b"k1", b"a\0z", tenant=b"acme2"),
            record(b"k1", b"a\0z", tenant=None),
            record(b"k1", b"a\0z"),
        ):
            self.assertFalse(both.keep(other), other)

    def test_invert(self) -> None:
        """With invert those are copied that do not match."""
        self.assertEqual(
            [regex(key="a", invert=text).keep(record(b"a")) for text in ("true", "false")], [False, True]
        )

    def test_refused(self) -> None:
        """Wrong settings are named."""
        for settings, message in (
            ({}, "set kafkatx.plugin.regex.key"),
            ({"key": "("}, "regex.key=.*no regular expression"),
            ({"keys": "x"}, "regex.keys=x"),
            ({"header__": "x"}, "regex.header.=x"),
            ({"key": "x", "invert": "yes"}, "invert=yes"),
        ):
            with self.assertRaisesRegex(SettingError, message):
                regex(**settings)
