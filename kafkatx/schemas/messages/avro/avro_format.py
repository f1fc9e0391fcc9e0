"""Avro's binary encoding, by fastavro.

Data of a schema that contains itself are read by fastavro's reader in Python, whose depth is limited, and
are checked before they are written: the reader and the writer in C end the process when data are nested
deeply enough.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import attrs

from kafkatx.schemas.avro.avro_engine import AvroEngine
from kafkatx.schemas.avro.avro_types import PRIMITIVES, AvroType
from kafkatx.schemas.messages.avro import shape
from kafkatx.schemas.messages.avro.fastavro_schemas import ParsedAvro, read_schema, written_schema
from kafkatx.schemas.messages.avro.quick_writer import quick_writer
from kafkatx.schemas.messages.avro.resolution import resolved
from kafkatx.schemas.messages.errors import BadPayload, BadValue
from kafkatx.schemas.messages.format import Read, Write
from kafkatx.schemas.messages.imports import Import
from kafkatx.schemas.messages.plain import plain
from kafkatx.schemas.messages.reader_schema import ReaderSchema
from kafkatx.schemas.types import Dependencies, InvalidSchema, Schema, SchemaType


class AvroFormat:
    """The format of Avro messages. Values are fastavro's; a record may be an object with its fields."""

    type = SchemaType.AVRO
    checked = True

    def schema_of(self, given: Any) -> tuple[Schema, str] | None:
        """Return the schema that an application gave; a class tells it by ``__schema__``."""
        text = given if isinstance(given, (str, Schema)) else getattr(given, "__schema__", None)
        if text is None:
            return None
        schema = text if isinstance(text, Schema) else Schema(str(text))
        # What it refers to is not known yet, and its own name does not need it.
        return schema, _name(load_json(schema.text))

    def imports(self, given: Any) -> Sequence[Import]:
        """Return nothing: a schema names its references."""
        return ()

    def writer(
        self, schema: Schema, dependencies: Dependencies, prefix: bytes, given: Any
    ) -> tuple[bytes, Write]:
        """Return a function that writes a message."""
        _check_library()
        parsed = _check(written_schema(parse(schema, dependencies)))
        root, rooted = parsed.root(), parsed.rooted
        from fastavro import schemaless_writer

        def write(value: Any) -> bytes:
            stream = BytesIO()
            stream.write(prefix)
            try:
                schemaless_writer(stream, root, rooted(value))
                return stream.getvalue()
            except Exception:
                return write_plain(value)

        def write_quickly(value: Any) -> bytes:
            try:
                return quick(value)  # type: ignore[misc]
            except Exception:
                return write(value)

        def write_plain(value: Any) -> bytes:
            """Write objects as dicts; raise BadValue if that fails as well."""
            stream = BytesIO()
            stream.write(prefix)
            try:
                schemaless_writer(stream, root, rooted(plain(value)))
            except Exception as error:  # fastavro raises many kinds of errors
                raise BadValue(f"the value does not match the schema: {described(error)}") from error
            return stream.getvalue()

        if shape.is_recursive(parsed.schema, parsed.named):
            return b"", write_plain
        quick = quick_writer(parsed.schema, parsed.named, prefix)
        return b"", write if quick is None else write_quickly

    def reader(
        self, schema: Schema, dependencies: Dependencies, target: Any, indexes: bytes | None = None
    ) -> Read:
        """Return a function that reads a payload."""
        _check_library()
        written, read_as = self._schemas(schema, dependencies, _reader_schema(target))
        root, value_of = written.root(), written.value
        reader_root = None if read_as is None else read_as.root()
        if shape.is_recursive(written.schema, written.named):
            from fastavro._read_py import schemaless_reader
        else:
            from fastavro import schemaless_reader

        def read(data: bytes, start: int) -> Any:
            stream = BytesIO(data)
            stream.seek(start)
            try:
                value = value_of(schemaless_reader(stream, root, reader_root))
            except Exception as error:  # fastavro raises many kinds of errors
                raise BadPayload(f"it does not match the schema: {described(error)}") from error
            if stream.tell() != len(data):
                raise BadPayload(
                    f"it does not match the schema: {len(data) - stream.tell()} bytes are left over"
                )
            return value

        return read

    def _schemas(
        self, schema: Schema, dependencies: Dependencies, wanted: ReaderSchema
    ) -> tuple[ParsedAvro, ParsedAvro | None]:
        writer = parse(schema, dependencies)
        if wanted.schema is None or (wanted.schema, wanted.dependencies) == (schema, dependencies):
            return _check(read_schema(writer)), None
        written, read = resolved(writer, parse(wanted.schema, wanted.dependencies))
        return _check(written), read


def _reader_schema(target: Any) -> ReaderSchema:
    if target is None or isinstance(target, ReaderSchema):
        return target or ReaderSchema(None)
    return ReaderSchema(target if isinstance(target, Schema) else Schema(str(target)))


def parse(schema: Schema, dependencies: Dependencies) -> AvroType:
    """Parse a schema, and those that it refers to.

    :raises InvalidSchema: it is not valid.
    """
    text = schema.text.strip()
    if text in PRIMITIVES:  # a bare name
        schema = attrs.evolve(schema, text=json.dumps(text))
    return AvroEngine().parse(schema, dependencies, stored=True).root


def _check(parsed: ParsedAvro) -> ParsedAvro:
    """Return a schema if data of it can be bounded, and fastavro is there.

    :raises InvalidSchema: it has an array whose size a short message can make unbounded.
    """
    items = shape.unbounded_array(parsed.schema, parsed.named)
    if items is not None:
        raise InvalidSchema(f"an array of {items!r} has items of no bytes")
    return parsed


def _check_library() -> None:
    try:
        import fastavro  # noqa: F401
    except ImportError:
        raise InvalidSchema("Avro needs fastavro: pip install 'kafkatx[avro]'") from None


def load_json(text: str) -> Any:
    """Parse JSON; the bare name of a type is taken as well.

    :raises InvalidSchema: it is something else.
    """
    if text.strip() in PRIMITIVES:
        return text.strip()
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidSchema(f"no Avro schema: it is not JSON: {described(error)}") from None
    if not isinstance(found, (str, list, dict)):
        raise InvalidSchema(f"no Avro schema: {text[:60]}")
    return found


def _name(schema: object) -> str:
    if isinstance(schema, str):
        return schema if schema in PRIMITIVES else ""
    if not isinstance(schema, dict):
        return ""
    name, space = schema.get("name"), schema.get("namespace")
    if not isinstance(name, str):
        return _name(schema.get("type"))
    return f"{space}.{name}" if "." not in name and isinstance(space, str) and space else name


def described(error: BaseException) -> str:
    """Return the kind and the message of an error, shortened, in one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__
