"""Objects: the reasons beyond the table of verdicts."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.json_text import JSON, Object
from tests.schemas.json_schema.documents import names

TEXT: Object = {"type": "string"}
NUMBER: Object = {"type": "number"}


def object_of(**keywords: JSON) -> Object:
    """Return a schema of objects."""
    return {"type": "object", **keywords}


class ObjectsTests(SynchronousTestCase):
    def test_defaults(self) -> None:
        """A property with a default may become required, or be added as required to a closed model."""
        with_default: Object = {"type": "string", "default": ""}
        old = object_of(properties={"a": TEXT}, additionalProperties=False)
        self.assertEqual(names(old, object_of(properties={"a": with_default}, required=["a"])), [])
        new = object_of(properties={"a": TEXT, "b": with_default}, required=["b"], additionalProperties=False)
        self.assertEqual(names(old, new), [])
        opened = object_of(properties={"a": TEXT, "b": with_default}, required=["b"])
        self.assertEqual(
            names(object_of(properties={"a": TEXT}), opened),
            ["REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL"],
        )

    def test_names(self) -> None:
        """Restricted names are compared, which Confluent's registry does not."""
        short: Object = {"maxLength": 3}
        self.assertEqual(names(object_of(), object_of(propertyNames=short)), ["PROPERTY_NAMES_ADDED"])
        self.assertEqual(names(object_of(propertyNames=short), object_of()), [])
        self.assertEqual(
            names(object_of(propertyNames={"maxLength": 4}), object_of(propertyNames=short)),
            ["MAX_LENGTH_DECREASED"],
        )

    def test_patterns(self) -> None:
        """Patterns are compared with those before, or with the rest of the model."""
        texts = object_of(patternProperties={"^t": TEXT})
        numbers = object_of(patternProperties={"^t": NUMBER})
        shut: Object = {"additionalProperties": False}
        self.assertEqual(names(texts, texts), [])
        self.assertEqual(names(texts, numbers), ["TYPE_CHANGED"])
        self.assertEqual(names(object_of(), texts), ["PATTERN_PROPERTY_ADDED"])
        self.assertEqual(names(object_of(**shut), {**texts, **shut}), [])
        self.assertEqual(names({**texts, **shut}, object_of(**shut)), ["PATTERN_PROPERTY_REMOVED"])
        self.assertEqual(names(texts, object_of()), [])

    def test_pattern_that_explodes(self) -> None:
        """A pattern that could take years is not evaluated, and the change is refused."""
        shut: Object = {"additionalProperties": False, "patternProperties": {"^(a+)+$": TEXT}}
        old = object_of(properties={"a" * 60: TEXT}, additionalProperties=False)
        self.assertEqual(names(old, object_of(**shut)), ["PATTERN_NOT_EVALUATED"])
        self.assertEqual(
            names(object_of(**shut), object_of(properties={"a" * 60: TEXT}, **shut)),
            ["PATTERN_NOT_EVALUATED"],
        )

    def test_unevaluated(self) -> None:
        """Properties that are not evaluated are a rest as the additional ones are."""
        shut, texts = object_of(unevaluatedProperties=False), object_of(unevaluatedProperties=TEXT)
        self.assertEqual(names(object_of(), shut), ["UNEVALUATED_PROPERTIES_REMOVED"])
        self.assertEqual(names(object_of(), texts), ["UNEVALUATED_PROPERTIES_NARROWED"])
        self.assertEqual(names(shut, texts), [])
        self.assertEqual(names(texts, object_of(unevaluatedProperties=NUMBER)), ["TYPE_CHANGED"])

    def test_dependencies(self) -> None:
        """Dependencies of any draft are compared: fewer are fine, more are not."""
        for keyword in ("dependencies", "dependentRequired"):
            one: Object = {"type": "object", keyword: {"a": ["b"]}}
            two: Object = {"type": "object", keyword: {"a": ["b", "c"]}}
            other: Object = {"type": "object", keyword: {"a": ["d"]}}
            self.assertEqual(names(two, one), [])
            self.assertEqual(names(one, two), ["DEPENDENCY_ARRAY_EXTENDED"])
            self.assertEqual(names(object_of(), one), ["DEPENDENCY_ARRAY_ADDED"])
            self.assertEqual(names(one, other), ["DEPENDENCY_ARRAY_CHANGED"])
        self.assertEqual(
            names(object_of(), object_of(dependentSchemas={"a": TEXT})), ["DEPENDENCY_SCHEMA_ADDED"]
        )
