"""The vendored libraries are those that ``vendor.json`` names, each with its licence."""

from __future__ import annotations

import json
import re

from twisted.trial.unittest import SynchronousTestCase

from tests.browser.vendor import FOLDER, PACKAGES, adapted, digest


class VendorTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Read the list."""
        self.rows = json.loads((FOLDER / "vendor.json").read_text(encoding="utf-8"))

    def test_hashes(self) -> None:
        """Each file has the hash that is written; no other file is there."""
        listed = {row["file"]: row["sha256"] for row in self.rows}
        found = {
            path.name: digest(path.read_bytes()) for path in FOLDER.iterdir() if path.name != "vendor.json"
        }
        self.assertEqual(found, listed)

    def test_packages(self) -> None:
        """The list has the files and versions that ``make vendor`` takes, and a licence for each package."""
        listed = {(row["package"], row["version"], row["source"], row["file"]) for row in self.rows}
        taken = {
            (package.name, package.version, path, name)
            for package in PACKAGES
            for path, name in package.files.items()
        }
        self.assertEqual(listed, taken)
        licensed = {row["package"] for row in self.rows if row["source"] == "LICENSE"}
        self.assertEqual(licensed, {package.name for package in PACKAGES})
        for row in self.rows:
            if row["source"] == "LICENSE":
                text = (FOLDER / row["file"]).read_text(encoding="utf-8")
                word = "Permission is hereby granted" if row["licence"] == "MIT" else "Apache License"
                self.assertIn(word, text, row["file"])

    def test_imports(self) -> None:
        """The libraries import each other only, by relative paths."""
        for path in FOLDER.glob("*.js"):
            for name in re.findall(r"""from\s*"([^"]+)\"""", path.read_text(encoding="utf-8")):
                self.assertTrue(name.startswith("./") and (FOLDER / name).exists(), (path.name, name))

    def test_adapted(self) -> None:
        """Imports by name become relative, and a pointer to a source map goes."""
        text = 'import{a}from"preact/hooks";import{b}from"preact";a(b)\n//# sourceMappingURL=x.map\n'
        self.assertEqual(
            adapted(text, "signals.js"), 'import{a}from"./preact-hooks.js";import{b}from"./preact.js";a(b)\n'
        )
        self.assertEqual(adapted(text, "a.LICENSE"), text)
