"""Tests of kafkatx.spark.ingest.decoder.scalars."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import product
from typing import Any
from uuid import UUID

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.json_numbers import load
from kafkatx.spark.ingest.decoder.fit import fit_of
from kafkatx.spark.ingest.decoder.rows import make_array
from kafkatx.spark.ingest.decoder.scalars import EXCERPT, FITTERS, Misfit, excerpt, parse_time
from kafkatx.spark.ingest.table.columns import arrow_type

UTC = timezone.utc
EVENING = datetime(2015, 5, 19, 19, 5, tzinfo=UTC)


class FitTests(SynchronousTestCase):
    def check(self, word: str, taken: list[tuple[Any, Any]], refused: list[Any]) -> None:
        """See what a column takes, and as what, and what it does not."""
        for value, expected in taken:
            found = FITTERS[word](value)
            self.assertEqual((found, type(found)), (expected, type(expected)), (word, value))
        for value in refused:
            error = self.assertRaises(Misfit, FITTERS[word], value)
            self.assertIn(word if word != "string" else "text", str(error))

    def test_boolean(self) -> None:
        """Only true and false."""
        self.check("boolean", [(True, True), (False, False)], [0, 1, "true", 1.0])

    def test_whole(self) -> None:
        """Whole numbers that fit, also written as fractions."""
        most = (1 << 31) - 1
        self.check("int", [(5, 5), (2.0, 2), (most, most)], [2.5, most + 1, "5", True, float("nan")])
        most = (1 << 63) - 1
        refused = [most + 1, 1 << 200, 1e300, float("inf"), "5", True]
        self.check("bigint", [(most, most), (-most - 1, -most - 1), (-(2.0**63), -most - 1)], refused)

    def test_fractions(self) -> None:
        """Numbers; whole ones only if nothing of them is rounded."""
        refused = [(1 << 53) + 1, 1 << 2000, "1", True]
        self.check(
            "double", [(1.5, 1.5), (3, 3.0), (1 << 60, 2.0**60), (float("inf"), float("inf"))], refused
        )
        self.check("float", [(1.5, 1.5), (0.1, 0.1), (1 << 24, 2.0**24)], [(1 << 24) + 1, 1e300, "1", True])

    def test_string(self) -> None:
        """Text; everything else as its JSON, or as Python writes it."""
        taken = [
            ("grün", "grün"),
            (1.5, "1.5"),
            (True, "true"),
            ({"a": [1, None, "ü"]}, '{"a":[1,null,"ü"]}'),
            ("grün".encode(), "grün"),
            (EVENING, "2015-05-19T19:05:00+00:00"),
            (Decimal("1.50"), "1.50"),
            (UUID(int=5), str(UUID(int=5))),
            ({"at": EVENING, "raw": b"\xff", "d": Decimal("1.50")}, None),
        ]
        self.check("string", taken[:-1], ["\ud800", b"\xff", {"a": "\udc00"}])
        nested = '{"at":"2015-05-19T19:05:00+00:00","raw":"/w==","d":"1.50"}'
        self.assertEqual(FITTERS["string"](taken[-1][0]), nested)

    def test_digits(self) -> None:
        """All digits of a number in JSON come into a column of text or whole numbers, or it is refused."""
        row = {"f": load("0.12345678901234567890"), "k": "ü", "l": [None, True, 1.5]}
        expected = '{"f":0.12345678901234567890,"k":"ü","l":[null,true,1.5]}'
        self.assertEqual(FITTERS["string"](row), expected)
        self.assertEqual(FITTERS["string"](row["f"]), "0.12345678901234567890")
        self.assertEqual(FITTERS["bigint"](load("9007199254740993.0")), 9007199254740993)
        for text in ("2.00000000000000000001", "9223372036854775808.0", "1.0000000000000000001e300"):
            self.assertRaises(Misfit, FITTERS["bigint"], load(text))
        doubles = make_array("f", fit_of(arrow_type("double")), [load("0.12345678901234567890")], {})
        self.assertEqual(doubles.to_pylist(), [0.12345678901234568])

    def test_string_of_what_contains_itself(self) -> None:
        """A value without JSON does not fit."""
        endless: list[Any] = []
        endless.append(endless)
        self.assertRaises(Misfit, FITTERS["string"], endless)

    def test_binary(self) -> None:
        """Bytes, or base64 in text."""
        taken = [(b"\xff", b"\xff"), (bytearray(b"a"), b"a"), ("/w==", b"\xff"), ("", b"")]
        self.check("binary", taken, ["no base64!", "ab", 5])

    def test_timestamp(self) -> None:
        """Times, text in ISO 8601, and milliseconds; always UTC."""
        east = datetime(2015, 5, 19, 21, 5, tzinfo=timezone(timedelta(hours=2)))
        taken: list[tuple[Any, Any]] = [
            (east, EVENING),
            (datetime(2015, 5, 19, 19, 5), EVENING),
            ("2015-05-19T21:05:00+02:00", EVENING),
            (int(EVENING.timestamp() * 1000), EVENING),
            (-1, datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)),
        ]
        last = datetime.max.replace(tzinfo=timezone(timedelta(hours=-1)))
        self.check("timestamp", taken, ["yesterday", "", 1 << 60, True, 1.5, last, date(2015, 5, 19)])
        self.assertEqual(FITTERS["timestamp"](east).tzinfo, UTC)

    def test_date(self) -> None:
        """Days, and text."""
        day = date(2015, 5, 19)
        self.check("date", [(day, day), ("2015-05-19", day)], ["2015-02-31", "19.5.2015", EVENING, 5])


class TimeTests(SynchronousTestCase):
    def test_forms(self) -> None:
        """The forms of ISO 8601 that programs write."""
        for text, expected in (
            ("2015-05-19T19:05:00Z", EVENING),
            ("2015-05-19T19:05:00", EVENING),
            ("2015-05-19 19:05", EVENING),
            ("2015-05-19t19:05:00z", EVENING),
            ("2015-05-19T19:05:00.000Z", EVENING),
            ("2015-05-19T19:05:00.000000999Z", EVENING),
            ("2015-05-19T19:05:00,5Z", EVENING.replace(microsecond=500_000)),
            ("2015-05-19T19:05:00.123456+00", EVENING.replace(microsecond=123_456)),
            ("2015-05-19T14:35:00-0430", EVENING),
            ("2015-05-19 21:05:00 +02:00", EVENING),
            ("2015-05-19", EVENING.replace(hour=0, minute=0)),
        ):
            self.assertEqual(parse_time(text), expected, text)

    def test_none(self) -> None:
        """Anything else."""
        for text in (
            "",
            "2015",
            "2015-05-19T",
            "2015-05-19T24:61:00Z",
            "2015-13-01",
            "2015-05-19T19:05:00 UTC",
        ):
            self.assertRaises(ValueError, parse_time, text)
        self.assertRaises((ValueError, OverflowError), parse_time, "0001-01-01T00:00:00+01:00")


class NaturalTests(SynchronousTestCase):
    values = st.lists(
        st.one_of(
            st.none(),
            st.booleans(),
            st.integers(-(1 << 70), 1 << 70),
            st.floats(),
            st.text(st.characters(codec=None), max_size=3),
            st.binary(max_size=3),
            st.datetimes(timezones=st.sampled_from([None, UTC, timezone(timedelta(hours=9))])),
            st.dates(),
        ),
        max_size=4,
    )

    @settings(max_examples=300, deadline=None)
    @given(st.sampled_from(sorted(FITTERS)), st.one_of(values, values.map(lambda found: found[:1])))
    def test_any(self, word: str, values: list[Any]) -> None:
        """Arrow's C code converts values exactly as the fitters do one by one."""
        self.check(word, values)

    def test_each_type(self) -> None:
        """The same holds for values of one type or two, in every column."""
        samples: list[Any] = [
            None,
            True,
            5,
            1 << 40,
            1 << 60,
            (1 << 60) + 1,
            1 << 70,
            2.0,
            2.5,
            1e300,
            float("nan"),
        ]
        samples += ["5", "/w==", "\ud800", b"5", b"\xff", date(2015, 5, 19), EVENING, datetime.max]
        for word in FITTERS:
            for first, second in product(samples, samples):
                self.check(word, [first, second])

    def check(self, word: str, values: list[Any]) -> None:
        """Compare both ways."""
        field = fit_of(arrow_type(word))
        dead: dict[int, str] = {}
        array = make_array("f", field, values, dead)
        expected, refused = [], set()
        for place, value in enumerate(values):
            try:
                expected.append(field.fit(value))
            except Misfit:
                refused.add(place)
                expected.append(None)
        self.assertEqual(dead.keys(), refused)
        # as text, for NaN
        self.assertEqual(str(array.to_pylist()), str(pa.array(expected, field.type).to_pylist()))


class ExcerptTests(SynchronousTestCase):
    def test_short(self) -> None:
        """An excerpt of any value is short and one line."""

        class Rude:
            def __repr__(self) -> str:
                raise RuntimeError

        for value in ("x" * 1_000_000, b"\xff\n" * 1_000_000, [["y" * 1000] * 1000] * 1000, 10**4000, Rude()):
            self.assertLess(len(excerpt(value)), 8 * EXCERPT)
            self.assertNotIn("\n", excerpt(value))
        self.assertEqual(excerpt("a" * EXCERPT), repr("a" * EXCERPT))
        self.assertTrue(excerpt("a" * (EXCERPT + 1)).endswith("..."))
