"""The settings of links."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common, consumer
from kafkatx.config.table.mirror.rows import CLIENT, FAMILIES, LINKS, MIRROR, ROWS
from kafkatx.config.table.row import ConfigType, by_name
from kafkatx.errors import SettingError


class MirrorTableTests(SynchronousTestCase):
    def test_names(self) -> None:
        """Names of links are different, and have no dot."""
        self.assertEqual(LINKS.parse(" dc1 ,dc_2,dc-3"), ("dc1", "dc_2", "dc-3"))
        self.assertEqual(LINKS.parse(""), ())
        for text in ("a,,b", "a,a", "a.b", "a b", "x" * 65, "ä"):
            with self.assertRaises(SettingError):
                LINKS.parse(text)

    def test_patterns(self) -> None:
        """A text that is no regular expression is refused."""
        for name in ("topics", "groups", "paused", "promoted"):
            self.assertEqual(ROWS[name].parse("a|b.*"), "a|b.*")
            with self.assertRaisesRegex(SettingError, "the value must be a regular expression"):
                ROWS[name].parse("a(")
            self.assertEqual(ROWS[name].default, ".*" if name == "groups" else "")

    def test_all_dynamic(self) -> None:
        """Links may be changed while brokers run; secrets are not kept in the cluster's state."""
        rows = by_name((MIRROR, *FAMILIES)).values()
        secrets = [row.name for row in rows if row.type is ConfigType.PASSWORD]
        self.assertEqual([row.name for row in rows if not row.dynamic], secrets)

    def test_client_settings(self) -> None:
        """Each client setting is one of a consumer, of the same unit, and accepts no other numbers."""
        known = by_name((*common.SECTIONS, *consumer.SECTIONS))
        for row in CLIENT.settings:
            same = known[row.name]
            self.assertEqual(row.unit, same.unit, row.name)
            if row.name == "security.protocol" or row.name.startswith(("ssl.", "sasl.")):
                self.assertEqual(
                    (row.type, row.default, row.allowed), (same.type, same.default, same.allowed)
                )
                continue
            self.assertIsNone(row.default)
            low = row.allowed.split(", ")[-1].removesuffix(" or more")
            value = "me" if row.name == "client.id" else low
            ClientSettings.load("consumer", {row.name: value})

    def test_texts(self) -> None:
        """Each row has a text that ends with a full stop."""
        for section in FAMILIES:
            for text in (section.doc, *(row.doc for row in section.settings)):
                self.assertRegex(text, r"\A[A-Z].*\.\Z")
