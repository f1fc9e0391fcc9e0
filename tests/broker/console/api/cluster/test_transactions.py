"""Transactions."""

from __future__ import annotations

from typing import Any

from kafkatx.net.requests import Session
from kafkatx.records.builder import build_values
from tests.broker.authorization.authorized import ADMIN, TOPIC, TRANSACTION
from tests.broker.console.authorized import AuthorizedConsoleCase


class TransactionsTests(AuthorizedConsoleCase):
    session = Session(ADMIN)

    def item(self) -> dict[str, Any]:
        """Return the transactional id."""
        found = self.get("/transactions")
        self.assertEqual(found["total"], 1)
        item: dict[str, Any] = found["items"][0]
        return item

    def test_list(self) -> None:
        """A transactional id is told with the state of its transaction."""
        producer_id, epoch = self.producer
        self.assertEqual(
            self.item(),
            {
                "transactionalId": TRANSACTION,
                "coordinator": 0,
                "state": "Ongoing",
                "producerId": str(producer_id),
                "producerEpoch": epoch,
                "startMs": self.now_ms,
                "timeoutMs": 60_000,
                "partitions": [{"topic": TOPIC, "partition": 1}],
            },
        )
        for query, total in (("search=TX", 1), ("search=no", 0), ("sort=-startMs", 1), ("sort=state", 1)):
            self.assertEqual(self.get(f"/transactions?{query}")["total"], total)

    def test_abort(self) -> None:
        """A transaction is aborted by force, if its producer is still the one that was listed."""
        producer_id, epoch = self.producer
        body = {"transactionalId": TRANSACTION, "producerId": str(producer_id), "producerEpoch": epoch}
        found = self.change("POST", "/transactions/abort", {**body, "producerEpoch": epoch + 5}, 409)
        self.assertEqual(self.refused(found), "INVALID_PRODUCER_EPOCH")
        self.assertEqual(self.item()["state"], "Ongoing")
        self.change("POST", "/transactions/abort", body)
        self.assertEqual(self.item()["state"], "Empty")
        told = self.get("/actions")["items"][0]
        self.assertEqual((told["action"], told["resource"]), ("abort transaction", "transactional id tx"))
        self.refused(self.change("POST", "/transactions/abort", {"transactionalId": "no"}, 404))
        self.refused(self.change("POST", "/transactions/abort", {}, 400))

    def test_hanging(self) -> None:
        """A transaction that no coordinator knows is ended in its partition."""
        self.use(ADMIN)
        producer_id, epoch = self.producer
        partition = self.broker.topics.of(TOPIC)[1]
        records = build_values(
            (b"x",),
            self.now_ms,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=0,
            transactional=True,
        )
        self.assertEqual(
            self.produce(records, topic=TOPIC, partition=1, transactional_id=TRANSACTION).error_code, 0
        )
        self.assertEqual((partition.high_watermark, partition.last_stable_offset), (1, 0))
        (listed,) = self.get(f"/topics/{TOPIC}/producers")["items"]
        self.assertEqual(listed["transactionStartOffset"], "0")
        body = {"topic": TOPIC, "partition": 1, "producerId": producer_id, "producerEpoch": epoch}
        self.change("POST", "/transactions/abort", body)
        self.assertEqual(partition.last_stable_offset, 2)
        for wrong, status in (({"topic": "no"}, 404), ({"partition": 99}, 404), ({"producerId": -1}, 400)):
            self.refused(self.change("POST", "/transactions/abort", {**body, **wrong}, status))
