"""A record as a filter and a person see it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from kafkatx.records.batch import Headers
from kafkatx.schemas.framing import KEY_HEADER, VALUE_HEADER
from kafkatx.views.filter.compiler import Filter
from kafkatx.views.formats.content import Content, hidden, nothing
from kafkatx.views.formats.decoder import Decoder
from kafkatx.views.formats.masks import MASK, SETTING, Masks
from kafkatx.views.formats.registered import Schemas
from kafkatx.views.formats.simple import as_hex, as_text
from kafkatx.views.requests import ViewRequest
from kafkatx.views.rows import Row

MOST_HEADERS: Final = 100
"""Headers of a record that are shown."""

HEADER_CHARACTERS: Final = 1000
"""Characters of a header's name or value that are shown."""


@attrs.frozen
class View:
    """The way in which messages of a topic are seen.

    :ivar filter: None: all are wanted.
    """

    filter: Filter | None
    key: Decoder
    value: Decoder
    masks: Masks
    metadata_only: bool

    @classmethod
    def of(cls, request: ViewRequest, schemas: Schemas) -> View:
        """Make what a request asks for.

        :raises FilterError: the filter is not allowed.
        :raises ValueError: there is no such format.
        """
        masks, plugins, topic = request.masks, dict(request.plugins), request.topic
        key = Decoder(request.key_format, topic, schemas, KEY_HEADER, masks.key, plugins)
        value = Decoder(request.value_format, topic, schemas, VALUE_HEADER, masks.value, plugins)
        filtering = None if request.filter is None else Filter(request.filter)
        return cls(filtering, key, value, masks, request.metadata_only)

    def header(self, name: str, data: bytes | None) -> Content:
        """Return the content of a header: text, or bytes in hexadecimal."""
        if data is None:
            return nothing()
        if self.metadata_only:
            return hidden(len(data))
        if self.masks.hides_header(name):
            return Content("masked", MASK, MASK, len(data), f"hidden by {SETTING}")
        content = as_text(data)
        return as_hex(data) if content.fault else content


class Seen:
    """A record as a filter sees it: what it asks for is decoded, once.

    :ivar row: the record.
    """

    __slots__ = ("_headers", "_key", "_value", "_view", "partition", "row")

    def __init__(self, row: Row, partition: int, view: View) -> None:
        self.row = row
        self.partition = partition
        self._view = view
        self._key: Content | None = None
        self._value: Content | None = None
        self._headers: Mapping[str, object] | None = None

    @property
    def offset(self) -> int:
        """The offset."""
        return self.row.offset

    @property
    def timestamp(self) -> int:
        """Milliseconds since 1970."""
        return self.row.timestamp

    @property
    def key(self) -> object:
        """The key, for filters."""
        return self._decoded_key().value

    @property
    def value(self) -> object:
        """The value, for filters."""
        return self._decoded_value().value

    @property
    def headers(self) -> Mapping[str, object]:
        """The last value of each header, by name, for filters."""
        if self._headers is None:
            self._headers = {name: self._view.header(name, data).value for name, data in self.row.headers}
        return self._headers

    def _decoded_key(self) -> Content:
        if self._key is None:
            self._key = self._decoded(self._view.key, self.row.key)
        return self._key

    def _decoded_value(self) -> Content:
        if self._value is None:
            self._value = self._decoded(self._view.value, self.row.value)
        return self._value

    def _decoded(self, decoder: Decoder, data: bytes | None) -> Content:
        if data is not None and self._view.metadata_only:
            return hidden(len(data))
        return decoder.decode(data, self.row.headers)

    def shown(self, most_characters: int) -> dict[str, object]:
        """Return the record as a value of JSON.

        :raises SchemaMissed: a schema is asked for first.
        """
        row = self.row
        key, value = self._decoded_key(), self._decoded_value()
        shown = self._shown(key.shown(most_characters), value.shown(most_characters), row.fault)
        shown["headers"] = self._shown_headers(row.headers)
        if len(row.headers) > MOST_HEADERS:
            shown["headersLeftOut"] = len(row.headers) - MOST_HEADERS
        if value.schema is not None:
            shown["schema"] = value.schema.shown()
        return shown

    def not_shown(self, fault: str) -> dict[str, object]:
        """Return the record without its contents."""
        key, value = (
            nothing() if data is None else hidden(len(data)) for data in (self.row.key, self.row.value)
        )
        return self._shown(key.shown(0), value.shown(0), fault)

    def _shown(self, key: object, value: object, fault: str) -> dict[str, object]:
        row = self.row
        shown: dict[str, object] = {
            "partition": self.partition,
            "offset": str(row.offset),
            "timestampMs": row.timestamp,
            "timestampType": row.timestamp_type,
            "key": key,
            "value": value,
            "headers": [],
            "transactional": row.transaction,
            "control": row.control,
            "schema": None,
        }
        if fault:
            shown["fault"] = fault
        return shown

    def _shown_headers(self, headers: Headers) -> list[dict[str, object]]:
        if self._view.metadata_only:
            return []  # their names are content, too
        return [
            {
                "key": name[:HEADER_CHARACTERS],
                "value": self._view.header(name, data).shown(HEADER_CHARACTERS),
            }
            for name, data in headers[:MOST_HEADERS]
        ]
