"""The encoders that use a schema registry. A hit costs one look-up in a dict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from zope.interface import alsoProvides, implementer

from kafkatx.client.registry.client import RegistryClient
from kafkatx.clientcore.errors import ClientClosed
from kafkatx.clientcore.registry import plans
from kafkatx.clientcore.registry.cache import SchemaCache
from kafkatx.clientcore.registry.subjects import Strategy, strategy, topic_name
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import registry as table
from kafkatx.errors import NotPrepared, SettingError
from kafkatx.interfaces import IHeaderEncoder, IPreparing, IRegistryEncoder
from kafkatx.networkclient.shared_call import SharedCall
from kafkatx.schemas import framing
from kafkatx.schemas.given import given_schema
from kafkatx.schemas.messages.format import MessageFormat, Write
from kafkatx.schemas.types import InvalidSchema

_Key = tuple[str, type]
_Headers = tuple[tuple[str, bytes], ...]


@implementer(IRegistryEncoder, IPreparing)
class RegistryEncoder:
    """An encoder of values of one schema language.

    Writers are kept by topic and class of the value: a class may tell its schema (``__schema__``; a class of
    Protobuf messages does), all others are written with the schema of the settings.
    """

    def __init__(self, message_format: MessageFormat) -> None:
        self._format = message_format
        self._given: Any = None
        self._strategy: Strategy = topic_name
        self._policy = plans.WriterPolicy()
        self._is_key = False
        self._header = ""
        self._sharing: SharedCall[None] = SharedCall()

    def attach(self, registry: RegistryClient, settings: ClientSettings, is_key: bool) -> None:
        """Accept the registry.

        :raises SettingError: a setting is wrong, or the schema is not valid.
        """
        self._registry = registry
        self._format.checked = settings[table.ENCODING_VALID]
        self._is_key = is_key
        name = table.KEY_STRATEGY if is_key else table.VALUE_STRATEGY
        self._strategy = strategy(name.name, settings[name])
        place = settings[table.KEY_ID_PLACE if is_key else table.VALUE_ID_PLACE]
        if place == table.HEADER:
            self._header = framing.KEY_HEADER if is_key else framing.VALUE_HEADER
            alsoProvides(self, IHeaderEncoder)
        self._policy = plans.WriterPolicy(
            settings[table.AUTO_REGISTER],
            settings[table.USE_SCHEMA_ID],
            settings[table.USE_LATEST],
            settings[table.NORMALIZE],
            bool(self._header),
        )
        setting = table.KEY_SCHEMA if is_key else table.VALUE_SCHEMA
        self._given = given_schema(setting.name, settings.part(setting))
        if self._given is not None:
            self._check_given(setting.name)
        self._cache: SchemaCache[_Key, tuple[Write, _Headers]] = SchemaCache(
            registry.settings.capacity, registry.reactor.seconds
        )
        self._found = self._cache.found

    def _check_given(self, name: str) -> None:
        try:
            if self._format.schema_of(self._given) is None:
                raise SettingError(f"{name}: {self._given!r} is no schema of {self._format.type.value}")
        except InvalidSchema as error:
            raise SettingError(f"{name}: {error}") from error

    # -- IEncoder, IHeaderEncoder

    def encode(self, topic: str, value: Any) -> bytes | None:
        """Return the bytes of a value; None for None.

        :raises NotPrepared: the registry has to be asked first.
        :raises BadValue: the value does not match the schema.
        """
        if value is None:
            return None
        found = self._found.get((topic, value.__class__))
        return (found or self._missed(topic, value))[0](value)

    def encode_record(self, topic: str, value: Any) -> tuple[bytes | None, Sequence[tuple[str, bytes]]]:
        """Return the bytes of a value, and the header with the schema's GUID; otherwise as :meth:`encode`."""
        if value is None:
            return None, ()
        write, headers = self._found.get((topic, value.__class__)) or self._missed(topic, value)
        return write(value), headers

    def _missed(self, topic: str, value: Any) -> tuple[Write, _Headers]:
        key = topic, value.__class__
        error = self._cache.error(key)
        if error is not None:
            raise error
        raise NotPrepared(f"the schema of values of {topic} is not known yet")

    # -- IPreparing

    def prepare(self, topic: str, value: Any) -> Deferred[None] | None:
        """Ask the registry for the schema; callers that wait for the same one share the request."""
        key = topic, value.__class__
        if value is None or not self._cache.missing((key,)):
            return None
        return self._sharing.wait(key, lambda: self._prepare(key, value))

    async def _prepare(self, key: _Key, value: Any) -> None:
        try:
            self._cache.add(key, await self._make(key[0], value))
        except (CancelledError, ClientClosed):
            raise
        except Exception as error:
            self._cache.fail(key, error)
            raise

    async def _make(self, topic: str, value: Any) -> tuple[Write, _Headers]:
        given: Any = value.__class__
        told = self._format.schema_of(given)
        if told is None and self._given is not None:
            given = self._given
            told = self._format.schema_of(given)
        schema, name = told or (None, "")
        subject = self._strategy(topic, self._is_key, name)
        found = await self._registry.run(
            plans.writer_schema(subject, schema, self._policy, self._format.imports(given))
        )
        if found.schema.type is not self._format.type:
            raise InvalidSchema(
                f"schema {found.id} of subject {subject} is of type {found.schema.type.value}, and this is "
                f"the encoder of {self._format.type.value}"
            )
        prefix = b"" if self._header else framing.prefix(found.id)
        indexes, write = self._format.writer(found.schema, found.dependencies, prefix, given)
        if not self._header:
            return write, ()
        return write, ((self._header, framing.header_value(found.guid) + indexes),)
