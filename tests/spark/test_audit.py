"""The columns of a table that an audit by Spark reads."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.spark.audit import COLUMNS, _names


class NamesTests(SynchronousTestCase):
    def test_prefix(self) -> None:
        """A decoded table has kafka_ before the names; they go before a decoder's columns of those names."""
        prefixed = [f"kafka_{name}" for name in COLUMNS]
        self.assertEqual(_names([*COLUMNS, *prefixed], "/t"), prefixed)
        self.assertEqual(_names(["value", *COLUMNS], "/t"), list(COLUMNS))

    def test_missing(self) -> None:
        """A table without one of them is refused, with its directory and the names."""
        self.assertRaisesRegex(SettingError, "/t: it has no columns .*offset", _names, COLUMNS[1:], "/t")
