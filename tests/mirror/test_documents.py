"""Tests of the documents about mirrors: they are up to date."""

from __future__ import annotations

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.mirror import table
from kafkatx.mirror.documents import page
from kafkatx.mirror.settings import MirrorSettings

ROOT = Path(__file__).parent.parent.parent


class DocumentsTests(SynchronousTestCase):
    def test_page(self) -> None:
        """The generated page is up to date."""
        found = (ROOT / "docs/mirror-settings.md").read_text()
        self.assertEqual(found, page(), "docs/mirror-settings.md is not up to date; run: make documents")

    def test_example(self) -> None:
        """The example in etc is loaded, and says what its comments say."""
        settings = MirrorSettings.read(str(ROOT / "etc/mirror.properties"))
        first, second = settings.sources
        self.assertEqual([first.alias, second.alias], ["dc1", "dc2"])
        names = ("orders", "payments.eu", "payments.eu.test", "other")
        self.assertEqual([first.names.copied(name) for name in names], [True, True, False, False])
        self.assertEqual([second.names.copied(name) for name in names], [True, False, False, False])
        self.assertEqual(second.names.target("orders"), "dc2.orders")
        self.assertEqual(settings[table.RATE_BYTES], 20_000_000)
