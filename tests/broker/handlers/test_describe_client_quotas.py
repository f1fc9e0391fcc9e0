"""DescribeClientQuotas: the entities that a filter selects, and filters that are refused."""

from __future__ import annotations

from kafkatx.errors import ErrorCode
from tests.broker.handlers.test_alter_client_quotas import (
    ANY,
    CLIENT_ID,
    DEFAULT,
    EXACT,
    IP,
    USER,
    QuotasTestCase,
)


class DescribeTests(QuotasTestCase):
    def setUp(self) -> None:
        """Set one quota for each kind of entity, whose value names it."""
        super().setUp()
        entities: list[list[tuple[str, str | None]]] = [
            [(USER, "ann")],
            [(USER, None)],
            [(CLIENT_ID, "c")],
            [(CLIENT_ID, None)],
            [(USER, "ann"), (CLIENT_ID, "c")],
            [(USER, "ann"), (CLIENT_ID, None)],
            [(USER, "bob"), (CLIENT_ID, "c")],
        ]
        for value, entity in enumerate(entities, 1):
            self.change(*entity, producer_byte_rate=float(value))
        self.change((IP, "192.0.2.1"), connection_creation_rate=8)

    def found(self, *components: tuple[str, int, str | None], strict: bool = False) -> set[int]:
        """Return the values that a filter selects."""
        return {
            int(value) for _, quotas in self.shown(*components, strict=strict) for value in quotas.values()
        }

    def test_filters(self) -> None:
        """Filters select by name, default or any; a strict filter omits entities with further types."""
        for components, loose, strict in (
            ([], {1, 2, 3, 4, 5, 6, 7, 8}, set()),
            ([(USER, EXACT, "ann")], {1, 5, 6}, {1}),
            ([(USER, DEFAULT, None)], {2}, {2}),
            ([(USER, ANY, None)], {1, 2, 5, 6, 7}, {1, 2}),
            ([(CLIENT_ID, EXACT, "c")], {3, 5, 7}, {3}),
            ([(CLIENT_ID, DEFAULT, None)], {4, 6}, {4}),
            ([(USER, EXACT, "ann"), (CLIENT_ID, ANY, None)], {5, 6}, {5, 6}),
            ([(CLIENT_ID, EXACT, "c"), (USER, ANY, None)], {5, 7}, {5, 7}),
            ([(USER, EXACT, "nobody")], set(), set()),
            ([(IP, ANY, None)], {8}, {8}),
            ([(IP, DEFAULT, None)], set(), set()),
        ):
            self.assertEqual(self.found(*components), loose, components)
            self.assertEqual(self.found(*components, strict=True), strict, components)

    def test_refused(self) -> None:
        """An invalid filter is answered with an error and no list."""
        invalid = ErrorCode.INVALID_REQUEST
        for components, code in (
            ([("", ANY, None)], invalid),
            ([(USER, ANY, None), (USER, EXACT, "a")], invalid),
            ([("topic", ANY, None)], ErrorCode.UNSUPPORTED_VERSION),
            ([(USER, EXACT, None)], invalid),
            ([(USER, DEFAULT, "a")], invalid),
            ([(USER, ANY, "a")], invalid),
            ([(USER, 3, None)], invalid),
            ([(IP, ANY, None), (CLIENT_ID, ANY, None)], invalid),
        ):
            for version in (0, 1):
                response = self.describe(*components, version=version)
                self.assertEqual((response.error_code, response.entries), (code, None), components)
                self.assertTrue(response.error_message)
