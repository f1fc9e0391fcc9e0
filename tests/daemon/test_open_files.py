"""The limit of open files."""

from __future__ import annotations

import resource

from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.daemon import open_files as daemon
from kafkatx.testing import EmbeddedBroker


class OpenFilesTests(SynchronousTestCase):
    def test_few_open_files(self) -> None:
        """A low limit of open files is logged; a high limit, or none, is not."""
        for hard, warnings in ((daemon.FEW_FILES - 1, 1), (daemon.FEW_FILES, 0), (resource.RLIM_INFINITY, 0)):
            self.patch(resource, "getrlimit", lambda _, hard=hard: (10, hard))
            self.patch(resource, "setrlimit", lambda *_: None)
            with capturedLogs() as events:
                daemon.allow_open_files()
            self.assertEqual(len(events), warnings, hard)

    def test_open_files(self) -> None:
        """A broker may open as many files as the system lets it, whatever the shell began with."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 1024), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        with EmbeddedBroker(run_in="process") as broker:
            self.assertEqual(resource.prlimit(broker.pid or 0, resource.RLIMIT_NOFILE), (hard, hard))
