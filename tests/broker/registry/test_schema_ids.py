"""The ids of schemas in records: prefixes, headers, and what is neither."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.registry.schema_ids import MOST_FAULTS, SchemaIds, find_ids
from kafkatx.errors import RequestError
from kafkatx.records.builder import build_values

GUID = b"\x01" + bytes(range(16))
NAME = "__value_schema_id"


def prefix(schema_id: int) -> bytes:
    """Return the prefix of an id."""
    return b"\0" + schema_id.to_bytes(4, "big")


class SchemaIdsTests(SynchronousTestCase):
    def take(self, texts: list[bytes | None], *headers: list[tuple[str, bytes | None]]) -> SchemaIds:
        """Take texts; the first ones have headers."""
        found = SchemaIds()
        found.take(texts, [*headers, *[[] for _ in texts[len(headers) :]]], NAME)
        return found

    def test_prefixes(self) -> None:
        """Each prefix is told once, with its first record; a null is no fault."""
        found = self.take([prefix(1) + b"x", None, prefix(2), prefix(1)])
        self.assertEqual((found.ids, found.faults), ({prefix(1): 0, prefix(2): 2}, []))

    def test_faults(self) -> None:
        """Values that are short, or begin otherwise, are faults."""
        found = self.take([b"", b"\0\0\0\0", b"{}xxx", b"\x01\0\0\0\1", prefix(1)])
        self.assertEqual((found.faults, found.ids), ([0, 1, 2, 3], {prefix(1): 4}))
        self.assertEqual(len(self.take([b"x"] * 1000).faults), MOST_FAULTS)

    def test_headers(self) -> None:
        """A header has a guid, and the payload is bare; one of another form does not count."""
        good, other = [("a", None), (NAME, GUID)], [(NAME, GUID[:-1]), ("x", GUID)]
        found = self.take([b"bare", b"bare"], list(good), list(other))
        self.assertEqual((found.ids, found.faults), ({GUID: 0}, [1]))


class FindIdsTests(SynchronousTestCase):
    def test_batch(self) -> None:
        """Keys and values of a batch are looked at as asked."""
        batch = build_values([prefix(1), b"x"], 0)
        keys, values = find_ids(batch, True, True, 1 << 20)
        self.assertEqual((keys.ids, keys.faults), ({}, []))
        self.assertEqual((values.ids, values.faults), ({prefix(1): 0}, [1]))
        self.assertEqual(find_ids(batch, True, False, 1 << 20)[1].faults, [])

    def test_damaged(self) -> None:
        """Records that cannot be read are an error."""
        batch = bytearray(build_values([prefix(1)], 0))
        batch[61] = 0x7F
        self.assertRaises(RequestError, find_ids, bytes(batch), True, True, 1 << 20)
