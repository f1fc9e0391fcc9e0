"""The errors of values and payloads that do not match their schema."""

from __future__ import annotations

from kafkatx.errors import KafkaTXError


class BadValue(KafkaTXError, ValueError):
    """A value does not match the schema that it is to be written with."""


class BadPayload(KafkaTXError, ValueError):
    """A message does not match the schema that it names."""
