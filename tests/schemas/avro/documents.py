"""Avro schemas for tests, as JSON."""

from __future__ import annotations

from collections.abc import Mapping

from kafkatx.schemas.avro.avro_engine import AvroEngine, AvroSchema
from kafkatx.schemas.json_text import JSON, Object, dump
from kafkatx.schemas.types import Schema

ENGINE = AvroEngine()


def record(*fields: JSON, name: str = "r", **rest: JSON) -> Object:
    """Return a record."""
    return {"type": "record", "name": name, "fields": [*fields], **rest}


def field(name: str, type_: JSON, **rest: JSON) -> Object:
    """Return a field."""
    return {"name": name, "type": type_, **rest}


def enum(*symbols: str, name: str = "e", **rest: JSON) -> Object:
    """Return an enum."""
    return {"type": "enum", "name": name, "symbols": [*symbols], **rest}


def fixed(size: int, name: str = "f", **rest: JSON) -> Object:
    """Return a fixed."""
    return {"type": "fixed", "name": name, "size": size, **rest}


def array(items: JSON) -> Object:
    """Return an array."""
    return {"type": "array", "items": items}


def mapping(values: JSON) -> Object:
    """Return a map."""
    return {"type": "map", "values": values}


def parsed(
    document: JSON, dependencies: Mapping[str, JSON] | None = None, stored: bool = False
) -> AvroSchema:
    """Parse a schema, with those that it depends on by name."""
    needed = {name: Schema(dump(one)) for name, one in (dependencies or {}).items()}
    return ENGINE.parse(Schema(dump(document)), needed, stored=stored)
