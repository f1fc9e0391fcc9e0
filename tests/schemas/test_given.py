"""Tests of kafkatx.schemas.given."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.schemas.given import given_schema


class GivenTests(SynchronousTestCase):
    def test_forms(self) -> None:
        """An object is itself, text is a schema, ``@`` names a file; blank is none."""
        path = self.mktemp()
        with open(path, "w") as file:
            file.write('"string"')
        found = [given_schema("s", value) for value in (int, ' "long" ', f"@{path}", " ")]
        self.assertEqual(found, [int, '"long"', '"string"', None])

    def test_no_file(self) -> None:
        """A file that cannot be read is named with its setting."""
        error = self.assertRaises(SettingError, given_schema, "some.setting", "@/nowhere")
        self.assertIn("some.setting=@/nowhere: No such file", str(error))
