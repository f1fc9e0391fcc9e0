"""The settings of the encoders and decoders that use a schema registry, under the names of Confluent's
serializers for Java.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafkatx.config.table.row import INT_MAX, Section, Setting
from kafkatx.config.table.security import tls

REGISTRY = Section(
    "Schema registry",
    "For the encoders and decoders `avro`, `json-schema` and `protobuf` (see [Schemas](client/schemas.md)).",
)

URL = REGISTRY.names(
    "schema.registry.url",
    (),
    "Addresses of a schema registry, `http://HOST:PORT` or `https://HOST:PORT`; if one does not answer, the "
    "next is asked.",
)
CREDENTIALS_SOURCE = REGISTRY.string(
    "basic.auth.credentials.source",
    "URL",
    "Origin of user and password: URL (`http://user:password@host`) or USER_INFO. "
    "`basic.auth.user.info` counts in any case.",
    choices=("URL", "USER_INFO"),
)
USER_INFO = REGISTRY.optional_password(
    "basic.auth.user.info",
    "User and password for the registry, as `user:password`. An address may name the user, too.",
    aliases=("schema.registry.basic.auth.user.info",),
)
BEARER_SOURCE = REGISTRY.string(
    "bearer.auth.credentials.source",
    "STATIC_TOKEN",
    "Origin of the bearer token; there is only one.",
    choices=("STATIC_TOKEN",),
)
BEARER_TOKEN = REGISTRY.optional_password(
    "bearer.auth.token",
    "Bearer token for the registry, in place of user and password.",
    aliases=("schema.registry.bearer.auth.token",),
)
READ_TIMEOUT_MS = REGISTRY.integer(
    "http.read.timeout.ms", 60_000, "Time-out of a reply of the registry.", low=1, unit="ms"
)
CONNECT_TIMEOUT_MS = REGISTRY.integer(
    "http.connect.timeout.ms", 10_000, "Time-out of connecting to the registry.", low=1, unit="ms"
)
CACHE_CAPACITY = REGISTRY.integer(
    "max.schemas.per.subject",
    1000,
    "Largest number of schemas that an encoder or decoder keeps; a batch may have half as many.",
    low=100,
    high=INT_MAX,
)
KEY_STRATEGY = REGISTRY.string(
    "key.subject.name.strategy",
    "TopicNameStrategy",
    "Subject of the schemas of keys: TopicNameStrategy, RecordNameStrategy or TopicRecordNameStrategy; also "
    "as the name of Confluent's Java class.",
)
VALUE_STRATEGY = REGISTRY.string("value.subject.name.strategy", "TopicNameStrategy", "Likewise for values.")

TLS = Section(
    "TLS of the schema registry",
    "For addresses with `https://`. If none of these settings is set, those without the prefix count.",
)

OWN_TLS: Mapping[str, Setting[Any]] = {
    row.name: TLS.repeat(row, "schema.registry.", f"Like `{row.name}`, for the registry alone.")
    for row in tls.SHARED.settings
}
"""The settings of this section, by their names without the prefix."""

NAMES = frozenset(
    name for part in (REGISTRY, TLS) for row in part.settings for name in (row.name, *row.aliases)
)
"""The names of all settings above: those of clients of a registry."""

ENCODING = Section("Encoding with schemas", "Which schema a producer writes with.")

KEY_SCHEMA = ENCODING.plugin(
    "kafkatx.key.schema",
    "",
    "Schema of keys: its text, `@` and the path of a file, or an object "
    "(`kafkatx.schemas.types.Schema`, a class of Protobuf messages). Empty: the class of the key tells it "
    "(`__schema__`), or `use.latest.version`.",
)
VALUE_SCHEMA = ENCODING.plugin("kafkatx.value.schema", "", "Schema of values, likewise.")
AUTO_REGISTER = ENCODING.boolean(
    "auto.register.schemas", True, "Register the schema; false: it must be registered already."
)
USE_LATEST = ENCODING.boolean(
    "use.latest.version",
    False,
    "Write with the latest version of the subject; only with `auto.register.schemas=false`.",
)
USE_SCHEMA_ID = ENCODING.integer(
    "use.schema.id",
    -1,
    "Write with the schema of this id; only with `auto.register.schemas=false`. -1: do not.",
    low=-1,
)
NORMALIZE = ENCODING.boolean("normalize.schemas", False, "Register the normal form of the schema.")
_PLACES = (
    "io.confluent.kafka.serializers.schema.id.PrefixSchemaIdSerializer",
    "io.confluent.kafka.serializers.schema.id.HeaderSchemaIdSerializer",
)
PREFIX, HEADER = "prefix", "header"
_SYNONYMS = {_PLACES[0]: PREFIX, _PLACES[1]: HEADER}
KEY_ID_PLACE = ENCODING.string(
    "key.schema.id.serializer",
    PREFIX,
    "Place of the id of the schema of a key: prefix (of the key) or header (of the record); also as the name "
    "of Confluent's Java class. Decoders read both.",
    choices=(PREFIX, HEADER),
    synonyms=_SYNONYMS,
)
VALUE_ID_PLACE = ENCODING.string(
    "value.schema.id.serializer",
    PREFIX,
    "Likewise for values.",
    choices=(PREFIX, HEADER),
    synonyms=_SYNONYMS,
)

DECODING = Section("Decoding with schemas", "What a consumer makes of messages with a schema.")

KEY_READER = DECODING.plugin(
    "kafkatx.key.reader.schema",
    "",
    "Schema to read keys with: its text, or `@` and the path of a file; for Protobuf also a class of "
    "messages, or the full name of the message that alone is read. "
    "Empty: the schema that the key was written with.",
)
VALUE_READER = DECODING.plugin("kafkatx.value.reader.schema", "", "Schema to read values with, likewise.")

_FAIL_DOC = "Check each value against its JSON Schema. (false in Confluent's serializers.)"
ENCODING_VALID = ENCODING.boolean("json.fail.invalid.schema", True, _FAIL_DOC)
DECODING_VALID = DECODING.boolean("json.fail.invalid.schema", True, _FAIL_DOC)
