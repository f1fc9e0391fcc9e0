"""Arrays: the reasons beyond the table of verdicts."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.json_text import JSON, Object
from tests.schemas.json_schema.documents import names, reasons

TEXT: Object = {"type": "string"}
NUMBER: Object = {"type": "number"}


def array(**keywords: JSON) -> Object:
    """Return a schema of arrays."""
    return {"type": "array", **keywords}


class ArraysTests(SynchronousTestCase):
    def test_closed(self) -> None:
        """An item that a closed model does not name is refused."""
        old, new = (
            array(items=[TEXT, TEXT], additionalItems=False),
            array(items=[TEXT], additionalItems=False),
        )
        self.assertEqual(names(old, new), ["ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL"])
        self.assertIn("at /items/1: ", reasons(old, new)[0])

    def test_open(self) -> None:
        """An item is not added to an open model, in the words of any draft."""
        self.assertEqual(names(array(), array(items=[TEXT])), ["ITEM_ADDED_TO_OPEN_CONTENT_MODEL"])
        self.assertEqual(names(array(), array(prefixItems=[TEXT])), ["ITEM_ADDED_TO_OPEN_CONTENT_MODEL"])
        self.assertEqual(names(array(items=[TEXT]), array(prefixItems=[TEXT])), [])

    def test_rest(self) -> None:
        """The items after a tuple are compared as the additional ones are."""
        self.assertEqual(
            names(array(prefixItems=[TEXT]), array(prefixItems=[TEXT], items=False)),
            ["ADDITIONAL_ITEMS_REMOVED"],
        )
        self.assertEqual(
            names(array(prefixItems=[TEXT]), array(prefixItems=[TEXT], items=NUMBER)),
            ["ADDITIONAL_ITEMS_NARROWED"],
        )
        self.assertEqual(names(array(), array(unevaluatedItems=False)), ["UNEVALUATED_ITEMS_REMOVED"])

    def test_contains(self) -> None:
        """A schema that one item must fit is compared, which Confluent's registry does not."""
        self.assertEqual(names(array(), array(contains=TEXT)), ["CONTAINS_ADDED"])
        self.assertEqual(names(array(contains=NUMBER), array(contains=TEXT)), ["TYPE_CHANGED"])
        self.assertEqual(names(array(contains=TEXT), array()), [])

    def test_any_items(self) -> None:
        """Items that may be anything are as good as none that are named."""
        self.assertEqual(names(array(), array(items={})), [])
        self.assertEqual(names(array(items=TEXT), array(items=NUMBER)), ["TYPE_CHANGED"])
