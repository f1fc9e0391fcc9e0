"""Tests of kafkatx.schemas.messages.json_check against ``jsonschema``."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator, Draft202012Validator
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.messages.json_check import quick_check

names = st.sampled_from(["a", "b", "c"])
scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-3, 3) | st.sampled_from(["", "a", "bc"])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
numbers = st.sampled_from([-1, 0, 1, 2])
plain_types = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null"])


def parts(inner: Any) -> Any:
    """Return a strategy of schemas that contain others."""
    return st.one_of(
        st.fixed_dictionaries({"type": plain_types}),
        st.fixed_dictionaries({"type": st.lists(plain_types, min_size=1, max_size=3, unique=True)}),
        st.fixed_dictionaries(
            {"type": st.sampled_from(["integer", "number"])},
            optional={"minimum": numbers, "exclusiveMaximum": numbers, "maximum": numbers},
        ),
        st.fixed_dictionaries({"type": st.just("string")}, optional={"minLength": numbers.map(abs)}),
        st.fixed_dictionaries(
            {"type": st.just("array"), "items": inner}, optional={"minItems": numbers.map(abs)}
        ),
        st.fixed_dictionaries(
            {"type": st.just("object")},
            optional={
                "properties": st.dictionaries(names, inner, max_size=3),
                "required": st.lists(names, max_size=2, unique=True),
                "additionalProperties": st.booleans() | inner,
                "patternProperties": st.just({"^a": False}),
            },
        ),
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"oneOf": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"enum": st.lists(scalars, min_size=1, max_size=2)}),
        st.just({}),
        st.booleans(),
        st.fixed_dictionaries({"title": st.just("t"), "not": inner}),
    )


schemas = st.recursive(st.fixed_dictionaries({"type": plain_types}), parts, max_leaves=6)


class QuickCheckTests(SynchronousTestCase):
    @given(schemas, values)
    def test_sound(self, schema: Any, value: Any) -> None:
        """It accepts nothing that jsonschema refuses, in old drafts and new ones."""
        if quick_check(schema)(value):
            for kind in (Draft7Validator, Draft202012Validator):
                self.assertTrue(kind(schema).is_valid(value), (schema, value))

    def test_accepts(self) -> None:
        """It accepts the usual values of the usual schemas."""
        schema = {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "title": "User",
            "type": "object",
            "properties": {
                "id": {"type": "integer", "minimum": 0},
                "name": {"oneOf": [{"type": "null"}, {"type": "string", "maxLength": 9}]},
                "tags": {"type": "array", "items": {"type": ["string", "null"]}},
                "score": {"type": "number"},
            },
            "required": ["id"],
            "additionalProperties": False,
        }
        check = quick_check(schema)
        self.assertTrue(check({"id": 1, "name": "a", "tags": ["x", None], "score": 1.5}))
        self.assertTrue(check({"id": 1, "name": None}))
        wrong: Any
        for wrong in ({}, {"id": -1}, {"id": True}, {"id": 1, "x": 1}, {"id": 1, "name": "a" * 10}, [], None):
            self.assertFalse(check(wrong), wrong)
        self.assertFalse(check({"id": 1, "score": float("nan")}))

    def test_deep(self) -> None:
        """A schema that is nested too deeply is left to jsonschema."""
        schema: Any = {"type": "integer"}
        value: Any = 1
        for _ in range(40):
            schema, value = {"type": "array", "items": schema}, [value]
        self.assertFalse(quick_check(schema)(value))
