"""DescribeBroker: version, clock and facts."""

from __future__ import annotations

from kafkatx import __version__
from kafkatx.machine import facts as machine
from kafkatx.wire.messages.describe_broker import DescribeBrokerRequest
from tests.broker.running import BrokerTestCase


class DescribeBrokerTests(BrokerTestCase):
    def test_facts(self) -> None:
        """A broker tells its version, its clock, and facts of process and machine."""
        self.broker.http_urls = ["http://127.0.0.1:8081", "https://127.0.0.1:8443"]
        response = self.ask(10103, 0, DescribeBrokerRequest())
        self.assertEqual((response.error_code, response.broker_id), (0, 0))
        self.assertEqual((response.broker_version, response.time_ms), (__version__, self.now_ms))
        facts = {one.name: one.value for one in response.facts}
        self.assertEqual(facts["processors"], machine.machine_facts()["processors"])
        self.assertIn(machine.OPEN_FILES_LIMIT, facts)
        self.assertEqual(facts[machine.HTTP_URL], "http://127.0.0.1:8081")
