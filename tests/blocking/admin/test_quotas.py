"""Tests of kafkatx.blocking.admin.quotas."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.admin.quotas import Quotas
from kafkatx.clientcore.admin.quotas import EntityQuotas, entity_text
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.alter_client_quotas import AlterClientQuotasRequest
from kafkatx.wire.messages.describe_client_quotas import DescribeClientQuotasRequest
from tests.blocking.fake_settings import FakeSettings

RATE = "producer_byte_rate"


class QuotasTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A cluster with quotas of one client id."""
        self.fake = FakeSettings(quotas={frozenset({("client-id", "c")}): {RATE: 10.0}})
        self.quotas = Quotas(self.fake.client(retries=3))

    def test_describe(self) -> None:
        """Those of one entity and no other, or all in order."""
        self.quotas.alter({"client-id": None}, {RATE: 5})
        self.quotas.alter({"client-id": "c", "user": "u"}, {RATE: 7})
        mine = EntityQuotas({"client-id": "c"}, {RATE: 10.0})
        self.assertEqual(self.quotas.describe({"client-id": "c"}), [mine])
        self.assertEqual(
            self.quotas.describe({"client-id": None}), [EntityQuotas({"client-id": None}, {RATE: 5})]
        )
        self.assertEqual(self.quotas.describe({"client-id": "other"}), [])
        texts = [entity_text(one.entity) for one in self.quotas.describe()]
        self.assertEqual(texts, ["any client-id", "client-id 'c'", "client-id 'c' of user 'u'"])

    def test_alter(self) -> None:
        """Values are set and others deleted."""
        self.quotas.alter({"client-id": "c"}, {"consumer_byte_rate": 2.5}, [RATE])
        self.assertEqual(self.fake.quotas[frozenset({("client-id", "c")})], {"consumer_byte_rate": 2.5})

    def test_validate_only(self) -> None:
        """Nothing is changed if the broker is only to judge."""
        self.quotas.alter({"client-id": "c"}, deleted=[RATE], validate_only=True)
        self.assertEqual(len(self.quotas.describe({"client-id": "c"})[0].values), 1)

    def test_errors(self) -> None:
        """A refusal names whose quotas; what may pass is waited for, at the first contact too."""
        self.fake.faults[DescribeClientQuotasRequest].append(ErrorCode.REQUEST_TIMED_OUT)
        self.assertEqual(len(self.quotas.describe()), 1)
        self.fake.faults[AlterClientQuotasRequest].append(ErrorCode.NOT_CONTROLLER)
        self.quotas.alter({"ip": "::1"}, {RATE: 1})
        self.assertEqual(self.fake.slept, [0.1, 0.1])
        error = self.assertRaises(RequestError, self.quotas.alter, {"ip": "::1"}, {RATE: 0})
        self.assertEqual(str(error), "quotas of ip '::1': invalid request")
        self.fake.faults[DescribeClientQuotasRequest].append(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        self.assertRaises(RequestError, self.quotas.describe)
