"""A key, a value or a header as it is shown. Pure."""

from __future__ import annotations

import attrs

from kafkatx.views.filter.functions import text_of
from kafkatx.views.filter.operators import UNDECODED

NULL = "null"
"""The format of what is not there: of a tombstone's value, for example."""


@attrs.frozen
class SchemaLabel:
    """The schema of a message, as far as the registry tells it.

    :ivar id: None if the message names it by its GUID.
    :ivar subject: the subject that was asked for, if one was.
    """

    type: str
    id: int | None = None
    guid: str | None = None
    subject: str | None = None

    def shown(self) -> dict[str, object]:
        """Return the label as a value of JSON."""
        return {"id": self.id, "guid": self.guid, "subject": self.subject, "type": self.type}


@attrs.define
class Content:
    """Bytes that were decoded.

    :ivar format: the format that they were decoded with, also if another one was asked for.
    :ivar value: for filters: values of JSON, Decimal beside them; UNDECODED if it is not to be seen.
    :ivar text: for people; None: to be made of *value*.
    :ivar size: the size of the bytes; -1 if there are none.
    :ivar fault: why it is not what was asked for; or empty.
    """

    format: str
    value: object
    text: str | None
    size: int
    fault: str = ""
    schema: SchemaLabel | None = None

    def shown(self, most_characters: int) -> dict[str, object]:
        """Return the content as a value of JSON, its text cut."""
        text: object = None
        if self.format != NULL:
            text = self.text
            if text is None and self.value is not UNDECODED:
                text = text_of(self.value)
        truncated = isinstance(text, str) and len(text) > most_characters
        found: dict[str, object] = {
            "format": self.format,
            "text": text[:most_characters] if isinstance(text, str) else None,
            "size": self.size,
            "truncated": truncated,
        }
        if self.fault:
            found["fault"] = self.fault
        if self.schema is not None:
            found["schema"] = self.schema.shown()
        return found


def nothing() -> Content:
    """Return the content of what is not there."""
    return Content(NULL, None, None, -1)


def hidden(size: int) -> Content:
    """Return the content of what may not be shown: its size alone."""
    return Content("hidden", UNDECODED, None, size)
