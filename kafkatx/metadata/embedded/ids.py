"""Ids as Apache Kafka writes them. Pure."""

from __future__ import annotations

import base64
import uuid


def kafka_id(number: uuid.UUID) -> str:
    """Return a UUID as Kafka writes it: 22 characters of URL-safe base64, without padding."""
    return base64.urlsafe_b64encode(number.bytes).rstrip(b"=").decode("ascii")
