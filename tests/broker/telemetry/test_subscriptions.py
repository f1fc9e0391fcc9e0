"""Subscriptions to metrics of clients: their configs, whom they are for, and ids."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.telemetry.subscriptions import Client, Selection, Subscriptions, check, parse
from kafkatx.errors import ErrorCode, RequestError

WEB = Client("AAAA", "web-1", "apache-kafka-java", "4.3.1", "192.0.2.7", "50000")


def subscribed(client: Client = WEB, **configs: Mapping[str, str]) -> Selection:
    """Return what a client is asked for."""
    return Subscriptions(configs).select(client)


class CheckTests(SynchronousTestCase):
    def refused(self, configs: Mapping[str, str], name: str = "s") -> tuple[ErrorCode, str]:
        """Return the code and the message of refused configs."""
        error = self.assertRaises(RequestError, check, name, configs)
        return error.code, str(error)

    def test_as_apache_kafka(self) -> None:
        """Errors have the codes and words of Apache Kafka."""
        for interval in ("99", "3600001"):
            code, why = self.refused({"interval.ms": interval})
            self.assertEqual(code, ErrorCode.INVALID_REQUEST)
            self.assertIn(
                f"Invalid value {interval} for interval.ms, interval must be between 100 and 3600000", why
            )
        code, why = self.refused({"random": "10"})
        self.assertEqual(code, ErrorCode.INVALID_REQUEST)
        self.assertIn("Unknown client metrics configuration: random", why)
        self.assertEqual(self.refused({}, "")[0], ErrorCode.INVALID_REQUEST)
        self.assertEqual(self.refused({"interval.ms": "abc"})[0], ErrorCode.INVALID_CONFIG)
        for match in ("10", "client_id=", "client_id=a=b", "user=x"):
            code, why = self.refused({"match": match})
            self.assertEqual(code, ErrorCode.INVALID_CONFIG)
            self.assertIn("Illegal client matching p", why)

    def test_expressions(self) -> None:
        """An expression that is none, or that backtracks in other languages only, is refused."""
        for text in ("a(", "(?=a)b", "(a)\\1"):
            self.assertEqual(self.refused({"match": f"client_id={text}"})[0], ErrorCode.INVALID_CONFIG)
        check(
            "s", {"metrics": "", "interval.ms": "100", "match": "client_id=(a|a)*b , client_source_port=5.*"}
        )


class SelectTests(SynchronousTestCase):
    def test_union(self) -> None:
        """A client gets all prefixes of the subscriptions that match, at the shortest interval."""
        selection = subscribed(
            a={"metrics": "x,y", "interval.ms": "5000"},
            b={"metrics": "y,z", "interval.ms": "7000"},
            c={"metrics": "c", "interval.ms": "1000", "match": "client_id=other"},
        )
        self.assertEqual(selection, Selection(("x", "y", "z"), 5000))

    def test_all(self) -> None:
        """A subscription to all metrics takes the place of the others."""
        self.assertEqual(subscribed(a={"metrics": "x"}, b={"metrics": "*"}).metrics, ("*",))

    def test_nobody(self) -> None:
        """A client without subscription is asked for nothing, every five minutes."""
        self.assertEqual(subscribed(a={"metrics": "*", "match": "client_id=b"}), Selection((), 300_000))
        self.assertEqual(subscribed(a={"metrics": "*", "interval.ms": "3600000"}).interval_ms, 300_000)

    def test_match(self) -> None:
        """Each parameter is matched as a whole, and all have to match."""
        for pattern, expected in {
            "client_id=web.*": True,
            "client_id=web": False,
            "client_instance_id=AAAA": True,
            "client_software_name=apache-kafka-java,client_software_version=4\\..*": True,
            "client_software_name=apache-kafka-java,client_software_version=3.*": False,
            "client_source_address=192\\.0\\.2\\.[0-9]+,client_source_port=5[0-9]{4}": True,
            "client_source_address=192": False,
        }.items():
            one = parse("s", {"metrics": "*", "match": pattern})
            self.assertIs(one.is_for(WEB), expected, pattern)

    def test_hostile_expression(self) -> None:
        """An expression that takes too much work matches no client, again and again."""
        every = Subscriptions({"s": {"metrics": "*", "match": "client_id=(.*a){9}(.*b){9}(.*c){9}x{1,999}"}})
        hostile = Client("A", "abcx" * 2000)
        for _ in range(3):
            self.assertEqual(every.select(hostile).metrics, ())
        self.assertEqual(every.select(Client("A", "abc" * 9 + "x")).metrics, ())

    def test_stored_by_others(self) -> None:
        """A stored subscription that cannot be used is told of, and the others are used."""
        every = Subscriptions({"bad": {"metrics": "x", "new": "1"}, "good": {"metrics": "y"}})
        self.assertEqual(every.select(WEB).metrics, ("y",))
        self.assertEqual(len(every.complaints), 1)
        self.assertIn("bad", every.complaints[0])


class IdTests(SynchronousTestCase):
    def test_differs(self) -> None:
        """The id is 32 bits, the same for the same selection, and another for other metrics or clients."""
        one, other = uuid.UUID(int=1 << 100), uuid.UUID(int=3 << 50)
        selections = [Selection(("a",)), Selection(("b",)), Selection(("a",), 100), Selection()]
        ids = {selection.subscription_id(who) for selection in selections for who in (one, other)}
        self.assertEqual(len(ids), 8)
        self.assertEqual(
            ids,
            {
                Selection(s.metrics, s.interval_ms).subscription_id(w)
                for s in selections
                for w in (one, other)
            },
        )
        for number in ids:
            self.assertTrue(-(1 << 31) <= number < 1 << 31)
