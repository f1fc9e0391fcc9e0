"""A real server's log through the broker, PySpark and ``kafkatx ingest``; its facts are known."""

from __future__ import annotations

import hashlib

from tests.integration.access_log import REAL_FACTS, real_log
from tests.integration.test_cli_ingest import AccessLogCase as CommandCase
from tests.integration.test_spark_access_log import AccessLogCase

ABSENT = "there is no shared/data/access.log.gz beside the repository"


class RealLogTests(AccessLogCase):
    def test_real_log(self) -> None:
        """Every fact comes out of PySpark as it is known."""
        data = real_log()
        assert data is not None, ABSENT
        self.assertEqual(hashlib.md5(data).hexdigest(), REAL_FACTS.md5)
        self.assertEqual(self.facts(self.ingest(data)), REAL_FACTS)


class RealIngestTests(CommandCase):
    def test_real_log(self) -> None:
        """The command makes a table by date and hour of it, and dead letters of what is no line of it."""
        data = real_log()
        assert data is not None, ABSENT
        self.ingest_twice(data, REAL_FACTS)
