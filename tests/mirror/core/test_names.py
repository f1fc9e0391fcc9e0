"""Tests of kafkatx.mirror.core.names."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.mirror.core.names import TopicNames, check_template, compiled, split_alternatives


def names(topics: str = ".*", exclude: str = "", template: str = "{alias}.{topic}") -> TopicNames:
    """Make the names of a source dc1 for a target called central."""
    return TopicNames("dc1", "central", topics, exclude, template)


class NamesTests(SynchronousTestCase):
    def test_whole_name(self) -> None:
        """An expression must match the whole name; commas separate alternatives."""
        some = names("orders, pay.*", "payroll")
        self.assertEqual(
            [some.copied(name) for name in ("orders", "orders2", "payments", "payroll", "xpay")],
            [True, False, True, False, False],
        )

    def test_internal(self) -> None:
        """Internal topics are never copied."""
        for name in (
            "__consumer_offsets",
            "mm2-offset-syncs.a.internal",
            "a.checkpoints.internal",
            "kafkatx-mirror.a.internal",
            "heartbeats",
            "a.heartbeats",
            "connect-offsets-internal",
        ):
            self.assertFalse(names().copied(name), name)

    def test_cycles(self) -> None:
        """A topic that came from the target, or has come back to its source, is not copied."""
        self.assertFalse(names().copied("central.orders"))
        self.assertFalse(names().copied("other.central.orders"))
        self.assertFalse(names().copied("dc2.dc1.orders"))
        self.assertTrue(names().copied("central"))
        self.assertTrue(names().copied("dc2.orders"))

    def test_rename(self) -> None:
        """A copy's name is made by the template."""
        self.assertEqual(names().target("a.b"), "dc1.a.b")
        self.assertEqual(names(template="{topic}").target("orders"), "orders")
        self.assertEqual(names(template="all").target("orders"), "all")
        with self.assertRaisesRegex(SettingError, "at most 249"):
            names().target("x" * 246)

    def test_bad_templates(self) -> None:
        """A template with anything that a name cannot have is refused."""
        for bad in ("", "{", "{other}.{topic}", "a b{topic}", "{topic:>9}", "{topic!r}", "{0}", "ä{topic}"):
            with self.assertRaisesRegex(SettingError, "rename="):
                check_template(bad)

    def test_bad_expression(self) -> None:
        """The setting is named."""
        with self.assertRaisesRegex(SettingError, r"topics=a\(: no regular expression"):
            compiled("topics", "a(")

    def test_commas(self) -> None:
        """Commas within brackets do not separate."""
        self.assertEqual(split_alternatives("a{1,2},[b,c],d, "), ["a{1,2}", "[b,c]", "d"])
