"""The engine of JSON Schema: names, texts, and input that is meant to hurt."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.json_text import JSON, dump
from kafkatx.schemas.types import InvalidSchema, Schema, SchemaType
from tests.schemas.json_schema.documents import ENGINE, parsed

_WORDS = st.sampled_from(
    [
        *(
            "$ref",
            "$id",
            "$defs",
            "#",
            "#/$defs/a",
            "a",
            "type",
            "object",
            "string",
            "properties",
            "items",
            "anyOf",
        ),
        *("allOf", "not", "additionalProperties", "patternProperties", "dependencies", "$anchor", "#a", "if"),
        *("http://x/y", "const", "enum", "required", "prefixItems", "$schema", "maxLength", "(a+)+$"),
    ]
)
ODD_JSON: st.SearchStrategy[JSON] = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | _WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_WORDS, inner, max_size=5),
    max_leaves=24,
)


class JsonSchemaEngineTests(SynchronousTestCase):
    def test_name(self) -> None:
        """The title is the name for subjects."""
        self.assertEqual(parsed({"title": "order"}).name, "order")
        self.assertEqual(parsed({}).name, "")
        self.assertEqual(parsed(True).name, "")

    def test_canonical(self) -> None:
        """Blanks and the order of keys make no difference, other keywords do."""
        one, other = (
            ENGINE.parse(Schema(text, SchemaType.JSON), {}) for text in ('{"a":1,"b":2}', '{ "b":2, "a":1 }')
        )
        self.assertEqual(one.canonical, other.canonical)
        self.assertEqual(one.normalized, '{"a":1,"b":2}')
        self.assertNotEqual(parsed({"title": "a"}).canonical, parsed({"title": "b"}).canonical)

    def test_dependency(self) -> None:
        """A referenced schema of another type, or that is no JSON, is refused with its name."""
        for schema, reason in (
            (Schema("{}"), "of type AVRO, not JSON"),
            (Schema("{", SchemaType.JSON), "is no JSON"),
        ):
            error = self.assertRaises(
                InvalidSchema, ENGINE.parse, Schema("{}", SchemaType.JSON), {"far": schema}
            )
            self.assertIn("the referenced schema 'far' ", str(error))
            self.assertIn(reason, str(error))

    @settings(max_examples=300, deadline=None)
    @given(st.text() | ODD_JSON.map(dump), ODD_JSON)
    def test_odd_texts(self, text: str, other: JSON) -> None:
        """Any text is a schema, or refused as one; what is taken is compared."""
        try:
            schemas = (
                ENGINE.parse(Schema(text, SchemaType.JSON), {}),
                parsed(other, {"http://x/y": {"$id": "a"}}),
            )
        except InvalidSchema:
            return
        for reader in schemas:
            for writer in schemas:
                ENGINE.incompatibilities(reader, writer)

    def test_many_references_to_a_large_schema(self) -> None:
        """Equal members are told apart without writing a large schema again and again."""
        large: JSON = {
            "type": "object",
            "properties": {f"p{number}": {"type": "string"} for number in range(3000)},
        }
        members: list[JSON] = [{"$ref": "#/$defs/large"} for _ in range(20_000)]
        schema = parsed({"anyOf": members, "$defs": {"large": large}})
        self.assertEqual(list(ENGINE.incompatibilities(schema, schema)), [])
