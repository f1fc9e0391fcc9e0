"""Limits of schemas: what is beyond them is refused before it costs time or memory. Pure."""

from __future__ import annotations

from typing import Final

from kafkatx.schemas.types import Dependencies, InvalidSchema, Schema

MAX_SIZE_BYTES: Final = 1_000_000
"""Size of one schema's text in UTF-8."""

MAX_TOTAL_SIZE_BYTES: Final = 10_000_000
"""Size of a schema's text together with all texts that it depends on."""

MAX_DEPTH: Final = 64
"""Types within types, as the text nests them."""

MAX_JSON_DEPTH: Final = 4 * MAX_DEPTH
"""Objects and arrays of JSON within each other; a type within a type takes up to four of them."""

MAX_REFERENCES: Final = 100
"""References of one schema, and schemas that it depends on in all."""

MAX_NAME_LENGTH: Final = 400
"""Letters of a full name: each part of a schema may repeat that of the parts around it."""

MAX_URL_LENGTH: Final = 1000
"""Letters of a URL by which a part of a JSON schema is known."""

MAX_STEPS: Final = 500_000
"""Calls that one comparison of schemas may take: about 4 s."""

MAX_REASONS: Final = 100
"""Reasons that a comparison gives; there may be more."""


def check_sizes(schema: Schema, dependencies: Dependencies) -> None:
    """Check a schema against the limits that need no parsing.

    :raises InvalidSchema: its text is too large or no Unicode, or it has too many references.
    """
    if len(schema.references) > MAX_REFERENCES:
        raise InvalidSchema(f"the schema has {len(schema.references)} references; at most {MAX_REFERENCES}")
    if len(dependencies) > MAX_REFERENCES:
        raise InvalidSchema(f"the schema depends on {len(dependencies)} others; at most {MAX_REFERENCES}")
    total = _text_size("the schema", schema.text)
    for name, dependency in dependencies.items():
        total += _text_size(f"the referenced schema {name!r}", dependency.text)
    if total > MAX_TOTAL_SIZE_BYTES:
        raise InvalidSchema(
            f"the schema and those that it depends on have {total} bytes; at most {MAX_TOTAL_SIZE_BYTES}"
        )


def _text_size(what: str, text: str) -> int:
    """Return the size of a text in bytes of UTF-8.

    :raises InvalidSchema: it is too large, or has half a surrogate pair.
    """
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidSchema(f"{what} is no Unicode text: half a character at {error.start}") from error
    if size > MAX_SIZE_BYTES:
        raise InvalidSchema(f"{what} has {size} bytes; at most {MAX_SIZE_BYTES}")
    return size
