"""Tests of kafkatx.cli.package.files."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.package.files import page, page_names, sample, title
from tests.test_readme import ROOT


class FilesTests(SynchronousTestCase):
    def test_sample(self) -> None:
        """A sample is the file in ``etc/``, byte by byte."""
        self.assertEqual(sample("grafana/kafkatx.json"), (ROOT / "etc/grafana/kafkatx.json").read_bytes())

    def test_pages(self) -> None:
        """Every page has a name, a title and a text; examples stand in place of their inclusion."""
        names = list(page_names())
        self.assertIn("client/producer", names)
        for name in names:
            self.assertTrue(title(name), name)
            self.assertNotIn("{literalinclude}", page(name), name)
        self.assertIn("class ProducerTests(TestCase):", page("embedding"))
        self.assertIn("```python\nfrom typing", page("client/admin"))
