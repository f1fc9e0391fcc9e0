"""Objects of an application as plain values: dataclasses, attrs classes and Pydantic models become dicts."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

_PLAIN = frozenset((str, int, float, bool, bytes, type(None)))
_DEEPEST = 200


def plain(value: Any, depth: int = 0) -> Any:
    """Return a value with every object in it as a dict of its fields; the same value if it has none.

    :raises ValueError: it is nested too deeply, or contains itself.
    """
    kind = value.__class__
    if kind in _PLAIN:
        return value
    if depth > _DEEPEST:
        raise ValueError(f"the value is nested more than {_DEEPEST} levels deep")
    depth += 1
    if isinstance(value, Mapping):
        return {key: plain(item, depth) for key, item in value.items()}
    if kind is list:
        return [plain(item, depth) for item in value]
    if kind is tuple:  # in Avro, the branch of a union and its value
        return tuple(plain(item, depth) for item in value)
    names = field_names(kind)
    if names is None:
        return value
    return {name: plain(getattr(value, name), depth) for name in names}


@lru_cache(maxsize=1024)
def field_names(kind: type) -> tuple[str, ...] | None:
    """Return the names of the fields of a class; None if it is none with named fields."""
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    attributes = getattr(kind, "__attrs_attrs__", None)
    if attributes is not None:
        return tuple(attribute.name for attribute in attributes)
    models = getattr(kind, "model_fields", None)
    return tuple(models) if isinstance(models, Mapping) else None
