"""Tests of ``kafkatx sample`` and ``kafkatx docs``."""

from __future__ import annotations

from kafkatx.cli.package.sample import SAMPLES
from tests.cli.command_case import CommandCase
from tests.test_readme import ROOT

ETC = ROOT / "etc"
FOR_THE_BUILD = {"Dockerfile.dockerignore"}


class SampleTests(CommandCase):
    def test_every_file(self) -> None:
        """Each file in ``etc/`` has a name, is listed and printed."""
        files = {str(path.relative_to(ETC)) for path in ETC.rglob("*") if path.is_file()}
        self.assertEqual({path for path, _ in SAMPLES.values()}, files - FOR_THE_BUILD)
        self.assertEqual(self.run_command("sample"), 0)
        self.assertEqual([line.split("\t")[0] for line in self.out.text().splitlines()], list(SAMPLES))
        self.assertEqual(self.run_command("sample", "systemd"), 0)
        self.assertIn("[Service]", self.out.text())

    def test_unknown(self) -> None:
        """A name that does not exist is a wrong command line."""
        self.assertEqual(self.run_command("sample", "nothing"), 2)


class DocsTests(CommandCase):
    def test_list(self) -> None:
        """Without a page all are listed, with their titles."""
        self.assertEqual(self.run_command("docs"), 0)
        self.assertIn("security\tSecurity", self.out.text().splitlines())

    def test_page(self) -> None:
        """A page is named as in a message, or as its file."""
        for name in ("durability", "docs/durability.md"):
            self.assertEqual(self.run_command("docs", name), 0)
            self.assertTrue(self.out.text().startswith("# Durability"))

    def test_unknown(self) -> None:
        """An unknown page is an error that names a similar one."""
        self.assertEqual(self.run_command("docs", "secrity"), 1)
        self.assertIn("did you mean security?", self.err.text())
