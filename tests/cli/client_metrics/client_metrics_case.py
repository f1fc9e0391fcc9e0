"""A cluster in memory whose clients have pushed metrics, and the commands about them."""

from __future__ import annotations

from kafkatx.cli.client_metrics import client_metrics, show
from tests.blocking.fake_client_metrics import FakeClientMetrics, metric, pushed
from tests.cli.command_case import CommandCase

ID = "AAAAAAAAAAEAAAAAAAAAAA"


class ClientMetricsCase(CommandCase):
    def setUp(self) -> None:
        """Make a cluster with what a client has pushed."""
        super().setUp()
        self.cluster = FakeClientMetrics()
        values = (
            metric("org.apache.kafka.producer.b", 2.5, node="1"),
            metric("org.apache.kafka.producer.a", 7.0, is_sum=True),
        )
        self.cluster.pushed = {1: [pushed("app", *values)]}
        for module in (client_metrics, show):
            self.patch(module, "connect", lambda bootstrap, timeout: self.cluster.client())

    def metrics(self, *arguments: str, exit_code: int = 0) -> str:
        """Run a command, check its exit code, and return its output."""
        self.use_streams()
        self.assertEqual(self.run_command("client-metrics", *arguments), exit_code, self.err.text())
        return self.out.text()
