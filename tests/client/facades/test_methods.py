"""The facades have all methods of the Twisted clients."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client import aio, threads
from kafkatx.client.admin import acls, admin, configs, credentials, groups, quotas, transactions
from kafkatx.client.consumer import consumer
from kafkatx.client.legacy import consumer_connector, simple_consumer
from kafkatx.client.producer import producer

PAIRS: list[tuple[str, ModuleType]] = [
    ("Producer", producer),
    ("Consumer", consumer),
    ("SimpleConsumer", simple_consumer),
    ("ConsumerConnector", consumer_connector),
    ("Admin", admin),
    ("Groups", groups),
    ("Configs", configs),
    ("Quotas", quotas),
    ("Transactions", transactions),
    ("Acls", acls),
    ("Credentials", credentials),
]
TWISTED_ONLY = {"next_delivery", "stream"}
"""What iterations are made of: the facades can be iterated over themselves."""


def public(kind: Any) -> set[str]:
    """Return the names of a class's public methods."""
    return {name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))}


class CompletenessTests(SynchronousTestCase):
    def test_methods(self) -> None:
        """Each public method of a Twisted client is there for asyncio and for threads."""
        for facade, but in ((aio, set[str]()), (threads, {"ready"})):
            for name, module in PAIRS:
                missing = public(getattr(module, name)) - public(getattr(facade, name)) - TWISTED_ONLY - but
                self.assertEqual(missing, set(), (facade.__name__, name))

    def test_parts(self) -> None:
        """An admin client has its parts in both facades."""
        for facade in (aio, threads):
            for part in ("groups", "configs", "quotas", "transactions", "acls", "credentials"):
                self.assertIsInstance(getattr(facade.Admin, part), property)

    def test_docstrings(self) -> None:
        """A method has the docstring of the Twisted client's."""
        for facade in (aio, threads):
            self.assertEqual(facade.Consumer.commit.__doc__, consumer.Consumer.commit.__doc__)
