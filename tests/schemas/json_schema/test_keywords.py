"""The values that keywords may have."""

from __future__ import annotations

import jsonschema
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.json_text import JSON, Object
from kafkatx.schemas.types import InvalidSchema
from tests.schemas.json_schema.documents import parsed

REFUSED: list[tuple[JSON, str]] = [
    (1, "at /: a schema is an object, true or false, not 1"),
    (None, "at /: "),
    ({"type": "strnig"}, "at /type: it must be one or several of array, boolean"),
    ({"type": []}, "at /type: "),
    ({"type": ["string", "string"]}, "at /type: "),
    ({"minLength": -1}, "at /minLength: it must be a whole number"),
    ({"minLength": 1.5}, "at /minLength: "),
    ({"minLength": True}, "at /minLength: "),
    ({"multipleOf": 0}, "at /multipleOf: "),
    ({"maximum": "1"}, "at /maximum: it must be a number"),
    ({"pattern": 1}, "at /pattern: it must be a text"),
    ({"required": True}, "at /required: "),
    ({"required": ["a", "a"]}, "at /required: "),
    ({"enum": 1}, "at /enum: "),
    ({"uniqueItems": 1}, "at /uniqueItems: "),
    ({"title": 1}, "at /title: "),
    ({"properties": []}, "at /properties: it must be an object of schemas"),
    ({"properties": {"a/b": 1}}, "at /properties/a~1b: a schema is"),
    ({"allOf": {}}, "at /allOf: it must be a list of schemas"),
    ({"items": [{"items": 1}]}, "at /items/0/items: "),
    ({"not": {"not": []}}, "at /not/not: "),
    ({"dependencies": []}, "at /dependencies: "),
    ({"dependencies": {"a": ["b", 1]}}, "at /dependencies/a: "),
    ({"dependentRequired": {"a": {}}}, "at /dependentRequired: "),
]

_PLAIN: st.SearchStrategy[JSON] = st.sampled_from(
    [None, True, False, -1, 0, 1, 1.0, 1.5, "", "a", "string", "integer", "object"]
)
_VALUES: st.SearchStrategy[JSON] = st.recursive(
    _PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["a", "type", "minLength", "enum", "not", "items"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)
_KEYWORDS = st.sampled_from(
    [
        *(
            "type",
            "minLength",
            "maxLength",
            "pattern",
            "maximum",
            "exclusiveMinimum",
            "multipleOf",
            "required",
        ),
        *("properties", "patternProperties", "additionalProperties", "minProperties", "items", "minItems"),
        *(
            "uniqueItems",
            "contains",
            "allOf",
            "anyOf",
            "not",
            "if",
            "then",
            "title",
            "dependentRequired",
            "enum",
        ),
    ]
)


class KeywordsTests(SynchronousTestCase):
    def test_refused(self) -> None:
        """A keyword with a value that it may not have is refused with its place."""
        for document, reason in REFUSED:
            self.assertIn(reason, str(self.assertRaises(InvalidSchema, parsed, document)), document)

    def test_no_keywords(self) -> None:
        """Values and properties that look like keywords are not checked as such."""
        parsed(
            {"properties": {"type": {}, "$ref": {}}, "default": {"type": 1}, "enum": [{"$ref": 1}], "mine": 1}
        )
        parsed({"exclusiveMaximum": True, "maximum": 1, "minLength": 1.0})

    @settings(max_examples=400, deadline=None)
    @given(st.dictionaries(_KEYWORDS, _VALUES, min_size=1, max_size=3))
    def test_as_the_meta_schema(self, document: Object) -> None:
        """A schema is taken if and only if the meta-schema of draft 7 or of 2020-12 takes it."""
        theirs = False
        for validator in (jsonschema.Draft202012Validator, jsonschema.Draft7Validator):
            try:
                validator.check_schema(document)
                theirs = True
            except jsonschema.SchemaError:
                continue
        try:
            parsed(document)
            ours = True
        except InvalidSchema:
            ours = False
        self.assertEqual(ours or _only_lenient(document), theirs or _only_lenient(document))


def _only_lenient(value: JSON) -> bool:
    """Return True for documents where the engine takes more, or where the two drafts are mixed."""
    if isinstance(value, dict):
        flags = isinstance(value.get("exclusiveMinimum"), bool)
        empty = any(value.get(key) == [] for key in ("allOf", "anyOf", "items"))
        tuples = isinstance(value.get("items"), list) or "dependentRequired" in value
        return flags or empty or tuples or any(_only_lenient(one) for one in value.values())
    return isinstance(value, list) and any(_only_lenient(one) for one in value)
