"""The settings that handlers of the API use. Pure."""

from __future__ import annotations

import attrs


@attrs.frozen
class ApiSettings:
    """Settings of the API.

    :ivar max_schema_bytes: the size of a schema's text.
    :ivar level: the compatibility level where none is configured.
    """

    max_schema_bytes: int = 1_000_000
    level: str = "BACKWARD"
