"""The content of a schema id: a schema with its metadata and rules, and its digest. Pure."""

from __future__ import annotations

import hashlib
import json
import struct
import uuid
from collections.abc import Iterable, Mapping
from typing import TypeAlias

import attrs

from kafkatx.schemas.types import Reference, Schema

Json: TypeAlias = "Mapping[str, object] | None"
"""An object as JSON has it, kept as it was sent; None if there is none."""


@attrs.frozen
class Content:
    """A schema under an id. Its fields never change.

    :ivar digest: MD5 of the schema, 16 bytes: :func:`digest`.
    """

    id: int
    schema: Schema
    metadata: Json
    rule_set: Json
    digest: bytes

    @property
    def guid(self) -> str:
        """The digest as a UUID: the same in every registry that has this schema."""
        return str(uuid.UUID(bytes=self.digest))

    def is_same(self, other: Content) -> bool:
        """Return True if another content says the same, by whatever id."""
        return (self.schema, self.metadata, self.rule_set) == (other.schema, other.metadata, other.rule_set)


@attrs.frozen
class Version:
    """A version of a subject."""

    subject: str
    version: int
    content: Content
    deleted: bool = False


def digest(text: str, references: Iterable[Reference], metadata: Json, rule_set: Json) -> bytes:
    """Return the MD5 of a schema as Confluent's ``MD5.ofSchema`` computes it.

    It is of the text, then of name, subject and version (i32) of each reference, then of a byte 1 and the
    strings of the metadata, and of a byte 1 and those of the rules.
    """
    md5 = hashlib.md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False)
    for reference in references:
        md5.update(reference.name.encode("utf-8", "surrogatepass"))
        md5.update(reference.subject.encode("utf-8", "surrogatepass"))
        md5.update(struct.pack(">i", reference.version))
    if metadata is not None:
        md5.update(b"\x01")
        for part in _metadata_strings(metadata):
            md5.update(part.encode("utf-8", "surrogatepass"))
    if rule_set is not None:
        md5.update(b"\x01")
        for part in _rule_strings(rule_set):
            md5.update(part.encode("utf-8", "surrogatepass"))
    return md5.digest()


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _pairs(value: object) -> Iterable[str]:
    for name, item in sorted(_object(value).items()):
        yield name
        yield _text(item)


def _metadata_strings(metadata: Mapping[str, object]) -> Iterable[str]:
    for name, tags in sorted(_object(metadata.get("tags")).items()):
        yield name
        yield from sorted(map(_text, _list(tags)))
    yield from _pairs(metadata.get("properties"))
    yield from sorted(map(_text, _list(metadata.get("sensitive"))))


def _rule_strings(rule_set: Mapping[str, object]) -> Iterable[str]:
    for group in ("migrationRules", "domainRules", "encodingRules"):
        for rule in map(_object, _list(rule_set.get(group))):
            for field in ("name", "doc", "kind", "mode", "type"):
                if rule.get(field) is not None:
                    yield _text(rule[field])
            yield from sorted(map(_text, _list(rule.get("tags"))))
            yield from _pairs(rule.get("params"))
            for field in ("expr", "onSuccess", "onFailure"):
                if rule.get(field) is not None:
                    yield _text(rule[field])
            if rule.get("disabled") is True:
                yield "\x01"
    if rule_set.get("enableAt") is not None:
        yield _text(rule_set["enableAt"])
