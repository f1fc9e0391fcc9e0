"""The schema that messages are read as."""

from __future__ import annotations

import attrs

from kafkatx.schemas.types import Dependencies, Schema


@attrs.frozen
class ReaderSchema:
    """The schema that messages are read as; picklable.

    :ivar schema: the schema; None: the one that each message was written with.
    :ivar dependencies: the schemas that it refers to.
    :ivar message: full name of the message that alone is read (Protobuf); empty: each that the schema has.
    """

    schema: Schema | None
    dependencies: Dependencies = attrs.field(factory=dict)
    message: str = ""
