"""The recorder of a broker."""

from __future__ import annotations

import os

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.sampling.factory import history_path
from kafkatx.config import BrokerConfig


class FactoryTests(SynchronousTestCase):
    def test_path(self) -> None:
        """The file is in the first log dir unless a setting says otherwise."""
        for settings, path in (
            ({"log.dirs": "/a,/b"}, "/a/kafkatx-history"),
            ({"log.dirs": "data"}, os.path.abspath("data/kafkatx-history")),
            ({"log.dirs": "/a", "kafkatx.history.file": "/c/d"}, "/c/d"),
            ({"kafkatx.storage": "memory"}, None),
            ({"kafkatx.storage": "memory", "kafkatx.history.file": "/c/d"}, "/c/d"),
        ):
            self.assertEqual(history_path(BrokerConfig.load(None, dict(settings))), path, settings)
