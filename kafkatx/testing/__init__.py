"""The test kit: a real broker to embed, and the contracts that plugins must keep.

Docs: ``docs/embedding.md``. The names below are imported on first use: pytest imports this package at every
start, and should not import Twisted for tests that need no broker.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkatx.testing.cluster import AsyncCluster, EmbeddedCluster
    from kafkatx.testing.embedded import AsyncBroker, EmbeddedBroker
    from kafkatx.testing.errors import BrokerDidNotStart, MessagesMissing
    from kafkatx.testing.messages import Message

__all__ = [
    "AsyncBroker",
    "AsyncCluster",
    "BrokerDidNotStart",
    "EmbeddedBroker",
    "EmbeddedCluster",
    "Message",
    "MessagesMissing",
]

_MODULES = {
    "AsyncBroker": "embedded",
    "AsyncCluster": "cluster",
    "BrokerDidNotStart": "errors",
    "EmbeddedBroker": "embedded",
    "EmbeddedCluster": "cluster",
    "Message": "messages",
    "MessagesMissing": "errors",
}


def __getattr__(name: str) -> object:
    """Import the module of a public name."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return found
