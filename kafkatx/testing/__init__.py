"""For tests: a real broker to embed, and the contracts that plugins must keep."""

from kafkatx.testing.embedded import BrokerDidNotStart, EmbeddedBroker

__all__ = ["BrokerDidNotStart", "EmbeddedBroker"]
