"""The engine of Avro. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from kafkatx.schemas.avro.avro_types import AvroType, Record
from kafkatx.schemas.avro.canonical import canonical_text
from kafkatx.schemas.avro.comparison import incompatibilities
from kafkatx.schemas.avro.defaults import check_defaults
from kafkatx.schemas.avro.parser import Parser
from kafkatx.schemas.json_text import JSON, load
from kafkatx.schemas.limits import check_sizes
from kafkatx.schemas.types import Dependencies, InvalidSchema, ParsedSchema, Schema, SchemaType


@attrs.frozen(eq=False)
class AvroSchema:
    """An Avro schema.

    :ivar root: its type.
    :ivar documents: the JSON of the schemas that it depends on, and its own as the last: a library that
        parses them in turn, with one dictionary of names, understands it.
    """

    schema: Schema
    canonical: str
    root: AvroType
    documents: tuple[JSON, ...]

    @property
    def text(self) -> str:
        """The text as it was sent."""
        return self.schema.text

    @property
    def normalized(self) -> str:
        """The canonical text: Avro schemas that mean the same have the same."""
        return self.canonical

    @property
    def name(self) -> str:
        """The full name of the record; empty for other types."""
        return self.root.name if isinstance(self.root, Record) else ""


class AvroEngine:
    """Parses and compares Avro schemas."""

    def parse(self, schema: Schema, dependencies: Dependencies, *, stored: bool = False) -> AvroSchema:
        """Parse a schema, and those that it depends on.

        :raises InvalidSchema: one of them is not valid, or is beyond a limit.
        """
        check_sizes(schema, dependencies)
        parser = Parser(strict=False)
        documents: list[JSON] = []
        for name, dependency in dependencies.items():
            documents.append(_parse_dependency(parser, name, dependency))
        known = frozenset(parser.names)
        parser.records.clear()
        parser.strict = not stored
        documents.append(load(schema.text))
        root = parser.parse(documents[-1])
        if not stored:
            check_defaults(parser.records)
        return AvroSchema(schema, canonical_text(root, known), root, tuple(documents))

    def incompatibilities(self, reader: ParsedSchema, writer: ParsedSchema) -> Sequence[str]:
        """Return why data of *writer* cannot be read with *reader*."""
        if not isinstance(reader, AvroSchema) or not isinstance(writer, AvroSchema):
            raise TypeError("both schemas must be of Avro")
        return incompatibilities(reader.root, writer.root)


def _parse_dependency(parser: Parser, name: str, dependency: Schema) -> JSON:
    """Add the types of a referenced schema to the names of *parser*.

    :raises InvalidSchema: it is not valid, or no Avro.
    """
    if dependency.type is not SchemaType.AVRO:
        raise InvalidSchema(f"the referenced schema {name!r} is of type {dependency.type.value}, not AVRO")
    document = load(dependency.text, f"the referenced schema {name!r}")
    try:
        parser.parse(document)
    except InvalidSchema as error:
        raise InvalidSchema(f"the referenced schema {name!r}: {error}") from error
    return document
