"""One row of the table of verdicts."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from kafkatx.schemas.compatibility import CompatibilityLevel, check
from kafkatx.schemas.engines import engine
from kafkatx.schemas.types import Schema, SchemaType


@attrs.frozen
class Case:
    """A new schema and those before it, with the verdict of Confluent's public tests on such a pair.

    :ivar group: the kind of change, as the documentation groups them.
    :ivar change: the change from the old schema to the new one, in words.
    :ivar previous: the old schemas, the latest first.
    :ivar compatible: the verdict of Confluent's registry at *level*.
    :ivar difference: why ours is the opposite; empty if it is not.
    :ivar references: texts that the schemas refer to, by name.
    """

    type: SchemaType
    group: str
    change: str
    new: str
    previous: tuple[str, ...]
    compatible: bool
    level: CompatibilityLevel = CompatibilityLevel.BACKWARD
    difference: str = ""
    references: Mapping[str, str] = attrs.field(factory=dict)

    def verdict(self) -> bool:
        """Return our verdict."""
        ours = engine(self.type)
        dependencies = {name: Schema(text, self.type) for name, text in self.references.items()}
        new, *previous = (
            ours.parse(Schema(text, self.type), dependencies, stored=True)
            for text in (self.new, *self.previous)
        )
        return not check(self.level, new, previous)
