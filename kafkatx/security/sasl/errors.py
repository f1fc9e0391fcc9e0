"""The error of a SASL exchange."""

from __future__ import annotations

from kafkatx.errors import KafkaTXError


class SaslError(KafkaTXError):
    """A token is malformed, or does not prove what it has to; the message has no secret in it."""
