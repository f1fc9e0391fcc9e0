"""The engine of JSON Schema. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from kafkatx.schemas.json_schema.comparison import incompatibilities
from kafkatx.schemas.json_schema.document import Document
from kafkatx.schemas.json_schema.shapes import Shapes
from kafkatx.schemas.json_text import JSON, dump_sorted, load
from kafkatx.schemas.limits import check_sizes
from kafkatx.schemas.types import Dependencies, InvalidSchema, ParsedSchema, Schema, SchemaType


@attrs.frozen(eq=False)
class JsonSchema:
    """A JSON schema.

    :ivar root: its JSON.
    :ivar dependencies: the JSON of the schemas that it refers to, by name: relative URLs, most often.
    :ivar document: its references, resolved.
    """

    schema: Schema
    canonical: str
    root: JSON
    dependencies: Mapping[str, JSON]
    document: Document

    @property
    def text(self) -> str:
        """The text as it was sent."""
        return self.schema.text

    @property
    def normalized(self) -> str:
        """The canonical text: the same JSON with its keys in order."""
        return self.canonical

    @property
    def name(self) -> str:
        """The title, as Confluent's subjects by record have it; empty if there is none."""
        title = self.root.get("title") if isinstance(self.root, dict) else None
        return title if isinstance(title, str) else ""


class JsonSchemaEngine:
    """Parses and compares JSON schemas."""

    def parse(self, schema: Schema, dependencies: Dependencies, *, stored: bool = False) -> JsonSchema:
        """Parse a schema, and those that it depends on.

        :raises InvalidSchema: one of them is not valid, or is beyond a limit.
        """
        check_sizes(schema, dependencies)
        needed = {name: _load_dependency(name, dependency) for name, dependency in dependencies.items()}
        root = load(schema.text)
        return JsonSchema(schema, dump_sorted(root), root, needed, Document(root, needed))

    def incompatibilities(self, reader: ParsedSchema, writer: ParsedSchema) -> Sequence[str]:
        """Return why data of *writer* may not fit *reader*."""
        if not isinstance(reader, JsonSchema) or not isinstance(writer, JsonSchema):
            raise TypeError("both schemas must be of JSON Schema")
        return incompatibilities(Shapes(reader.document).root, Shapes(writer.document).root)


def _load_dependency(name: str, dependency: Schema) -> JSON:
    if dependency.type is not SchemaType.JSON:
        raise InvalidSchema(f"the referenced schema {name!r} is of type {dependency.type.value}, not JSON")
    return load(dependency.text, f"the referenced schema {name!r}")
