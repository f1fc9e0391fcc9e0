"""Tests of kafkatx.clientcore.admin.quotas: requests and responses."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.admin import quotas
from kafkatx.clientcore.admin.quotas import CLIENT_ID, IP, USER, EntityQuotas, entity_text
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages import alter_client_quotas as alter
from kafkatx.wire.messages import describe_client_quotas as m

BOTH = {USER: "u", CLIENT_ID: None}


class QuotasTests(SynchronousTestCase):
    def test_words(self) -> None:
        """Entities are formatted for people."""
        for entity, words in (
            ({CLIENT_ID: "c"}, "client-id 'c'"),
            (BOTH, "any client-id of user 'u'"),
            ({IP: None}, "any ip"),
            ({}, "all clients"),
        ):
            self.assertEqual(entity_text(entity), words)

    def test_describe_one(self) -> None:
        """A request for one entity matches names exactly; None is the default of its type."""
        request = quotas.describe_request(BOTH)
        found = [(one.entity_type, one.match_type, one.match) for one in request.components]
        self.assertEqual((found, request.strict), ([("user", 0, "u"), ("client-id", 1, None)], True))

    def test_describe_all(self) -> None:
        """A request without an entity asks for all."""
        request = quotas.describe_request(None)
        self.assertEqual((request.components, request.strict), ([], False))

    def test_answer(self) -> None:
        """Values are by name, and entities are sorted; a null list is empty."""

        def entry(value: float, *parts: tuple[str, str | None]) -> m.EntryData:
            return m.EntryData([m.EntityData(*part) for part in parts], [m.ValueData("rate", value)])

        entries = [entry(2.0, (USER, "u")), entry(1.5, (CLIENT_ID, None))]
        response = m.DescribeClientQuotasResponse(error_code=0, error_message=None, entries=entries)
        self.assertEqual(
            quotas.entity_quotas(response),
            [EntityQuotas({CLIENT_ID: None}, {"rate": 1.5}), EntityQuotas({USER: "u"}, {"rate": 2.0})],
        )
        nothing = m.DescribeClientQuotasResponse(error_code=0, error_message=None, entries=None)
        self.assertEqual(quotas.entity_quotas(nothing), [])

    def test_answer_refused(self) -> None:
        """The broker's message is kept."""
        code = ErrorCode.INVALID_REQUEST
        response = m.DescribeClientQuotasResponse(error_code=code, error_message="why", entries=None)
        error = self.assertRaises(RequestError, quotas.entity_quotas, response)
        self.assertEqual((error.code, str(error)), (code, "client quotas: why"))

    def test_alter(self) -> None:
        """The request has the quotas to set and to remove."""
        request = quotas.alter_request(BOTH, {"rate": 3.0}, ["other"], validate_only=True)
        (entry,) = request.entries
        self.assertEqual([(e.entity_type, e.entity_name) for e in entry.entity], list(BOTH.items()))
        self.assertEqual(
            [(op.key, op.value if not op.remove else None, op.remove) for op in entry.ops],
            [("rate", 3.0, False), ("other", None, True)],
        )
        self.assertTrue(request.validate_only)

    def test_altered(self) -> None:
        """A response without an error returns None; another raises it with the entity's name."""

        def answer(code: int) -> alter.AlterClientQuotasResponse:
            return alter.AlterClientQuotasResponse(entries=[alter.EntryResult(code, "why", [])])

        quotas.check_altered(answer(0), BOTH)
        error = self.assertRaises(RequestError, quotas.check_altered, answer(42), BOTH)
        self.assertEqual(str(error), "quotas of any client-id of user 'u': why")
