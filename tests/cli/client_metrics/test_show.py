"""Tests of ``kafkatx client-metrics show``."""

from __future__ import annotations

import json

from tests.cli.client_metrics.client_metrics_case import ID, ClientMetricsCase


class ShowTests(ClientMetricsCase):
    def test_clients(self) -> None:
        """Without a client id each client has a line."""
        self.assertEqual(
            self.metrics("show"), f"app\t{ID}\tlibrdkafka 2.16.1\t127.0.0.1:5\tUser:ann\t1\t1.5\t2\n"
        )

    def test_values(self) -> None:
        """With a client id each value has a line, without the prefix of all names."""
        self.assertEqual(
            self.metrics("show", "app"),
            f"app\t{ID}\tproducer.a\t\t7\napp\t{ID}\tproducer.b\tnode=1\t2.5\n",
        )
        self.assertEqual(self.metrics("show", "other"), "")
        self.metrics("show", "--metrics", "producer.")
        (_, request) = self.cluster.requests[-1]
        self.assertEqual(request.metrics, ["org.apache.kafka.producer.", "producer."])

    def test_json(self) -> None:
        """An object for each client has everything."""
        found = json.loads(self.metrics("show", "--json"))
        self.assertEqual((found["client_id"], found["client_instance_id"], found["broker"]), ("app", ID, 1))
        self.assertEqual(found["labels"], {"group_id": "g"})
        self.assertEqual(
            found["metrics"][0],
            {"name": "org.apache.kafka.producer.b", "labels": {"node": "1"}, "value": 2.5, "is_sum": False},
        )

    def test_truncated(self) -> None:
        """More values than a reply holds are told of."""
        self.cluster.truncated = True
        self.metrics("show")
        self.assertIn("there are more values", self.err.text())

    def test_tables(self) -> None:
        """A person gets tables."""
        for arguments, words in ((["show"], "User:ann"), (["show", "app"], "producer.b"), (["list"], "")):
            self.use_streams(tty=True)
            self.assertEqual(self.run_command("client-metrics", *arguments), 0)
            self.assertIn(words, self.out.text())
