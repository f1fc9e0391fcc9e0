"""The quotas of a client, from the accounts of real ones."""

from __future__ import annotations

from kafkatx.broker.explanations.quotas import quotas_of
from kafkatx.types import QuotaEntity
from tests.broker.running import BrokerTestCase


class QuotasTests(BrokerTestCase):
    def setUp(self) -> None:
        """Set quotas of a client id, a user and the default client id."""
        super().setUp()
        self.successResultOf(
            self.broker.metadata.alter_client_quotas(
                {
                    (("client-id", "app"),): {"producer_byte_rate": 1000.0},
                    (("client-id", None),): {"producer_byte_rate": 5000.0, "request_percentage": 50.0},
                    (("user", "ann"),): {"consumer_byte_rate": 200.0},
                }
            )
        )

    def test_of_a_client_id(self) -> None:
        """A client that is above its quota has it with rate and throttle time; another one its own."""
        producer = self.broker.quotas.producer
        assert producer is not None
        producer.charge("User:bob", "app", 100_000)
        producer.charge("User:bob", "other", 100)
        (found,) = quotas_of(self.broker.quotas, "app", ())
        self.assertEqual((found.kind, found.client_id, found.limit), ("produce", "app", 1000.0))
        self.assertGreater(found.throttle_ms, 0)
        self.assertGreater(found.rate, 1000)
        (other,) = quotas_of(self.broker.quotas, "other", ())
        self.assertEqual((other.limit, other.throttle_ms), (5000.0, 0))

    def test_of_a_user(self) -> None:
        """The quota of a user counts for a client that is known to come as that user."""
        consumer = self.broker.quotas.consumer
        assert consumer is not None
        consumer.charge("User:ann", "app", 100_000)
        self.assertEqual(quotas_of(self.broker.quotas, "app", ()), ())
        (found,) = quotas_of(self.broker.quotas, "app", ["User:ann"])
        self.assertEqual((found.kind, found.user, found.client_id, found.limit), ("fetch", "ann", "", 200.0))

    def test_unused(self) -> None:
        """A client that has used nothing has no quota here, and gets no account."""
        self.assertEqual(quotas_of(self.broker.quotas, "app", ["User:ann"]), ())
        assert self.broker.quotas.producer is not None
        self.assertEqual([*self.broker.quotas.producer.accounts.used("app", ())], [])

    def test_removed(self) -> None:
        """An account whose quota was removed is left out."""
        producer = self.broker.quotas.producer
        assert producer is not None
        producer.charge("User:bob", "app", 100_000)
        changes: dict[QuotaEntity, dict[str, float | None]] = {(("user", "x"),): {"producer_byte_rate": 1.0}}
        for name in ("app", None):
            changes[(("client-id", name),)] = {"producer_byte_rate": None}
        self.successResultOf(self.broker.metadata.alter_client_quotas(changes))
        self.assertEqual(quotas_of(self.broker.quotas, "app", ()), ())
