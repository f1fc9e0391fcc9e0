"""The quota of each client, and the bounded memory for the accounts of clients."""

from __future__ import annotations

from collections.abc import Mapping

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.quotas import entities
from kafkatx.broker.quotas.entities import Accounts, applicable
from kafkatx.net.admission.rates import Rate, Window
from kafkatx.types import QuotaEntity

WINDOW = Window(samples=11, sample_ms=1000)
PRINCIPAL = "User:CN=ann,O=x"
USER, ANY_USER = ("user", "CN=ann,O=x"), ("user", None)
CLIENT, ANY_CLIENT = ("client-id", "c"), ("client-id", None)

PRECEDENCE: tuple[tuple[QuotaEntity, tuple[str, str]], ...] = (
    ((CLIENT, USER), ("CN=ann,O=x", "c")),
    ((ANY_CLIENT, USER), ("CN=ann,O=x", "c")),
    ((USER,), ("CN=ann,O=x", "")),
    ((CLIENT, ANY_USER), ("CN=ann,O=x", "c")),
    ((ANY_CLIENT, ANY_USER), ("CN=ann,O=x", "c")),
    ((ANY_USER,), ("CN=ann,O=x", "")),
    ((CLIENT,), ("", "c")),
    ((ANY_CLIENT,), ("", "c")),
)
"""The entities in the order of Kafka's documentation, and the key under which each keeps its account."""


class ApplicableTests(SynchronousTestCase):
    def test_precedence(self) -> None:
        """The first quota in Kafka's order of precedence applies to a client, or else the next."""
        for first in range(len(PRECEDENCE)):
            limits = {entity: 100.0 + n for n, (entity, _) in enumerate(PRECEDENCE) if n >= first}
            self.assertEqual(applicable(limits, PRINCIPAL, "c"), (100.0 + first, PRECEDENCE[first][1]))

    def test_other_names(self) -> None:
        """The quotas of other users, other clients and addresses do not apply."""
        limits: Mapping[QuotaEntity, float] = {
            (("user", "ann"),): 1,
            (("client-id", "d"),): 1,
            (("client-id", "c"), ("user", "bob")): 1,
            (("ip", "192.0.2.1"),): 1,
        }
        self.assertEqual(applicable(limits, PRINCIPAL, "c"), (float("inf"), None))

    def test_nobody(self) -> None:
        """A peer that is not authenticated is Kafka's user ANONYMOUS."""
        limits: Mapping[QuotaEntity, float] = {(("user", "ANONYMOUS"),): 5.0}
        self.assertEqual(applicable(limits, "User:ANONYMOUS", "c"), (5.0, ("ANONYMOUS", "")))

    def test_no_client_id(self) -> None:
        """A client without a client id has the quota of the default client id."""
        for client_id in (None, ""):
            self.assertEqual(applicable({(ANY_CLIENT,): 5.0}, PRINCIPAL, client_id), (5.0, ("", "")))


class AccountsTests(SynchronousTestCase):
    def accounts(self, limits: Mapping[QuotaEntity, float]) -> Accounts[Rate]:
        """Return accounts that are rates, under some limits."""
        return Accounts(limits, lambda: Rate(WINDOW))

    def use(self, accounts: Accounts[Rate], client_id: str, now_ms: int = 0, user: str = "ann") -> Rate:
        """Count a byte in the account of a client, and return it."""
        found = accounts.find(f"User:{user}", client_id, now_ms)
        assert found is not None
        found[1].add(1, now_ms)
        return found[1]

    def test_sharing(self) -> None:
        """All clients of a user share the user's account; a client id's default makes one for each."""
        of_user = self.accounts({(ANY_USER,): 1000})
        self.assertIs(self.use(of_user, "c"), self.use(of_user, "d"))
        self.assertIsNot(self.use(of_user, "c"), self.use(of_user, "c", user="bob"))
        of_each = self.accounts({(ANY_CLIENT,): 1000})
        self.assertIs(self.use(of_each, "c"), self.use(of_each, "c", user="bob"))
        self.assertIsNot(self.use(of_each, "c"), self.use(of_each, "d"))

    def test_no_quota(self) -> None:
        """A client without a quota has no account."""
        accounts = self.accounts({(CLIENT,): 1000})
        self.assertIsNone(accounts.find(PRINCIPAL, "d", 0))
        self.assertEqual(len(accounts._accounts), 0)

    def test_made_up_client_ids(self) -> None:
        """Clients that are silent for a while are forgotten."""
        accounts = self.accounts({(ANY_CLIENT,): 1000})
        for number in range(100):
            self.use(accounts, f"c{number}")
        self.use(accounts, "c7", 6000)
        self.use(accounts, "new", 12_000)
        self.assertEqual(list(accounts._accounts), [("", "c7"), ("", "new")])

    def test_many_at_once(self) -> None:
        """The client that was silent longest is forgotten when there are too many."""
        self.patch(entities, "MAX_CLIENTS", 3)
        accounts = self.accounts({(ANY_CLIENT,): 1000})
        for name in ("a", "b", "c", "a", "d", "e"):
            self.use(accounts, name)
        self.assertEqual(list(accounts._accounts), [("", "a"), ("", "d"), ("", "e")])

    def test_long_names(self) -> None:
        """Long names of clients and users are told apart, but not kept in memory."""
        accounts = self.accounts({(ANY_CLIENT, ANY_USER): 1000})
        long = "x" * 30_000
        first = self.use(accounts, long, user=long)
        self.assertIsNot(self.use(accounts, long + "y", user=long), first)
        self.assertIsNot(self.use(accounts, long, user=long + "y"), first)
        self.assertIs(self.use(accounts, long, user=long), first)
        self.assertLess(max(len(name) for key in accounts._accounts for name in key), 101)
