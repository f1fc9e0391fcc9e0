"""The records of the topic ``_schemas``, as Confluent's registry writes them. Pure.

A key is JSON with its members in a fixed order, because compaction compares bytes::

    {"keytype":"SCHEMA","subject":"orders-value","version":1,"magic":1}
    {"keytype":"CONFIG","subject":null,"magic":0}

and a value is JSON, too; no value is a tombstone, and so is an empty one, which Karapace writes.
``schemaType`` of a schema is left out for AVRO. A key NOOP has no meaning for Confluent's registry, which
does not look at its value; ours keeps there the highest id that was ever given, when the schema that had it
is deleted for good::

    {"keytype":"NOOP","magic":0}    {"maxId":17}
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import TypeAlias

import attrs

from kafkatx.errors import KafkaTXError
from kafkatx.registry.contents import Content, Json, Version, digest
from kafkatx.schemas.types import Reference, Schema, SchemaType

KeyValue: TypeAlias = "tuple[bytes, bytes | None]"

MAX_ID = 2**31 - 1


class UnreadableRecord(KafkaTXError):
    """A record of the topic that is none of a registry's, or is damaged."""


@attrs.frozen
class SchemaRecord:
    """A version of a subject; ``stored`` is None where it was deleted for good."""

    subject: str
    version: int
    stored: Version | None


@attrs.frozen
class ConfigRecord:
    """The configuration of a subject, of a context, or of all (an empty *subject*); None: it has none."""

    subject: str
    config: Json


@attrs.frozen
class ModeRecord:
    """The mode of a subject, of a context, or of all (an empty *subject*); None: it has none."""

    subject: str
    mode: str | None


@attrs.frozen
class DeleteSubjectRecord:
    """The soft deletion of all versions of a subject up to one."""

    subject: str
    version: int


@attrs.frozen
class ClearSubjectRecord:
    """The deleted versions of a subject, or of all subjects, are gone."""

    subject: str


@attrs.frozen
class MaxIdRecord:
    """The highest id that was ever given."""

    max_id: int


@attrs.frozen
class OtherRecord:
    """A record that changes nothing here: of a key type that this registry does not use."""

    keytype: str


Record: TypeAlias = (
    "SchemaRecord | ConfigRecord | ModeRecord | DeleteSubjectRecord | ClearSubjectRecord | MaxIdRecord"
    " | OtherRecord"
)


# --- encoding


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


def schema_key(subject: str, version: int) -> bytes:
    """Return the key of a version."""
    return _json({"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1})


def _subject_key(keytype: str, subject: str) -> bytes:
    return _json({"keytype": keytype, "subject": subject or None, "magic": 0})


def schema_record(version: Version) -> KeyValue:
    """Return the record of a version."""
    content = version.content
    schema = content.schema
    value: dict[str, object] = {"subject": version.subject, "version": version.version, "id": content.id}
    if content.digest != digest(schema.text, schema.references, content.metadata, content.rule_set):
        value["md5"] = base64.b64encode(content.digest).decode()
    if schema.type is not SchemaType.AVRO:
        value["schemaType"] = schema.type.value
    if schema.references:
        value["references"] = [attrs.asdict(reference) for reference in schema.references]
    if content.metadata is not None:
        value["metadata"] = content.metadata
    if content.rule_set is not None:
        value["ruleSet"] = content.rule_set
    value["schema"] = schema.text
    value["deleted"] = version.deleted
    return schema_key(version.subject, version.version), _json(value)


def schema_tombstone(subject: str, version: int) -> KeyValue:
    """Return the record that removes a version for good."""
    return schema_key(subject, version), None


def config_record(subject: str, config: Json) -> KeyValue:
    """Return the record of a configuration; None removes it."""
    key = _subject_key("CONFIG", subject)
    if config is None:
        return key, None
    return key, _json({"subject": subject or None, **config} if subject else config)


def mode_record(subject: str, mode: str | None) -> KeyValue:
    """Return the record of a mode; None removes it."""
    key = _subject_key("MODE", subject)
    if mode is None:
        return key, None
    return key, _json({"subject": subject, "mode": mode} if subject else {"mode": mode})


def delete_subject_record(subject: str, version: int) -> KeyValue:
    """Return the record that deletes all versions up to one, softly."""
    return _subject_key("DELETE_SUBJECT", subject), _json({"subject": subject, "version": version})


def clear_subject_record(subject: str) -> KeyValue:
    """Return the record that forgets what is deleted of a subject."""
    return _subject_key("CLEAR_SUBJECT", subject), _json({"subject": subject} if subject else {})


def max_id_record(max_id: int) -> KeyValue:
    """Return the record that keeps the highest id that was ever given."""
    return _json({"keytype": "NOOP", "magic": 0}), _json({"maxId": max_id})


# --- decoding


def decode(key: bytes, value: bytes | None) -> Record:
    """Read a record.

    :raises UnreadableRecord: it is not JSON, or a member is missing or of another type.
    """
    value = value or None  # an empty one is Karapace's tombstone
    members = _parse(key, "key")
    keytype = members.get("keytype")
    if not isinstance(keytype, str):
        raise UnreadableRecord(f"a key without keytype: {_shown(key)}")
    if keytype == "SCHEMA":
        return _decode_schema(key, members, value)
    if keytype in ("CONFIG", "MODE", "DELETE_SUBJECT", "CLEAR_SUBJECT"):
        subject = members.get("subject")
        if subject is not None and not isinstance(subject, str):
            raise UnreadableRecord(f"a key whose subject is no text: {_shown(key)}")
        return _decode_subject(keytype, subject or "", key, value)
    if keytype == "NOOP" and value is not None:
        return _decode_noop(value)
    return OtherRecord(keytype[:40])


def _decode_schema(key: bytes, members: Mapping[str, object], value: bytes | None) -> SchemaRecord:
    subject, version = members.get("subject"), members.get("version")
    if not isinstance(subject, str) or not _is_number(version, 1) or members.get("magic") not in (0, 1):
        raise UnreadableRecord(f"a key of a schema without subject and version: {_shown(key)}")
    assert isinstance(version, int)
    if value is None:
        return SchemaRecord(subject, version, None)
    fields = _parse(value, f"value of {subject!r} version {version}")
    try:
        return SchemaRecord(subject, version, _version(subject, version, fields))
    except (ValueError, TypeError, KeyError, binascii.Error) as error:
        raise UnreadableRecord(f"the value of {subject!r} version {version}: {error}") from None


def _version(subject: str, version: int, fields: Mapping[str, object]) -> Version:
    """Read the value of a version; raises ValueError, TypeError or KeyError."""
    schema_id, text = fields["id"], fields["schema"]
    if not _is_number(schema_id, 0) or not isinstance(text, str):
        raise ValueError("id or schema is missing, or of another type")
    assert isinstance(schema_id, int)
    schema_type = fields.get("schemaType") or "AVRO"
    if not isinstance(schema_type, str):
        raise ValueError("schemaType is no text")
    schema = Schema(text, SchemaType(schema_type.upper()), references(fields.get("references")))
    metadata, rule_set = _object(fields, "metadata"), _object(fields, "ruleSet")
    md5 = fields.get("md5")
    if isinstance(md5, str):
        found = base64.b64decode(md5, validate=True)
        if len(found) != 16:
            raise ValueError("md5 does not have 16 bytes")
    else:
        found = digest(text, schema.references, metadata, rule_set)
    return Version(
        subject, version, Content(schema_id, schema, metadata, rule_set, found), bool(fields.get("deleted"))
    )


def references(value: object) -> tuple[Reference, ...]:
    """Read a list of references.

    :raises ValueError: it is none.
    """
    if value is None:
        return ()
    if not isinstance(value, list):
        raise ValueError("references is no list")
    found = []
    for item in value:
        fields = item if isinstance(item, dict) else {}
        name, subject, version = fields.get("name"), fields.get("subject"), fields.get("version")
        if not isinstance(name, str) or not isinstance(subject, str) or not _is_number(version, -1):
            raise ValueError("a reference needs name, subject and version")
        assert isinstance(version, int)
        found.append(Reference(name, subject, version))
    return tuple(found)


def _decode_subject(keytype: str, subject: str, key: bytes, value: bytes | None) -> Record:
    fields = None if value is None else _parse(value, f"value of {_shown(key)}")
    if keytype == "CONFIG":
        config = None if fields is None else {name: fields[name] for name in fields if name != "subject"}
        return ConfigRecord(subject, config)
    if keytype == "MODE":
        mode = None if fields is None else fields.get("mode")
        if mode is not None and not isinstance(mode, str):
            raise UnreadableRecord(f"a mode that is no text: {_shown(key)}")
        return ModeRecord(subject, mode)
    if fields is None:
        return OtherRecord(keytype)
    if keytype == "CLEAR_SUBJECT":
        return ClearSubjectRecord(subject)
    version = fields.get("version")
    if not _is_number(version, 0):
        raise UnreadableRecord(f"a deletion without a version: {_shown(key)}")
    assert isinstance(version, int)
    return DeleteSubjectRecord(subject, version)


def _decode_noop(value: bytes) -> Record:
    try:
        max_id = _parse(value, "value of NOOP").get("maxId")
    except UnreadableRecord:
        max_id = None  # Confluent's registry does not look at it, either
    if _is_number(max_id, 0) and isinstance(max_id, int):
        return MaxIdRecord(max_id)
    return OtherRecord("NOOP")


def _is_number(value: object, low: int) -> bool:
    return type(value) is int and low <= value <= MAX_ID


def _object(fields: Mapping[str, object], name: str) -> Json:
    value = fields.get(name)
    if value is not None and not isinstance(value, dict):
        raise ValueError(f"{name} is no object")
    return value


def _parse(data: bytes, what: str) -> Mapping[str, object]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise UnreadableRecord(f"a {what} that is not JSON: {_shown(data)}") from None
    if not isinstance(found, dict):
        raise UnreadableRecord(f"a {what} that is no object: {_shown(data)}")
    return found


def _shown(data: bytes) -> str:
    return repr(data[:60].decode("utf-8", "replace"))
