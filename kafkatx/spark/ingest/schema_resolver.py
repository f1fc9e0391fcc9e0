"""The driver's part of decoding by a registry: which schema a topic is read as, and the schemas of ids."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeVar

import attrs

from kafkatx.blocking.registry import BlockingRegistry
from kafkatx.blocking.security import is_tls
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.clientcore.registry import plans, reader_schemas, requests
from kafkatx.clientcore.registry.errors import RegistryError, RegistryUnavailable
from kafkatx.clientcore.registry.plans import Plan
from kafkatx.clientcore.registry.replies import RegisteredSchema
from kafkatx.clientcore.tables.registry import NAMES as CLIENT_SETTINGS
from kafkatx.errors import KafkaTXError, SettingError
from kafkatx.schemas import framing
from kafkatx.schemas.messages.formats import NAMES
from kafkatx.schemas.messages.reader_schema import ReaderSchema
from kafkatx.schemas.types import InvalidSchema
from kafkatx.spark.ingest.decoder.registered import KnownSchemas, Registered

URL = "schema.registry.url"
SUBJECT, VERSION, MESSAGE = "subject", "version", "message"
_OWN = (SUBJECT, VERSION, MESSAGE)

T = TypeVar("T")

MOST_BAD = 10_000
"""Ids without a schema, in one commit; records with others are dead letters without a look-up."""


def uses_registry(decoder: str | None, settings: Mapping[str, str]) -> bool:
    """Return True if a decoder is to use a registry: it has no other form, or the address is set."""
    return decoder in NAMES and (decoder != "avro" or URL in settings)


class SchemaResolver:
    """Looks schemas up for one ingestion.

    :ivar schemas: what is known so far.
    """

    def __init__(self, decoder: str, settings: Mapping[str, str]) -> None:
        """Check the settings; the registry is not asked yet.

        :raises SettingError: one is unknown, wrong or missing.
        """
        unknown = {name for name in settings if not _is_known(name)}
        if unknown:
            raise SettingError(
                f"{min(unknown)}: decoder {decoder} with a schema registry knows {', '.join(_OWN)} and the"
                f" settings of a registry's client, such as {URL}, basic.auth.user.info and ssl.*"
            )
        self._subject = settings.get(SUBJECT)
        self._version = _version(settings.get(VERSION, "latest"))
        self._message = settings.get(MESSAGE, "")
        client = {name: value for name, value in settings.items() if name not in _OWN}
        self._registry = BlockingRegistry.of(client)
        self.schemas = KnownSchemas(NAMES[decoder])

    def check(self) -> None:
        """Check that the registry answers.

        :raises ConnectionFailed: it does not.
        """
        self._run(plans.ask(requests.schema_types()))

    def begin(self, topics: Collection[str]) -> bool:
        """Choose the schemas that topics are read as; return True if one is another than before.

        :raises SettingError: a topic has no subject, or its schema is of another language.
        :raises ConnectionFailed: the registry does not answer.
        """
        readers = {topic: self._reader(topic) for topic in sorted(topics)}
        before = self.schemas.readers
        changed = {topic: reader for topic, reader in readers.items() if before.get(topic) != reader}
        self.schemas = attrs.evolve(self.schemas, readers={**before, **readers}, bad={}, complete=False)
        return bool(changed)

    def resolve(self, frames: Collection[bytes]) -> None:
        """Look up the schemas of messages that begin with these bytes, or have them in a header.

        :raises ConnectionFailed: the registry does not answer.
        """
        written, bad = dict(self.schemas.written), dict(self.schemas.bad)
        for frame in frames:
            try:
                written[frame] = self._written(frame)
            except ConnectionFailed:
                raise
            except KafkaTXError as error:
                bad[frame] = str(error)
        self.schemas = attrs.evolve(self.schemas, written=written, bad=bad, complete=len(bad) >= MOST_BAD)

    def _reader(self, topic: str) -> ReaderSchema:
        subject = self._subject or f"{topic}-value"
        try:
            read = self._run(reader_schemas.read_version(subject, self._version, self._message))
        except (RegistryError, InvalidSchema) as error:
            raise SettingError(
                f"subject {subject} of topic {topic}: {error}; set another one (--decoder-setting "
                f"{SUBJECT}=NAME, {VERSION}=N, {MESSAGE}=NAME)"
            ) from error
        found = read.registered
        self._check_type(found, subject)
        if found.id >= 0:
            frame = framing.prefix(found.id)
            written = {**self.schemas.written, frame: _registered(found)}
            self.schemas = attrs.evolve(self.schemas, written=written)
        return read.reader

    def _written(self, frame: bytes) -> Registered:
        if frame[:1] == b"\1":
            guid = framing.header_guid(frame)
            found, named = self._run(plans.schema_of_guid(guid)), guid
        else:
            number = framing.prefix_id(frame)
            found, named = self._run(plans.schema_of_id(number)), str(number)
        self._check_type(found, f"id {named}")
        return _registered(found)

    def _check_type(self, found: RegisteredSchema, what: str) -> None:
        kind = self.schemas.kind
        if found.schema.type is not kind:
            raise SettingError(f"the schema of {what} is of type {found.schema.type.value}, not {kind.value}")

    def _run(self, plan: Plan[T]) -> T:
        """Carry a plan out; errors that may pass are those of a connection."""
        try:
            return self._registry.run(plan)
        except RegistryUnavailable as error:
            raise ConnectionFailed(str(error)) from error
        except RegistryError as error:
            if error.retriable:
                raise ConnectionFailed(str(error)) from error
            raise

    def close(self) -> None:
        """Close the connection."""
        self._registry.close()


def _registered(found: RegisteredSchema) -> Registered:
    return Registered(found.schema, dict(found.dependencies))


def _is_known(name: str) -> bool:
    return name in _OWN or name in CLIENT_SETTINGS or is_tls(name)


def _version(text: str) -> int:
    if text == "latest":
        return requests.LATEST
    if not text.isascii() or not text.isdigit() or not int(text):
        raise SettingError(f"{VERSION}={text}: must be latest, or the number of a version")
    return int(text)
