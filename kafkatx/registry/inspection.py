"""Inspections: the part of a command that needs an engine of a schema language, and may take long. Pure.

A command gives an :class:`Inspection`, which carries every text it needs, and goes on with the
:class:`Inspected`. Both are values that JSON can carry to another process.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import attrs

from kafkatx.errors import KafkaTXError
from kafkatx.schemas.compatibility import CompatibilityLevel, check
from kafkatx.schemas.types import InvalidSchema, ParsedSchema, Reference, Schema, SchemaEngine, SchemaType

FindEngine = Callable[[SchemaType], SchemaEngine]
"""Returns the engine of a type; raises KafkaTXError if its library is not installed."""


@attrs.frozen
class Source:
    """A schema with all that it refers to.

    :ivar dependencies: the referred schemas with their names, each after those that it needs itself.
    :ivar label: how messages call it, ``version 3`` for example.
    """

    schema: Schema
    dependencies: tuple[tuple[str, Schema], ...] = ()
    label: str = ""


@attrs.frozen
class Inspection:
    """The questions of a command to an engine.

    :ivar previous: the schemas that *new* is checked against by *level*, the latest first.
    :ivar twins: schemas that may be the same but for their layout.
    :ivar lenient: True if *new* need not keep the rules for new schemas: it is looked up, or imported.
    :ivar serialized: True if only the form for machines is asked for, of Protobuf.
    """

    new: Source
    normalize: bool = False
    level: CompatibilityLevel = CompatibilityLevel.NONE
    previous: tuple[Source, ...] = ()
    twins: tuple[Source, ...] = ()
    lenient: bool = False
    serialized: bool = False


@attrs.frozen
class Inspected:
    """The answer.

    :ivar text: the text to store: as it was sent, or normalized; a descriptor of Protobuf as text. Or the
        serialized form.
    :ivar canonical: the text by which equal schemas are found.
    :ivar sorted_text: the text that Karapace stores for an equal schema: by it those that it has written are
        found, whose records have no digest.
    :ivar reasons: why the schema breaks the level, in words.
    :ivar twin: the position among the twins of the first that is the same; None: none is.
    """

    text: str
    canonical: str
    reasons: tuple[str, ...] = ()
    twin: int | None = None
    sorted_text: str = ""


def inspect(job: Inspection, find_engine: FindEngine) -> Inspected:
    """Make an inspection.

    :raises InvalidSchema: the new schema, or one that it refers to, is not valid.
    :raises KafkaTXError: the engine is not there.
    """
    if job.serialized:
        return _serialized(job.new, find_engine)
    parsed = _parse(job.new, find_engine, job.lenient)
    if job.normalize and parsed.normalized != parsed.schema.text:
        schema = attrs.evolve(job.new.schema, text=parsed.normalized)
        parsed = _parse(attrs.evolve(job.new, schema=schema), find_engine, job.lenient)
    reasons = _reasons(job, parsed, find_engine)
    twin = None if reasons else _twin(job, parsed, find_engine)
    return Inspected(parsed.text, parsed.canonical, reasons, twin, _sorted_text(parsed.schema))


def _serialized(source: Source, find_engine: FindEngine) -> Inspected:
    """Return the form for machines; that of a language without one is its text."""
    form = getattr(find_engine(source.schema.type), "serialized", None)
    text = source.schema.text if form is None else form(source.schema, dict(source.dependencies))
    return Inspected(text, "")


def _sorted_text(schema: Schema) -> str:
    if schema.type is SchemaType.PROTOBUF:
        return schema.text
    try:
        return json.dumps(json.loads(schema.text), sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError):
        return schema.text  # of an older registry


def _parse(source: Source, find_engine: FindEngine, stored: bool = True) -> ParsedSchema:
    return find_engine(source.schema.type).parse(source.schema, dict(source.dependencies), stored=stored)


def _reasons(job: Inspection, parsed: ParsedSchema, find_engine: FindEngine) -> tuple[str, ...]:
    if job.level is CompatibilityLevel.NONE:
        return ()
    previous, reasons = [], []
    for source in job.previous if job.level.transitive else job.previous[:1]:
        try:
            previous.append((_parse(source, find_engine), source.label))
        except InvalidSchema as error:
            reasons.append(f"{source.label} cannot be read, so that nothing can be compared with it: {error}")
    for found in check(job.level, parsed, [one for one, _ in previous]):
        reasons.append(f"{previous[found.position][1]}: {found}")
    return tuple(reasons)


def _twin(job: Inspection, parsed: ParsedSchema, find_engine: FindEngine) -> int | None:
    for position, source in enumerate(job.twins):
        try:
            if _parse(source, find_engine).canonical == parsed.canonical:
                return position
        except InvalidSchema:
            continue
    return None


# --- as JSON


def _encode_schema(schema: Schema) -> list[object]:
    references = [[one.name, one.subject, one.version] for one in schema.references]
    return [schema.text, schema.type.value, references]


def _decode_schema(fields: Sequence[object]) -> Schema:
    text, kind, references = fields
    assert isinstance(text, str) and isinstance(references, list)
    return Schema(text, SchemaType(kind), tuple(Reference(*reference) for reference in references))


def _encode_source(source: Source) -> list[object]:
    dependencies = [[name, _encode_schema(schema)] for name, schema in source.dependencies]
    return [_encode_schema(source.schema), dependencies, source.label]


def _decode_source(fields: list[object]) -> Source:
    schema, dependencies, label = fields
    assert isinstance(schema, list) and isinstance(dependencies, list) and isinstance(label, str)
    return Source(
        _decode_schema(schema), tuple((name, _decode_schema(one)) for name, one in dependencies), label
    )


def encode_inspection(job: Inspection) -> bytes:
    """Encode an inspection as a line of JSON."""
    fields = {
        "new": _encode_source(job.new),
        "normalize": job.normalize,
        "level": job.level.value,
        "previous": [_encode_source(source) for source in job.previous],
        "twins": [_encode_source(source) for source in job.twins],
        "lenient": job.lenient,
        "serialized": job.serialized,
    }
    return json.dumps(fields).encode() + b"\n"


def decode_inspection(line: bytes) -> Inspection:
    """Decode a line of :func:`encode_inspection`."""
    fields = json.loads(line)
    return Inspection(
        _decode_source(fields["new"]),
        fields["normalize"],
        CompatibilityLevel(fields["level"]),
        tuple(map(_decode_source, fields["previous"])),
        tuple(map(_decode_source, fields["twins"])),
        fields["lenient"],
        fields["serialized"],
    )


def encode_inspected(result: Inspected | KafkaTXError) -> bytes:
    """Encode an answer, or the error of an inspection, as a line of JSON."""
    if isinstance(result, KafkaTXError):
        return json.dumps({"error": str(result)}).encode() + b"\n"
    return json.dumps(attrs.asdict(result)).encode() + b"\n"


def decode_inspected(line: bytes) -> Inspected:
    """Decode a line of :func:`encode_inspected`.

    :raises InvalidSchema: it has an error.
    """
    fields = json.loads(line)
    if "error" in fields:
        raise InvalidSchema(fields["error"])
    reasons = tuple(fields["reasons"])
    return Inspected(fields["text"], fields["canonical"], reasons, fields["twin"], fields["sorted_text"])
