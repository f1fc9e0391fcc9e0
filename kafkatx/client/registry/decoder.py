"""The decoders that use a schema registry. A hit is one look-up in a dict; a batch waits once for all ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from twisted.internet.defer import CancelledError, Deferred, DeferredList
from zope.interface import implementer

from kafkatx.client.registry.client import RegistryClient
from kafkatx.clientcore.errors import ClientClosed
from kafkatx.clientcore.registry import plans
from kafkatx.clientcore.registry.cache import SchemaCache
from kafkatx.clientcore.registry.errors import RegistryError, RegistryUnavailable
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import registry as table
from kafkatx.errors import KafkaTXError, NotPrepared
from kafkatx.interfaces import IBatchDecoder, IRegistryDecoder
from kafkatx.networkclient.shared_call import SharedCall
from kafkatx.records.batch import decode_headers
from kafkatx.schemas import framing
from kafkatx.schemas.given import given_schema
from kafkatx.schemas.messages.errors import BadPayload
from kafkatx.schemas.messages.format import MessageFormat, Read
from kafkatx.schemas.types import InvalidSchema

T = TypeVar("T")

MOST_AT_ONCE = 16
"""Requests for schemas in flight at a time, of one decoder."""

_NO_HEADERS = (b"", b"\0")


@implementer(IRegistryDecoder, IBatchDecoder)
class RegistryDecoder:
    """A decoder of messages of one schema language, whatever schemas they were written with.

    Readers are kept by the first five bytes of messages, or by the value of the header.
    """

    def __init__(self, message_format: MessageFormat) -> None:
        self._format = message_format
        self._target: Any = None
        self._header = framing.VALUE_HEADER
        self._sharing: SharedCall[None] = SharedCall()

    def attach(self, registry: RegistryClient, settings: ClientSettings, is_key: bool) -> None:
        """Accept the registry.

        :raises SettingError: a setting is wrong.
        """
        self._registry = registry
        self._format.checked = settings[table.DECODING_VALID]
        self._header = framing.KEY_HEADER if is_key else framing.VALUE_HEADER
        setting = table.KEY_READER if is_key else table.VALUE_READER
        self._target = given_schema(setting.name, settings.part(setting))
        self._cache: SchemaCache[bytes, Read] = SchemaCache(
            registry.settings.capacity, registry.reactor.seconds
        )
        self._found = self._cache.found

    # -- IDecoder, IBatchDecoder

    def decode(self, topic: str, data: bytes | None) -> Any:
        """Return the value of a message with a prefix; None for None.

        :raises BadFrame: it has no prefix.
        :raises BadPayload: it does not match its schema.
        :raises KafkaTXError: its schema is not known, or not valid.
        """
        if data is None:
            return None
        read = self._found.get(data[:5]) or self._missed(bytes(data[:5]))
        try:
            return read(data, 5)
        except BadPayload as error:
            raise BadPayload(f"schema {framing.prefix_id(data)}: {error}") from error

    def decode_record(self, topic: str, data: bytes | None, headers: bytes) -> Any:
        """Return the value of a message, whose schema may be in a header; otherwise as :meth:`decode`."""
        if data is None:
            return None
        frame = self._header_of(headers)
        if frame is None:
            return self.decode(topic, data)
        read = self._found.get(frame) or self._missed(frame)
        try:
            return read(data, 0)
        except BadPayload as error:
            raise BadPayload(f"schema {framing.header_guid(frame)}: {error}") from error

    def _missed(self, frame: bytes) -> Read:
        error = self._cache.error(frame)
        if error is not None:
            raise error
        if frame[:1] != b"\1":
            framing.prefix_id(frame)
        raise NotPrepared("the schema of the message is not known yet")

    def _header_of(self, headers: bytes) -> bytes | None:
        if headers in _NO_HEADERS:
            return None
        return next((value for name, value in decode_headers(headers) if name == self._header), None)

    # -- schemas

    def prepare_batch(
        self, topic: str, messages: Sequence[bytes | None], headers: Sequence[bytes]
    ) -> Deferred[None] | None:
        """Ask the registry for the schemas of messages that are not known yet.

        Those behind a message that cannot be decoded are left out: it is an error before they are decoded.
        """
        if any(each not in _NO_HEADERS for each in set(headers)):
            frames = self._frames(messages, headers)
        else:
            # in the order of the messages
            frames = list(dict.fromkeys(data[: framing.PREFIX_SIZE] for data in messages if data is not None))
            if self._found.keys() >= set(frames):
                return None
        missing = self._missing(frames)
        return Deferred.fromCoroutine(self._fetch(missing)) if missing else None

    def _frames(self, messages: Sequence[bytes | None], headers: Sequence[bytes]) -> list[bytes]:
        found: dict[bytes, None] = {}
        for data, each in zip(messages, headers, strict=True):
            if data is not None:
                try:
                    found[self._header_of(each) or data[: framing.PREFIX_SIZE]] = None
                except KafkaTXError:  # malformed headers are an error of their record
                    break
        return list(found)

    def _missing(self, frames: Sequence[bytes]) -> list[bytes]:
        """Return the frames that are not known, up to the first that cannot be.

        There are at most half as many as the cache holds: others are errors of their records.
        """
        missing = []
        for frame in frames[: self._registry.settings.capacity // 2]:
            if frame in self._found:
                continue
            frame = bytes(frame)
            if len(frame) < framing.PREFIX_SIZE or frame[0] > 1 or self._cache.error(frame) is not None:
                break
            missing.append(frame)
        return missing

    async def _fetch(self, frames: Sequence[bytes]) -> None:
        """Fetch schemas, some at a time, until one cannot be had.

        :raises RegistryUnavailable: the registry does not answer. RegistryError: it failed.
        """
        for start in range(0, len(frames), MOST_AT_ONCE):
            some = frames[start : start + MOST_AT_ONCE]
            asked = [
                self._sharing.wait(frame, lambda frame=frame: self._fetch_one(frame))  # type: ignore[misc]
                for frame in some
            ]
            outcomes: Any = await DeferredList(asked, consumeErrors=True)
            for succeeded, result in outcomes:
                if not succeeded:
                    result.raiseException()
            if not all(frame in self._found for frame in some):
                return

    async def _fetch_one(self, frame: bytes) -> None:
        try:
            self._cache.add(frame, await self._make(frame))
        except (CancelledError, ClientClosed, RegistryUnavailable):
            raise
        except Exception as error:
            if isinstance(error, RegistryError) and error.retriable:
                raise
            self._cache.fail(frame, error)

    async def _make(self, frame: bytes) -> Read:
        if frame[0] == framing.PREFIX_MAGIC:
            schema_id = framing.prefix_id(frame)
            named, indexes = f"schema {schema_id}", None
            plan = plans.schema_of_id(schema_id)
        else:
            guid = framing.header_guid(frame)
            named, indexes = f"schema {guid}", frame[1 + framing.GUID_SIZE :]
            plan = plans.schema_of_guid(guid)
        try:
            found = await self._registry.run(plan)
            if found.schema.type is not self._format.type:
                raise InvalidSchema(
                    f"it is of type {found.schema.type.value}, and this is the decoder of "
                    f"{self._format.type.value}"
                )
            return self._format.reader(found.schema, found.dependencies, self._target, indexes)
        except InvalidSchema as error:
            raise InvalidSchema(f"{named}: {error}") from error
        except RegistryError as error:
            if error.retriable:
                raise
            raise KafkaTXError(f"{named}: {error}") from error
