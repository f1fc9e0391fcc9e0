"""The interface of a partition's log is what the logs that come with kafkatx have."""

from __future__ import annotations

import inspect

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.replica.logs.offline_log import OfflineLog
from kafkatx.interfaces import IPartitionLog
from kafkatx.log.append.appender import Appender


class PartitionLogTests(SynchronousTestCase):
    def test_offline_log(self) -> None:
        """The stand-in of a log that is offline has all methods and attributes."""
        missing = [name for name in IPartitionLog.names() if not hasattr(OfflineLog, name)]
        self.assertEqual(sorted(missing), ["config", "topic_partition"])

    def test_appends(self) -> None:
        """The appender's methods, which logs offer as their own, have the interface's arguments."""
        for name in ("append", "append_marker", "has_transaction"):
            own = list(inspect.signature(getattr(Appender, name)).parameters)[1:]
            self.assertEqual(own, list(IPartitionLog[name].positional), name)
