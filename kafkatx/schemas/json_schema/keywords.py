"""The keywords of JSON Schema: where schemas are within schemas, and the values that keywords may have. Pure.

One table serves the drafts 4, 6, 7, 2019-09 and 2020-12; a keyword of another draft is checked as well. The
check goes through a document without recursion, and takes time in proportion to its size, unlike a validation
against a meta-schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from kafkatx.schemas.json_text import JSON, Object, quote
from kafkatx.schemas.places import below
from kafkatx.schemas.types import InvalidSchema

TYPES: Final = frozenset({"string", "number", "integer", "object", "array", "boolean", "null"})

_SCHEMA: Final = frozenset(
    {
        *("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "not"),
        *("propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
    }
)
_SCHEMA_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_SCHEMA_MAPS: Final = frozenset(
    {"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"}
)


def _is_text(value: JSON) -> bool:
    return isinstance(value, str)


def _is_flag(value: JSON) -> bool:
    return isinstance(value, bool)


def is_number(value: JSON) -> bool:
    """Return True for a number; true and false are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_limit(value: JSON) -> bool:
    """Return True for a number, or the flag of draft 4."""
    return is_number(value) or isinstance(value, bool)


def _is_step(value: JSON) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0


def _is_count(value: JSON) -> bool:
    """Return True for a whole number from 0 on, which may be written as 1.0."""
    return (
        isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0 and value == int(value)
    )


def _are_texts(value: JSON) -> bool:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        return False
    return len(set(map(str, value))) == len(value)


def _are_types(value: JSON) -> bool:
    if isinstance(value, list):
        return bool(value) and _are_texts(value) and all(one in TYPES for one in value)
    return isinstance(value, str) and value in TYPES


def _is_list(value: JSON) -> bool:
    return isinstance(value, list)


def _are_text_lists(value: JSON) -> bool:
    return isinstance(value, dict) and all(_are_texts(one) for one in value.values())


_VALUES: Final[dict[str, tuple[Callable[[JSON], bool], str]]] = {
    **dict.fromkeys(("$schema", "$id", "id", "$ref", "$anchor", "$dynamicRef"), (_is_text, "a text")),
    **dict.fromkeys(("$dynamicAnchor", "$comment", "title", "description", "format"), (_is_text, "a text")),
    **dict.fromkeys(("$recursiveRef", "pattern"), (_is_text, "a text")),
    **dict.fromkeys(("$recursiveAnchor", "uniqueItems"), (_is_flag, "true or false")),
    **dict.fromkeys(("maximum", "minimum"), (is_number, "a number")),
    **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum"), (_is_limit, "a number")),
    "multipleOf": (_is_step, "a number above 0"),
    **dict.fromkeys(
        (
            *("maxLength", "minLength", "maxItems", "minItems", "maxContains", "minContains"),
            *("maxProperties", "minProperties"),
        ),
        (_is_count, "a whole number from 0 on"),
    ),
    "type": (_are_types, f"one or several of {', '.join(sorted(TYPES))}"),
    "required": (_are_texts, "a list of different texts"),
    "enum": (_is_list, "a list"),
    "dependentRequired": (_are_text_lists, "an object of lists of texts"),
}


def check_keywords(schema: Object, where: str) -> None:
    """Check the values of a schema's own keywords, but not the schemas in it.

    A property of the name ``id`` or ``$ref`` is no keyword where ``properties`` stands, which is not looked
    at here.

    :param where: the place of the schema, for the message.
    :raises InvalidSchema: a keyword has a value that it may not have.
    """
    for keyword, value in schema.items():
        if keyword in _VALUES and not _VALUES[keyword][0](value):
            raise _invalid(below(where, keyword), f"it must be {_VALUES[keyword][1]}, not {quote(value)}")


def parts(schema: Object, where: str) -> Iterator[tuple[JSON, str]]:
    """Yield the schemas in a schema, with their places.

    :raises InvalidSchema: a keyword that has schemas has something else; the parts are not checked.
    """
    for keyword, value in schema.items():
        place = below(where, keyword)
        if keyword in _SCHEMA or (keyword == "items" and not isinstance(value, list)):
            yield value, place
        elif keyword in _SCHEMA_LISTS or keyword == "items":
            if not isinstance(value, list):
                raise _invalid(place, f"it must be a list of schemas, not {quote(value)}")
            for index, one in enumerate(value):
                yield one, below(place, index)
        elif keyword in _SCHEMA_MAPS:
            if not isinstance(value, dict):
                raise _invalid(place, f"it must be an object of schemas, not {quote(value)}")
            for name, one in value.items():
                yield one, below(place, name)
        elif keyword == "dependencies":
            yield from _dependencies(value, place)


def _dependencies(value: JSON, place: str) -> Iterator[tuple[JSON, str]]:
    """Yield the schemas of ``dependencies``, which also has lists of properties."""
    if not isinstance(value, dict):
        raise _invalid(place, f"it must be an object, not {quote(value)}")
    for name, one in value.items():
        if not isinstance(one, list):
            yield one, below(place, name)
        elif not _are_texts(one):
            raise _invalid(below(place, name), f"it must have different texts, not {quote(one)}")


def _invalid(where: str, reason: str) -> InvalidSchema:
    return InvalidSchema(f"the JSON schema is not valid at {where or '/'}: {reason}")
