"""Verdicts on JSON Schema: those of Confluent's public tests of its strict policy.

The schemas are our own; the changes and verdicts are theirs. Most of their tests exist for draft 7 and for
2020-12, and so do ours.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafkatx.schemas.json_text import JSON, Object, dump
from kafkatx.schemas.types import SchemaType
from tests.schemas.verdicts.case import Case

Change = tuple[str, JSON, JSON, bool]
"""The change in words, the old schema, the new one, and the verdict."""

TEXT: Object = {"type": "string"}
NUMBER: Object = {"type": "number"}
WHOLE: Object = {"type": "integer"}
FLAG: Object = {"type": "boolean"}
NULL: Object = {"type": "null"}
MAYBE: Object = {"oneOf": [NULL, TEXT]}
SIZES: JSON = ["S", "M", "L"]


def text(**rest: JSON) -> Object:
    """Return a schema of texts."""
    return {"type": "string", **rest}


def number(**rest: JSON) -> Object:
    """Return a schema of numbers."""
    return {"type": "number", **rest}


def array(**rest: JSON) -> Object:
    """Return a schema of arrays."""
    return {"type": "array", **rest}


def having(*, rest: Object | None = None, **properties: JSON) -> Object:
    """Return a schema of objects with these properties, and the keywords of *rest*."""
    return {"properties": properties, **(rest or {})}


def prop(schema: JSON) -> Object:
    """Return a schema of objects with one property."""
    return {"type": "object", "properties": {"size": schema}}


def closed(**properties: JSON) -> Object:
    """Return a schema of objects that have no other properties."""
    return having(rest={"additionalProperties": False}, **properties)


def partly(other: JSON, **properties: JSON) -> Object:
    """Return a schema of objects whose other properties fit a schema."""
    return having(rest={"additionalProperties": other}, **properties)


def patterned(**properties: JSON) -> Object:
    """Return a closed schema of objects with patterns."""
    patterns: Object = {"^t_": TEXT, "^n_": WHOLE}
    return having(rest={"additionalProperties": False, "patternProperties": patterns}, **properties)


def together(criterion: str, *members: JSON) -> Object:
    """Return a combination."""
    return {criterion: [*members]}


def tuple_of(*items: JSON, more: JSON = None) -> Object:
    """Return a schema of arrays with a schema for each of the first items, as draft 7 writes it."""
    return array(items=[*items], **({} if more is None else {"additionalItems": more}))


COMMON: dict[str, list[Change]] = {
    "annotations and types": [
        ("all keywords are removed", having(), {}, True),
        ("the id changes", {"$id": "one"}, {"$id": "two"}, True),
        ("the title changes", {"title": "one"}, {"title": "two"}, True),
        ("the description changes", {"description": "one"}, {"description": "two"}, True),
        ("the type changes", {"type": "object"}, {"type": "array"}, False),
        ("number becomes integer", NUMBER, WHOLE, False),
        ("integer becomes number", WHOLE, NUMBER, True),
        ("a list of types gets another", {"type": ["object"]}, {"type": ["object", "array"]}, True),
        ("a schema moves to a reference", TEXT, {"$ref": "#/$defs/t", "$defs": {"t": TEXT}}, True),
        ("a schema moves from a reference", {"$ref": "#/$defs/t", "$defs": {"t": TEXT}}, TEXT, True),
        (
            "the type of a referenced schema changes",
            {**array(items={"$ref": "#/$defs/t"}), "$defs": {"t": TEXT}},
            {**array(items={"$ref": "#/$defs/t"}), "$defs": {"t": NUMBER}},
            False,
        ),
        (
            "both types are bytes of Connect",
            number(**{"connect.type": "bytes"}),
            text(**{"connect.type": "bytes"}),
            True,
        ),
    ],
    "texts": [
        ("minLength grows", text(minLength=3), text(minLength=4), False),
        ("minLength shrinks", text(minLength=4), text(minLength=3), True),
        ("maxLength grows", text(maxLength=8), text(maxLength=9), True),
        ("maxLength shrinks", text(maxLength=9), text(maxLength=8), False),
        ("a pattern is removed", text(pattern="^a"), TEXT, True),
        ("a pattern changes", text(pattern="^a"), text(pattern="^b"), False),
        ("a pattern stays", text(pattern="^a"), text(pattern="^a"), True),
    ],
    "numbers": [
        ("maximum is removed", number(maximum=5), NUMBER, True),
        ("maximum grows", number(maximum=5), number(maximum=6), True),
        ("maximum shrinks", number(maximum=6), number(maximum=5), False),
        ("minimum is removed", number(minimum=5), NUMBER, True),
        ("minimum grows", number(minimum=5), number(minimum=6), False),
        ("minimum shrinks", number(minimum=6), number(minimum=5), True),
        ("multipleOf is removed", number(multipleOf=6), NUMBER, True),
        ("multipleOf becomes a part of it", number(multipleOf=6), number(multipleOf=3), True),
        ("multipleOf becomes a multiple of it", number(multipleOf=0.5), number(multipleOf=2), False),
        ("multipleOf becomes another", number(multipleOf=6), number(multipleOf=7), False),
        ("multipleOf is written otherwise", number(multipleOf=1), number(multipleOf=1.0), True),
    ],
    "enum, const and not": [
        ("not excludes less", {"not": NUMBER}, {"not": WHOLE}, True),
        ("not excludes more", {"not": WHOLE}, {"not": NUMBER}, False),
        ("an enum is removed, the type stays", text(enum=["S"]), TEXT, True),
        ("const changes", having(size={"const": "S"}), having(size={"const": "M"}), False),
        (
            "enum changes",
            together("allOf", TEXT, {"enum": ["S"]}),
            together("allOf", TEXT, {"enum": ["M"]}),
            False,
        ),
        (
            "enum grows",
            together("allOf", TEXT, {"enum": ["S"]}),
            together("allOf", {"enum": ["S", "M"]}, TEXT),
            True,
        ),
    ],
    "properties": [
        ("an optional property is replaced by another", having(size=TEXT), having(mass=TEXT), False),
        ("a property's type changes", having(size=TEXT), having(size=NUMBER), False),
        ("a property is added to an open model", having(size=TEXT), having(size=TEXT, mass=NUMBER), False),
        ("a property is added to a closed model", closed(size=TEXT), closed(size=TEXT, mass=NUMBER), True),
        (
            "a property of the same type is added to a closed model",
            closed(size=TEXT),
            closed(size=TEXT, mass=TEXT),
            True,
        ),
        (
            "a property is added that a pattern covers",
            patterned(size=TEXT),
            patterned(size=TEXT, n_1=NUMBER),
            True,
        ),
        (
            "a property is added that fits the others",
            partly(TEXT, size=TEXT),
            partly(TEXT, size=TEXT, mass=TEXT),
            True,
        ),
        (
            "a property is added that does not fit the others",
            partly(TEXT, size=TEXT),
            partly(TEXT, size=TEXT, mass=NUMBER),
            False,
        ),
        (
            "a required property is added that fits the others",
            partly(TEXT, size=TEXT),
            {**partly(TEXT, size=TEXT, mass=TEXT), "required": ["mass"]},
            False,
        ),
        (
            "a property is removed that a pattern covers",
            closed(size=TEXT, n_1=WHOLE),
            {**patterned(size=TEXT), "patternProperties": {"^n_": NUMBER}},
            True,
        ),
        (
            "a property is removed that fits the others",
            closed(size=TEXT, mass=TEXT),
            partly(TEXT, size=TEXT),
            True,
        ),
        (
            "a property is removed that does not fit the others",
            closed(size=TEXT, mass=NUMBER),
            partly(TEXT, size=TEXT),
            False,
        ),
        (
            "a property is removed that fits a choice of others",
            closed(size=TEXT, mass=MAYBE),
            partly(MAYBE, size=TEXT),
            True,
        ),
        (
            "a property is removed that is one of a choice of others",
            closed(size=TEXT, mass=TEXT),
            partly(MAYBE, size=TEXT),
            True,
        ),
        ("any value is added to an open model", partly(True), partly(True, size=True), True),
        ("any value is removed from an open model", partly(True, size=True), partly(True), True),
        ("a forbidden property is added to a closed model", closed(), closed(size=False), True),
        ("a forbidden property is removed from a closed model", closed(size=False), closed(), True),
        ("required is removed", {**having(size=TEXT), "required": ["size"]}, having(size=TEXT), True),
        ("required is added", having(size=TEXT), {**having(size=TEXT), "required": ["size"]}, False),
        (
            "required changes to a property that is not named",
            {**having(size=TEXT), "required": ["size"]},
            {**having(size=TEXT), "required": ["mass"]},
            True,
        ),
        ("maxProperties is removed", {**having(), "maxProperties": 3}, having(), True),
        ("maxProperties grows", {"maxProperties": 3}, {"maxProperties": 4}, True),
        ("maxProperties shrinks", {"maxProperties": 4}, {"maxProperties": 3}, False),
        ("minProperties is removed", {**having(), "minProperties": 3}, having(), True),
        ("minProperties grows", {"minProperties": 3}, {"minProperties": 4}, False),
        ("minProperties shrinks", {"minProperties": 4}, {"minProperties": 3}, True),
        ("a closed model opens", closed(), having(), True),
        ("an open model closes", partly(True), partly(False), False),
        ("others must fit a schema", partly(True), partly(NUMBER), False),
        ("others must fit another schema", partly(TEXT), partly(NUMBER), False),
    ],
    "arrays": [
        ("items get a schema", array(), array(items=TEXT), False),
        ("items lose their schema", array(items=TEXT), array(), True),
        ("maxItems shrinks", array(maxItems=4), array(maxItems=3), False),
        ("minItems is removed", array(minItems=3), array(), True),
        ("minItems grows", array(minItems=3), array(minItems=4), False),
        ("minItems shrinks", array(minItems=4), array(minItems=3), True),
        ("uniqueItems is removed", array(uniqueItems=True), array(), True),
    ],
    "combinations": [
        ("a choice of one changes", together("oneOf", TEXT), together("oneOf", NUMBER), False),
        ("a choice grows", together("oneOf", TEXT), together("oneOf", NUMBER, TEXT), True),
        ("a choice grows at the front", together("oneOf", NUMBER), together("oneOf", TEXT, NUMBER), True),
        ("a type becomes a choice with it", TEXT, together("oneOf", NUMBER, TEXT), True),
        ("null becomes a choice with it", NULL, together("oneOf", NUMBER, NULL), True),
        ("a narrower type becomes a choice", text(maxLength=3), together("oneOf", NUMBER, TEXT), True),
        (
            "a schema in a choice changes",
            together("oneOf", having(size=TEXT)),
            together("oneOf", having(size=NUMBER)),
            False,
        ),
        ("oneOf becomes allOf, of one", together("oneOf", TEXT), together("allOf", TEXT), True),
        ("oneOf of two becomes allOf of one", together("oneOf", TEXT, WHOLE), together("allOf", TEXT), False),
        (
            "members change places",
            prop(together("allOf", {"enum": SIZES}, TEXT, {"maxLength": 5})),
            prop(together("allOf", {"maxLength": 5}, {"enum": SIZES}, TEXT)),
            True,
        ),
        (
            "a member of allOf changes",
            prop(together("allOf", {"enum": SIZES}, TEXT, {"maxLength": 5})),
            prop(together("allOf", {"maxLength": 5}, {"enum": SIZES}, NUMBER)),
            False,
        ),
        (
            "a double member is removed",
            prop(together("allOf", TEXT, TEXT)),
            prop(together("allOf", TEXT)),
            True,
        ),
        (
            "a double member is added",
            prop(together("allOf", TEXT)),
            prop(together("allOf", TEXT, TEXT)),
            True,
        ),
        ("oneOf gets a member", prop(together("oneOf", TEXT)), prop(together("oneOf", NUMBER, TEXT)), True),
        (
            "oneOf gets two members",
            prop(together("oneOf", TEXT)),
            prop(together("oneOf", FLAG, NUMBER, TEXT)),
            True,
        ),
        (
            "oneOf gets members, one gets wider",
            prop(together("oneOf", text(maxLength=5))),
            prop(together("oneOf", FLAG, NUMBER, text(title="t", maxLength=8))),
            True,
        ),
        ("oneOf loses a member", prop(together("oneOf", NUMBER, TEXT)), prop(together("oneOf", TEXT)), False),
        (
            "allOf loses a member",
            prop(together("allOf", {"enum": SIZES}, TEXT)),
            prop(together("allOf", TEXT)),
            True,
        ),
        (
            "allOf gets a member",
            prop(together("allOf", TEXT)),
            prop(together("allOf", {"enum": SIZES}, TEXT)),
            False,
        ),
        ("oneOf becomes anyOf", prop(together("oneOf", TEXT)), prop(together("anyOf", TEXT)), True),
        (
            "oneOf becomes anyOf with more",
            prop(together("oneOf", TEXT)),
            prop(together("anyOf", NUMBER, TEXT)),
            True,
        ),
        ("allOf becomes anyOf", prop(together("allOf", TEXT)), prop(together("anyOf", TEXT)), True),
        (
            "oneOf becomes anyOf with fewer",
            prop(together("oneOf", NUMBER, TEXT)),
            prop(together("anyOf", TEXT)),
            False,
        ),
        (
            "allOf becomes anyOf with more",
            prop(together("allOf", TEXT)),
            prop(together("anyOf", NUMBER, TEXT)),
            True,
        ),
        (
            "allOf becomes anyOf with fewer",
            prop(together("allOf", NUMBER, TEXT)),
            prop(together("anyOf", TEXT)),
            True,
        ),
        (
            "anyOf becomes oneOf with more",
            prop(together("anyOf", TEXT)),
            prop(together("oneOf", NUMBER, TEXT)),
            True,
        ),
        (
            "anyOf becomes oneOf with fewer",
            prop(together("anyOf", NUMBER, TEXT)),
            prop(together("oneOf", TEXT)),
            False,
        ),
        (
            "allOf becomes oneOf with more",
            prop(together("allOf", NUMBER)),
            prop(together("oneOf", NUMBER, TEXT)),
            True,
        ),
        (
            "allOf becomes oneOf with fewer",
            prop(together("allOf", NUMBER, TEXT)),
            prop(together("oneOf", TEXT)),
            True,
        ),
        ("anyOf becomes allOf", prop(together("anyOf", TEXT)), prop(together("allOf", TEXT)), True),
        (
            "anyOf becomes allOf with more",
            prop(together("anyOf", TEXT)),
            prop(together("allOf", NUMBER, TEXT)),
            False,
        ),
        (
            "oneOf becomes allOf with more",
            prop(together("oneOf", TEXT)),
            prop(together("allOf", NUMBER, TEXT)),
            False,
        ),
        ("a type becomes anyOf with it", prop(TEXT), prop(together("anyOf", NUMBER, TEXT)), True),
        ("a type becomes allOf of it", prop(TEXT), prop(together("allOf", TEXT)), True),
        ("a type becomes allOf with another", prop(TEXT), prop(together("allOf", NUMBER, TEXT)), False),
    ],
}

TUPLES: list[Change] = [
    ("a tuple is removed", tuple_of(TEXT, NUMBER), array(), True),
    (
        "an item is added that fits the others",
        tuple_of(TEXT, more=TEXT),
        tuple_of(TEXT, TEXT, more=TEXT),
        True,
    ),
    (
        "an item is added that does not fit the others",
        tuple_of(TEXT, more=TEXT),
        tuple_of(TEXT, NUMBER, more=TEXT),
        False,
    ),
    (
        "an item is removed that fits the others",
        tuple_of(TEXT, TEXT, more=TEXT),
        tuple_of(TEXT, more=TEXT),
        True,
    ),
    (
        "an item is removed that is a choice as the others",
        tuple_of(TEXT, MAYBE, more=MAYBE),
        tuple_of(TEXT, more=MAYBE),
        True,
    ),
    (
        "an item is removed that does not fit the others",
        tuple_of(TEXT, NUMBER, more=TEXT),
        tuple_of(TEXT, more=TEXT),
        False,
    ),
    ("an item's type changes", tuple_of(TEXT), tuple_of(NUMBER), False),
    (
        "any item is added to an open model",
        tuple_of(NUMBER, more=True),
        tuple_of(NUMBER, True, more=True),
        True,
    ),
    (
        "any item is removed from an open model",
        tuple_of(NUMBER, True, more=True),
        tuple_of(NUMBER, more=True),
        True,
    ),
    (
        "a forbidden item is added to a closed model",
        tuple_of(NUMBER, more=False),
        tuple_of(NUMBER, False, more=False),
        True,
    ),
    (
        "a forbidden item is removed from a closed model",
        tuple_of(NUMBER, False, more=False),
        tuple_of(NUMBER, more=False),
        True,
    ),
    (
        "an item is added to a closed model, which opens",
        tuple_of(TEXT, more=False),
        tuple_of(TEXT, FLAG, more=True),
        True,
    ),
    (
        "an item is removed from a closed model, which opens",
        tuple_of(TEXT, FLAG, more=False),
        tuple_of(TEXT, more=True),
        True,
    ),
    (
        "an item is removed from an open model",
        tuple_of(TEXT, NUMBER, more=True),
        tuple_of(TEXT, more=True),
        True,
    ),
    (
        "an item is added to a closed model",
        tuple_of(TEXT, more=False),
        tuple_of(TEXT, NUMBER, more=False),
        True,
    ),
    (
        "an item is removed from a closed model, others fit it",
        tuple_of(TEXT, NUMBER, more=False),
        tuple_of(TEXT, more=NUMBER),
        True,
    ),
    (
        "an item is added that the others fit",
        tuple_of(TEXT, more=NUMBER),
        tuple_of(TEXT, NUMBER, more=True),
        True,
    ),
]

DRAFT_7: list[Change] = [
    ("items without a tuple close", {"additionalItems": True}, {"additionalItems": False}, False),
    ("others must fit another schema", {"additionalItems": TEXT}, {"additionalItems": NUMBER}, False),
    (
        "a property requires another than before",
        {"dependencies": {"a": ["b"]}},
        {"dependencies": {"b": ["a"]}},
        False,
    ),
    (
        "one of two dependencies is removed",
        {"dependencies": {"a": TEXT, "b": TEXT}},
        {"dependencies": {"a": TEXT}},
        True,
    ),
    ("the dependency is removed", {"dependencies": {"a": TEXT}}, {"dependencies": {}}, True),
    ("a dependency's type changes", {"dependencies": {"a": TEXT}}, {"dependencies": {"a": NUMBER}}, False),
    ("a dependency moves", {"dependencies": {"a": TEXT}}, {"dependencies": {"b": TEXT}}, False),
]

ELSE: Object = {"unevaluatedProperties": TEXT}
COUNTED = array(contains=NUMBER)

SINCE_2019: list[Change] = [
    (
        "a property is added where others are not evaluated",
        having(rest={"unevaluatedProperties": False}, a=TEXT),
        having(rest={"unevaluatedProperties": False}, a=TEXT, b=NUMBER),
        True,
    ),
    (
        "a property is added that fits unevaluated ones",
        having(rest=ELSE, a=TEXT),
        having(rest=ELSE, a=TEXT, b=TEXT),
        True,
    ),
    (
        "a property is added that does not fit unevaluated ones",
        having(rest=ELSE, a=TEXT),
        having(rest=ELSE, a=TEXT, b=NUMBER),
        False,
    ),
    (
        "a required property is added that fits unevaluated ones",
        having(rest=ELSE, a=TEXT),
        having(rest={**ELSE, "required": ["b"]}, a=TEXT, b=TEXT),
        False,
    ),
    ("minContains is removed", {**COUNTED, "minContains": 1}, COUNTED, True),
    ("minContains grows", {**COUNTED, "minContains": 1}, {**COUNTED, "minContains": 2}, False),
    ("minContains shrinks", {**COUNTED, "minContains": 2}, {**COUNTED, "minContains": 1}, True),
    (
        "a property requires another than before",
        {"dependentRequired": {"a": ["b"]}},
        {"dependentRequired": {"b": ["a"]}},
        False,
    ),
    (
        "one of two dependent schemas is removed",
        {"dependentSchemas": {"a": TEXT, "b": TEXT}},
        {"dependentSchemas": {"a": TEXT}},
        True,
    ),
    ("the dependent schema is removed", {"dependentSchemas": {"a": TEXT}}, {"dependentSchemas": {}}, True),
    (
        "a dependent schema's type changes",
        {"dependentSchemas": {"a": TEXT}},
        {"dependentSchemas": {"a": NUMBER}},
        False,
    ),
    ("a dependent schema moves", {"dependentSchemas": {"a": TEXT}}, {"dependentSchemas": {"b": TEXT}}, False),
]

UNEVALUATED_ITEMS = TUPLES[1:6]


def modern(schema: JSON, rest: str = "items") -> JSON:
    """Return the schema of a tuple as 2020-12 writes it."""
    if not isinstance(schema, dict) or "items" not in schema:
        return schema
    written: Object = {key: one for key, one in schema.items() if key not in ("items", "additionalItems")}
    written["prefixItems"] = schema["items"]
    if "additionalItems" in schema:
        written[rest] = schema["additionalItems"]
    return written


def recursive(first: str, second: str) -> Object:
    """Return schemas that refer to each other in a circle, in a choice; the ids of two have these types."""

    def thing(id_type: str, target: str) -> JSON:
        choice: JSON = {"oneOf": [{"$ref": f"#/definitions/{target}"}]}
        return {"type": "object", "properties": {"id": {"type": id_type}, "next": choice}}

    things: Object = {"a": thing(first, "c"), "b": thing(second, "c"), "c": thing("integer", "a")}
    choice: JSON = {"oneOf": [{"$ref": "#/definitions/a"}, {"$ref": "#/definitions/b"}]}
    return {"type": "object", "definitions": things, "properties": {"root": choice}}


RECURSIVE: list[Change] = [
    (
        "nothing changes in a circle of references",
        recursive("string", "string"),
        recursive("string", "string"),
        True,
    ),
    (
        "a type changes in a circle of references",
        recursive("string", "string"),
        recursive("number", "string"),
        False,
    ),
    (
        "a type in a circle changes that another relies on",
        recursive("string", "integer"),
        recursive("number", "integer"),
        False,
    ),
]


def cases() -> Iterator[Case]:
    """Yield the rows."""
    for group, changes in COMMON.items():
        yield from _cases(group, changes, 7)
        yield from _cases(group, changes, 2020)
    yield from _cases("tuples", TUPLES, 7)
    yield from _cases(
        "tuples", [(one, modern(old), modern(new), good) for one, old, new, good in TUPLES], 2020
    )
    unevaluated = [
        (one, modern(old, "unevaluatedItems"), modern(new, "unevaluatedItems"), good)
        for one, old, new, good in UNEVALUATED_ITEMS
    ]
    yield from _cases("tuples, others are not evaluated", unevaluated, 2020)
    yield from _cases("drafts up to 7", DRAFT_7, 7)
    yield from _cases("drafts since 2019", SINCE_2019, 2020)
    yield from _cases("circles", RECURSIVE, 7)


def _cases(group: str, changes: list[Change], draft: int) -> Iterator[Case]:
    url = (
        "https://json-schema.org/draft/2020-12/schema"
        if draft == 2020
        else "http://json-schema.org/draft-07/schema#"
    )
    for change, old, new, compatible in changes:
        texts = [dump({"$schema": url, **one} if isinstance(one, dict) else one) for one in (new, old)]
        yield Case(SchemaType.JSON, group, change, texts[0], (texts[1],), compatible)
