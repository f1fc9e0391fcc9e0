"""Values of schemas, and the interface of the languages that they are written in. Pure.

A schema registry stores texts. A *schema engine* understands the texts of one language; the registry, the
serializers of clients and the ingestion use engines through :class:`SchemaEngine` alone.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Protocol

import attrs

from kafkatx.errors import KafkaTXError


class SchemaType(enum.Enum):
    """The language of a schema, by the name that Confluent's registry gives it (``schemaType``)."""

    AVRO = "AVRO"
    JSON = "JSON"
    PROTOBUF = "PROTOBUF"


class InvalidSchema(KafkaTXError):
    """A text is no schema of its language, or is beyond the limits; the message says what and where."""


@attrs.frozen
class Reference:
    """A schema that another one refers to.

    :ivar name: how the referring text names it: a full name in Avro, a URL in JSON Schema, an import's path
        in Protobuf.
    :ivar subject: the subject under which it is registered, with the *version* there.
    """

    name: str
    subject: str
    version: int


@attrs.frozen
class Schema:
    """A schema as it was sent.

    :ivar text: the text, byte for byte.
    """

    text: str
    type: SchemaType = SchemaType.AVRO
    references: tuple[Reference, ...] = ()


Dependencies = Mapping[str, Schema]
"""The schemas that another one needs, also indirectly, by the name in its text; each after those that it
needs itself."""


class ParsedSchema(Protocol):
    """A schema that an engine has understood. It does not change, and may be used by many threads."""

    @property
    def schema(self) -> Schema:
        """The schema as it was sent."""

    @property
    def text(self) -> str:
        """The text that a registry stores: as it was sent, unless that is bytes for a machine."""

    @property
    def canonical(self) -> str:
        """A text that is equal for schemas that differ in nothing but their layout (blanks, key order)."""

    @property
    def normalized(self) -> str:
        """The text that ``normalize=true`` stores: also without other differences that mean nothing."""

    @property
    def name(self) -> str:
        """The full name of the record or first message, or the title, for subjects by record; or empty."""


class SchemaEngine(Protocol):
    """The engine of one schema language. Both methods may take long: they are called in a worker."""

    def parse(self, schema: Schema, dependencies: Dependencies, *, stored: bool = False) -> ParsedSchema:
        """Parse a schema.

        :param stored: True for a schema that a registry has accepted already: rules that only new schemas
            must keep are not checked (Avro: names, and defaults of the right type).
        :raises InvalidSchema: it is not valid, too large, too deep, or refers to what is not there.
        """

    def incompatibilities(self, reader: ParsedSchema, writer: ParsedSchema) -> Sequence[str]:
        """Return why data of *writer* cannot be read with *reader*, in words; nothing if it can.

        Both were parsed by this engine.
        """
