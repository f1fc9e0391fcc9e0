"""The comparison as a whole: data that fit a compatible schema, circles, bounds."""

from __future__ import annotations

from typing import Any

import jsonschema
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.json_text import JSON, Object
from tests.schemas.json_schema.documents import names, reasons


def _leaves() -> st.SearchStrategy[Any]:
    small = st.integers(0, 3)
    return (
        st.fixed_dictionaries({"type": st.just("string")}, optional={"maxLength": small, "minLength": small})
        | st.fixed_dictionaries(
            {"type": st.sampled_from(["number", "integer"])},
            optional={
                "maximum": small,
                "exclusiveMinimum": small,
                "multipleOf": st.sampled_from([0.5, 1, 2]),
            },
        )
        | st.sampled_from(
            [{"type": "null"}, {"type": "boolean"}, {"enum": [1, "a"]}, {"enum": [1]}, True, False]
        )
    )


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    rest = st.booleans() | inner
    properties = st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2)

    def require(schema: Object, required: bool) -> Object:
        named = schema["properties"]
        return {**schema, "required": [*named]} if required and isinstance(named, dict) else schema

    objects = st.fixed_dictionaries(
        {"type": st.just("object"), "properties": properties}, optional={"additionalProperties": rest}
    )
    tuples = st.fixed_dictionaries(
        {"type": st.just("array"), "prefixItems": st.lists(inner, max_size=2)}, optional={"items": rest}
    )
    lists = st.fixed_dictionaries(
        {"type": st.just("array")}, optional={"items": rest, "maxItems": st.integers(0, 2)}
    )
    combined = st.builds(
        lambda word, many: {word: many},
        st.sampled_from(["allOf", "anyOf"]),
        st.lists(inner, min_size=1, max_size=2),
    )
    return st.builds(require, objects, st.booleans()) | tuples | lists | combined


SCHEMAS: st.SearchStrategy[JSON] = st.recursive(_leaves(), _objects, max_leaves=4)
VALUES: st.SearchStrategy[JSON] = st.recursive(
    st.sampled_from([None, True, 0, 1, 2, 3, 0.5, 2.5, "", "a", "abc"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=4,
)


class ComparisonTests(SynchronousTestCase):
    @settings(max_examples=600, deadline=None)
    @given(SCHEMAS, SCHEMAS, st.lists(VALUES, max_size=8))
    def test_sound(self, old: JSON, new: JSON, values: list[JSON]) -> None:
        """A value that fits the old schema fits the new one, too, where the two are compatible."""
        if reasons(old, new):
            return
        assert isinstance(old, (dict, bool)) and isinstance(new, (dict, bool))
        before, after = jsonschema.Draft202012Validator(old), jsonschema.Draft202012Validator(new)
        for value in values:
            if before.is_valid(value):
                self.assertTrue(after.is_valid(value), (old, new, value))

    @settings(max_examples=300, deadline=None)
    @given(SCHEMAS)
    def test_itself(self, schema: JSON) -> None:
        """A schema is compatible with itself."""
        self.assertEqual(list(reasons(schema, schema)), [])

    def test_combined_kinds(self) -> None:
        """Lists of types, and types beside other keywords."""
        self.assertEqual(names({"type": "string"}, {"type": ["string", "null"]}), [])
        self.assertEqual(names({"type": ["string", "null"]}, {"type": "string"}), ["TYPE_CHANGED"])
        self.assertEqual(names({"type": ["string", "null"]}, {"type": ["null", "string", "number"]}), [])
        self.assertEqual(
            names({"type": ["string", "null"]}, {"type": ["string", "number"]}),
            ["COMBINED_TYPE_SUBSCHEMAS_CHANGED"],
        )
        self.assertEqual(names({"type": "string"}, {"type": "string", "enum": ["a"]}), ["TYPE_CHANGED"])

    def test_circle(self) -> None:
        """A difference deep in a circle is found; the same circle is compatible."""

        def tree(value: str) -> JSON:
            node: JSON = {
                "type": "object",
                "properties": {"v": {"type": value}, "l": {"$ref": "#/definitions/n"}},
            }
            return {"$ref": "#/definitions/n", "definitions": {"n": node}}

        self.assertEqual(names(tree("string"), tree("string")), [])
        self.assertEqual(set(names(tree("string"), tree("number"))), {"TYPE_CHANGED"})

    def test_circle_that_others_rely_on(self) -> None:
        """A pair that counted as compatible while it was compared does not make others so."""

        def things(first: str, *more: JSON) -> JSON:
            defined: Object = {
                name: {
                    "type": "object",
                    "properties": {"next": {"$ref": f"#/definitions/{target}"}, "id": {"type": kind}},
                }
                for name, kind, target in (("a", first, "c"), ("b", "boolean", "c"), ("c", "null", "a"))
            }
            members: list[JSON] = [{"$ref": "#/definitions/a"}, {"$ref": "#/definitions/b"}, *more]
            return {"definitions": defined, "anyOf": members}

        self.assertEqual(names(things("string"), things("string", {"type": "object"})), [])
        self.assertEqual(
            names(things("string"), things("number", {"type": "object"})),
            ["COMBINED_TYPE_SUBSCHEMAS_CHANGED"],
        )

    def test_siblings_chain(self) -> None:
        """Thousands of references with keywords beside them are compared."""
        many = 3000
        chain: Object = {
            f"n{one}": {"maxLength": one + 9, "items": {"$ref": f"#/$defs/n{one + 1}"}} for one in range(many)
        }
        refer: Object = {
            f"r{one}": {"title": "t", "minLength": 1, "not": {"$ref": f"#/$defs/r{one + 1}"}}
            for one in range(many)
        }
        schema: JSON = {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "anyOf": [{"$ref": "#/$defs/n0"}, {"$ref": "#/$defs/r0"}],
            "$defs": {**chain, **refer, f"n{many}": True, f"r{many}": {"type": "null"}},
        }
        self.assertEqual(names(schema, schema), [])

    def test_chain(self) -> None:
        """Thousands of schemas that refer to each other are compared."""
        many = 4000
        chain: Object = {
            f"n{number}": {"items": {"$ref": f"#/$defs/n{number + 1}"}} for number in range(many)
        }
        old: JSON = {"$ref": "#/$defs/n0", "$defs": {**chain, f"n{many}": {"type": "string"}}}
        new: JSON = {"$ref": "#/$defs/n0", "$defs": {**chain, f"n{many}": {"type": "number"}}}
        self.assertEqual(names(old, old), [])
        self.assertEqual(names(old, new), ["TYPE_CHANGED"])

    def test_many_events(self) -> None:
        """A choice between 100 kinds of events with 20 properties each is compared."""

        def catalogue(types: list[str]) -> JSON:
            events: list[JSON] = []
            for number in range(100):
                rest: Object = {f"p{one}": {"type": types[one % len(types)]} for one in range(20)}
                events.append({"type": "object", "properties": {"kind": {"const": number}, **rest}})
            return {"oneOf": events}

        one, other = catalogue(["string", "number"]), catalogue(["string", "integer"])
        self.assertEqual(names(other, one), [])
        self.assertEqual(names(one, other), ["COMBINED_TYPE_SUBSCHEMAS_CHANGED"])

    def test_too_large(self) -> None:
        """A comparison that would take very long ends with that as its reason."""
        old: JSON = {"anyOf": [{"type": "string", "maxLength": number} for number in range(700)]}
        new: JSON = {"anyOf": [{"type": "string", "minLength": number + 1} for number in range(700)]}
        self.assertEqual(list(reasons(old, new)), ["the schemas are too large to compare"])

    def test_many_reasons(self) -> None:
        """A comparison tells a bounded number of reasons."""
        old: JSON = {"properties": {f"p{number}": {"type": "string"} for number in range(500)}}
        new: JSON = {"properties": {f"p{number}": {"type": "number"} for number in range(500)}}
        self.assertEqual(len(reasons(old, new)), 100)
