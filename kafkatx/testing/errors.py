"""The errors of the test kit; each message is one sentence for people."""

from __future__ import annotations

from kafkatx.errors import KafkaTXError


class BrokerDidNotStart(KafkaTXError):
    """An embedded broker could not start; the message says why."""


class MessagesMissing(KafkaTXError):
    """A topic did not get as many messages as a test waits for in the time that the test allows."""
