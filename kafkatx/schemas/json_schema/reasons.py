"""The kinds of incompatible changes of JSON schemas: Confluent's names for them, in words. Pure."""

from __future__ import annotations

from typing import Final

from kafkatx.schemas.places import below

_LIMITS: Final = {
    "maxLength": "the length of a text",
    "minLength": "the length of a text",
    "maximum": "the value of a number",
    "minimum": "the value of a number",
    "exclusiveMaximum": "the value of a number",
    "exclusiveMinimum": "the value of a number",
    "maxProperties": "the number of properties",
    "minProperties": "the number of properties",
    "maxItems": "the number of items",
    "minItems": "the number of items",
    "maxContains": "the number of items that match contains",
    "minContains": "the number of items that match contains",
}

_WORDS: Final = {
    "TYPE_CHANGED": ("", "the writer's type is another than the reader's"),
    "TYPE_NARROWED": ("", "the writer's numbers may have a fraction, the reader's not"),
    "PATTERN_ADDED": ("pattern", "the reader has a pattern, the writer none"),
    "PATTERN_CHANGED": ("pattern", "the writer's pattern is another"),
    "MULTIPLE_OF_ADDED": ("multipleOf", "the reader's numbers are multiples, the writer's are any"),
    "MULTIPLE_OF_EXPANDED": ("multipleOf", "not every multiple of the writer's step is one of the reader's"),
    "MULTIPLE_OF_CHANGED": ("multipleOf", "not every multiple of the writer's step is one of the reader's"),
    "UNIQUE_ITEMS_ADDED": ("uniqueItems", "the writer's items may be equal, the reader's not"),
    "ENUM_ARRAY_NARROWED": ("", "the writer has values that the reader has not"),
    "ENUM_ARRAY_CHANGED": ("", "the writer has values that the reader has not"),
    "CONDITION_CHANGED": ("if", "the condition is another"),
    "NOT_TYPE_EXTENDED": ("not", "the reader excludes more than the writer"),
    "SCHEMA_ADDED": ("", "the reader has a schema here, the writer none"),
    "REQUIRED_ATTRIBUTE_ADDED": (
        "",
        "the reader requires a property that the writer does not",
    ),
    "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL": ("", "the reader allows no property of this name"),
    "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL": (
        "",
        "the writer's property does not fit what the reader allows for other properties",
    ),
    "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL": (
        "",
        "the writer allows any value for this property, which the reader restricts",
    ),
    "REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL": (
        "",
        "the reader requires a property for which the writer allows any value, or none",
    ),
    "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL": (
        "",
        "the writer allows any value for this property, which the reader restricts",
    ),
    "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL": (
        "",
        "what the writer allows for other properties does not fit the reader's property",
    ),
    "REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL": (
        "",
        "the reader requires a property that the writer does not have",
    ),
    "PATTERN_NOT_EVALUATED": (
        "",
        "a pattern of patternProperties is too complex to tell whether it covers this property",
    ),
    "PATTERN_PROPERTY_ADDED": (
        "",
        "the writer allows any value for them, the reader does not",
    ),
    "PATTERN_PROPERTY_REMOVED": ("", "the reader allows no properties of this pattern"),
    "PROPERTY_NAMES_ADDED": (
        "propertyNames",
        "the reader restricts the names, the writer does not",
    ),
    "ADDITIONAL_PROPERTIES_REMOVED": ("additionalProperties", "the writer allows others, the reader none"),
    "ADDITIONAL_PROPERTIES_NARROWED": (
        "additionalProperties",
        "the reader restricts them, the writer does not",
    ),
    "UNEVALUATED_PROPERTIES_REMOVED": ("unevaluatedProperties", "the writer allows others, the reader none"),
    "UNEVALUATED_PROPERTIES_NARROWED": (
        "unevaluatedProperties",
        "the reader restricts them, the writer does not",
    ),
    "DEPENDENCY_ARRAY_ADDED": ("", "the reader requires other properties together with this one"),
    "DEPENDENCY_ARRAY_EXTENDED": ("", "the reader requires more properties together with this one"),
    "DEPENDENCY_ARRAY_CHANGED": ("", "the reader requires other properties together with this one"),
    "DEPENDENCY_SCHEMA_ADDED": (
        "",
        "the reader has a schema for objects with it, the writer none",
    ),
    "ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL": ("", "the reader allows no item here"),
    "ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL": (
        "",
        "the writer's item does not fit what the reader allows for other items",
    ),
    "ITEM_ADDED_TO_OPEN_CONTENT_MODEL": (
        "",
        "the writer allows any value here, the reader does not",
    ),
    "ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL": (
        "",
        "what the writer allows for other items does not fit the reader's item",
    ),
    "ADDITIONAL_ITEMS_REMOVED": ("additionalItems", "the writer allows others, the reader none"),
    "ADDITIONAL_ITEMS_NARROWED": ("additionalItems", "the reader restricts them, the writer does not"),
    "UNEVALUATED_ITEMS_REMOVED": ("unevaluatedItems", "the writer allows others, the reader none"),
    "UNEVALUATED_ITEMS_NARROWED": ("unevaluatedItems", "the reader restricts them, the writer does not"),
    "CONTAINS_ADDED": ("contains", "the reader expects an item that the writer does not"),
    "COMBINED_TYPE_CHANGED": ("", "the writer combines schemas in another way"),
    "COMBINED_TYPE_SUBSCHEMAS_CHANGED": ("", "the combined schemas do not fit each other"),
    "PRODUCT_TYPE_EXTENDED": ("", "the reader's allOf has more schemas"),
    "SUM_TYPE_NARROWED": ("", "the writer has choices that the reader has not"),
}


def reason(name: str, where: str) -> str:
    """Return the message of a change.

    :param where: the place of the schema; the keyword is added.
    """
    if name in _WORDS:
        keyword, words = _WORDS[name]
    else:
        keyword, words = _limit(name)
    place = below(where, keyword) if keyword else where
    return f"{name} at {place or '/'}: {words}"


def _limit(name: str) -> tuple[str, str]:
    """Return the keyword of a limit's change, such as ``MAX_LENGTH_ADDED``, and its words."""
    limit = name.rpartition("_")[0].replace("_", "").lower()
    keyword = next(one for one in _LIMITS if one.lower() == limit)
    return keyword, f"the reader limits {_LIMITS[keyword]} more than the writer"
