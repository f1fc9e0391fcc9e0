"""Readers of values: what each type takes and refuses."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.table.row import INT_MAX, LONG_MAX, ConfigType, Section, Setting, by_name, format_value
from kafkatx.errors import SettingError

SECTION = Section("Title", "Words.")
FLAG = SECTION.boolean("flag", True, "A flag.")
SIZE = SECTION.integer("size", 7, "A size.", low=1)
PORT = SECTION.integer("port", 7, "A port.", low=0, high=65535)
AGE = SECTION.long("age", -1, "An age.")
RATIO = SECTION.double("ratio", 0.5, "A ratio.", low=0.0, high=1.0)
MODE = SECTION.string("mode", "a", "A mode.", choices=("a", "b"))
TEXT = SECTION.optional_string("text", "A text.")
LIST = SECTION.names("list", ("x",), "A list.")
POLICY = SECTION.names("policy", ("x",), "Some of them.", choices=("x", "y"), empty=False)

TAKEN: tuple[tuple[Setting[Any], str, Any], ...] = (
    (FLAG, "true", True),
    (FLAG, " FALSE ", False),
    (SIZE, "1", 1),
    (SIZE, " +12 ", 12),
    (SIZE, str(INT_MAX), INT_MAX),
    (PORT, "65535", 65535),
    (AGE, str(LONG_MAX), LONG_MAX),
    (AGE, str(-LONG_MAX - 1), -LONG_MAX - 1),
    (RATIO, "0", 0.0),
    (RATIO, "1e-3", 0.001),
    (MODE, " b ", "b"),
    (TEXT, "", ""),
    (LIST, "", ()),
    (LIST, " a , b", ("a", "b")),
    (POLICY, "y,x", ("y", "x")),
)

REFUSED: tuple[tuple[Setting[Any], str], ...] = (
    (FLAG, "yes"),
    (FLAG, "1"),
    (FLAG, ""),
    (SIZE, "0"),
    (SIZE, "-1"),
    (SIZE, ""),
    (SIZE, "1.0"),
    (SIZE, "1_000"),
    (SIZE, "0x10"),
    (SIZE, "ten"),
    (SIZE, "1 0"),
    (SIZE, "\u0661"),
    (SIZE, "9" * 5000),
    (SIZE, str(INT_MAX + 1)),
    (PORT, "65536"),
    (AGE, str(LONG_MAX + 1)),
    (RATIO, "1.1"),
    (RATIO, "-0.1"),
    (RATIO, "nan"),
    (RATIO, "inf"),
    (RATIO, ""),
    (MODE, "c"),
    (MODE, "A"),
    (LIST, "a,,b"),
    (LIST, ","),
    (POLICY, ""),
    (POLICY, "x,z"),
)


class SettingTests(SynchronousTestCase):
    """Rows of every type."""

    def test_taken(self) -> None:
        """Each type reads what Kafka's reads, with white space around it."""
        for setting, text, value in TAKEN:
            found = setting.parse(text)
            self.assertEqual((found, type(found)), (value, type(value)), f"{setting.name}={text}")

    def test_refused(self) -> None:
        """A value outside of the range is rejected; the message has name, value and the range."""
        for setting, text in REFUSED:
            message = str(self.assertRaises(SettingError, setting.parse, text))
            self.assertEqual(message, f"{setting.name}={text}: the value must be {setting.allowed}")

    def test_allowed_in_words(self) -> None:
        """The words of a range tell its ends."""
        self.assertEqual(SIZE.allowed, "a whole number of 32 bits, 1 or more")
        self.assertEqual(PORT.allowed, "a whole number from 0 to 65535")
        self.assertEqual(AGE.allowed, "a whole number of 64 bits")
        self.assertEqual(RATIO.allowed, "a number from 0.0 to 1.0")
        self.assertEqual(MODE.allowed, "one of a, b")
        self.assertEqual(POLICY.allowed, "one or more of x, y")

    def test_error_names_the_alias(self) -> None:
        """A value that was set under another name is refused under that name."""
        message = str(self.assertRaises(SettingError, SIZE.parse, "x", "size.of.old"))
        self.assertTrue(message.startswith("size.of.old=x: "))

    def test_types_are_kafkas(self) -> None:
        """Types have the numbers of DescribeConfigs."""
        kinds = [setting.type for setting in (FLAG, TEXT, SIZE, AGE, RATIO, LIST)]
        self.assertEqual(kinds, [1, 2, 3, 5, 6, 7])
        self.assertEqual(ConfigType.PASSWORD, 9)

    def test_table_keeps_its_order(self) -> None:
        """A section lists its rows as they were added, and by_name() as the sections do."""
        other = Section("Other", "Words.")
        last = other.boolean("last", False, "Last.")
        names = ["flag", "size", "port", "age", "ratio", "mode", "text", "list", "policy", "last"]
        self.assertEqual(list(by_name((SECTION, other))), names)
        self.assertIs(by_name((SECTION, other))["last"], last)

    def test_scaled(self) -> None:
        """Hours become milliseconds; below 0 is "no limit", -1, in any unit."""
        hours = Section("Title", "Words.").integer("hours", 1, "Hours.", scale=3_600_000)
        self.assertEqual([hours.scaled(value) for value in (2, 0, -1, -5)], [7_200_000, 0, -1, -1])
        self.assertEqual(SIZE.scaled(5), 5)

    @settings(deadline=None, max_examples=50)
    @given(
        st.one_of(
            st.tuples(st.just(FLAG), st.booleans()),
            st.tuples(st.just(AGE), st.integers(-LONG_MAX - 1, LONG_MAX)),
            st.tuples(st.just(RATIO), st.floats(0.0, 1.0)),
            st.tuples(st.just(LIST), st.lists(st.text("abc.:/", min_size=1)).map(tuple)),
        )
    )
    def test_shown_values_are_read_back(self, row: tuple[Setting[Any], Any]) -> None:
        """The setting parses the text of format_value() to the same value."""
        setting, value = row
        self.assertEqual(setting.parse(format_value(value) or ""), value)

    def test_show(self) -> None:
        """Values are shown as Kafka shows them; sets in a fixed order."""
        shown = [format_value(value) for value in (None, True, 5, ("b", "a"), frozenset({"b", "a"}), "x")]
        self.assertEqual(shown, [None, "true", "5", "b,a", "a,b", "x"])
