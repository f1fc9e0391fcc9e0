"""Tests of the settings of links."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.admin.configs import ConfigEntry
from kafkatx.clientcore.admin.mirror_links import (
    EVERY_TOPIC,
    check_name,
    matches,
    names_in,
    pattern_of,
    setting,
    settings_by_link,
    with_topics,
    without_topics,
)
from kafkatx.errors import SettingError
from tests.wire.strategies import quick

TOPICS = st.text("ab.-_09", min_size=1, max_size=6)
PATTERNS = st.sampled_from(["", ".*", "a.*", "a|b", "a\\.b|c-d", "[ab]+", "a.b"]) | st.lists(TOPICS).map(
    pattern_of
)


class NameTests(SynchronousTestCase):
    def test_names(self) -> None:
        """A name has letters, digits, underscores and hyphens; a dot would end it within a setting."""
        for good in ("dc1", "a", "A-b_3", "x" * 64):
            check_name(good)
        for bad in ("", "a.b", "a,b", "a b", "é", "x" * 65, "a\n"):
            error = self.assertRaises(SettingError, check_name, bad)
            self.assertIn("letters, digits", str(error))

    def test_setting(self) -> None:
        """A setting's name has the link's in it."""
        self.assertEqual(setting("dc1", "topics"), "mirror.dc1.topics")


class SettingsTests(SynchronousTestCase):
    def test_by_link(self) -> None:
        """Each link has its own settings; those of a longer name and of no link are left out."""
        values = {
            "mirror.links": "dc1, dc",
            "mirror.dc.topics": "a",
            "mirror.dc1.topics": "b",
            "mirror.dc1.sasl.password": None,
            "mirror.gone.topics": "c",
            "log.retention.ms": "1",
        }
        entries = {name: ConfigEntry(name, value) for name, value in values.items()}
        found = settings_by_link(entries)
        self.assertEqual(
            {link: {name: entry.value for name, entry in of.items()} for link, of in found.items()},
            {"dc1": {"topics": "b", "sasl.password": None}, "dc": {"topics": "a"}},
        )

    def test_without_links(self) -> None:
        """Without links there is nothing, also if the list is empty."""
        self.assertEqual(settings_by_link({}), {})
        self.assertEqual(settings_by_link({"mirror.links": ConfigEntry("mirror.links", "")}), {})


class PatternTests(SynchronousTestCase):
    def test_lists(self) -> None:
        """A list of names is written in order, with its dots escaped, and read again."""
        self.assertEqual(pattern_of(["c", "a.b", "c"]), "a\\.b|c")
        self.assertEqual(names_in("a\\.b|c"), ["a.b", "c"])
        self.assertEqual((pattern_of([]), names_in("")), ("", []))
        for other in (".*", "a.b", "a|", "(a|b)", "a*", "[ab]", "\\w"):
            self.assertIsNone(names_in(other), other)

    def test_matches(self) -> None:
        """The whole name counts, and an empty expression chooses nothing."""
        self.assertTrue(matches("a|b.*", "bcd"))
        self.assertFalse(matches("a|b", "ab"))
        self.assertFalse(matches("", ""))
        error = self.assertRaises(SettingError, matches, "(", "a")
        self.assertIn("( is not a regular expression", str(error))

    def test_with(self) -> None:
        """Topics are added to a list, or to any other expression; none means all."""
        self.assertEqual(with_topics("", ["b", "a"]), "a|b")
        self.assertEqual(with_topics("b", ["a.c"]), "a\\.c|b")
        self.assertEqual(with_topics("x.*", ["xy", "a"]), "x.*|a")
        self.assertEqual(with_topics("x.*", ["xy"]), "x.*")
        self.assertEqual(with_topics("a", []), EVERY_TOPIC)
        self.assertEqual(with_topics(EVERY_TOPIC, ["a"]), EVERY_TOPIC)

    def test_without(self) -> None:
        """Topics are taken from a list; from another expression only if it does not choose them anyway."""
        self.assertEqual(without_topics("a|b", ["a", "c"], "mirror.x.paused"), "b")
        self.assertEqual(without_topics("a", ["a"], "mirror.x.paused"), "")
        self.assertEqual(without_topics("a.*", [], "mirror.x.paused"), "")
        self.assertEqual(without_topics("a.*", ["b"], "mirror.x.paused"), "a.*")
        error = self.assertRaises(SettingError, without_topics, "a.*", ["b", "ab"], "mirror.x.paused")
        self.assertIn("mirror.x.paused=a.* chooses ab", str(error))

    def test_edits(self) -> None:
        """After adding, all the topics are chosen, and no other more than before; and the other way round."""

        @quick(200)
        @given(PATTERNS, st.lists(TOPICS, min_size=1, max_size=3), TOPICS)
        def check(pattern: str, topics: list[str], other: str) -> None:
            added = with_topics(pattern, topics)
            for topic in topics:
                self.assertTrue(matches(added, topic))
            if other not in topics:
                self.assertEqual(matches(added, other), matches(pattern, other))
            left = without_topics(added, topics, "s") if names_in(added) is not None else None
            if left is not None:
                self.assertEqual([topic for topic in topics if matches(left, topic)], [])

        check()
