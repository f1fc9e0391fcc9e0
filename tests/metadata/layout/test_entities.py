"""Tests of the entities that have configs."""

from __future__ import annotations

from random import Random

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import RequestError
from kafkatx.interfaces.nodes import check_path
from kafkatx.metadata.layout.entities import (
    ConfigEntity,
    EntityType,
    broker,
    client_metrics,
    desanitize,
    group,
    parse_path,
    quota,
    sanitize,
    topic,
)
from kafkatx.metadata.layout.paths import config
from kafkatx.types import ALL_BROKERS

PATHS = {
    "topics/T": topic("T"),
    "brokers/1": broker("1"),
    "brokers/<default>": broker(ALL_BROKERS),
    "groups/a%2Fb": group("a/b"),
    "client-metrics/a%2Fb": client_metrics("a/b"),
    "clients/C": quota((("client-id", "C"),)),
    "clients/<default>": quota((("client-id", None),)),
    "clients/%3Cdefault%3E": quota((("client-id", "<default>"),)),
    "users/U": quota((("user", "U"),)),
    "users/<default>": quota((("user", None),)),
    "users/CN%3Dann%2CO%3Dx/clients/C": quota((("client-id", "C"), ("user", "CN=ann,O=x"))),
    "users/<default>/clients/<default>": quota((("client-id", None), ("user", None))),
    "ips/10.0.0.1": quota((("ip", "10.0.0.1"),)),
    "ips/%3A%3A1": quota((("ip", "::1"),)),
    "ips/<default>": quota((("ip", None),)),
}


class PathTests(SynchronousTestCase):
    def test_paths(self) -> None:
        """Each entity has the path that Apache Kafka gives it, and the path gives the entity."""
        for path, entity in PATHS.items():
            self.assertEqual(entity.path, path)
            self.assertEqual(parse_path(path), entity)

    def test_other_paths(self) -> None:
        """A path that is no entity's is none."""
        for path in (
            "",
            "topics",
            "topics/",
            "topics/T/x",
            "brokers/x",
            "brokers/01",
            "clients/",
            "clients/%2",
            "clients/%FF",
            "users/U/clients",
            "users/U/groups/C",
            "users//clients/C",
            "client-metrics/",
            "groups/",
        ):
            self.assertIsNone(parse_path(path), path)

    def test_order(self) -> None:
        """The order of the types in a quota entity does not matter."""
        self.assertEqual(quota((("user", "U"), ("client-id", "C"))).path, "users/U/clients/C")

    def test_combinations(self) -> None:
        """Types that have no quotas together are rejected, as are names that no node can have."""
        for entity in ((), (("ip", "a"), ("user", "b")), (("group", "g"),), (("user", "a"), ("user", "b"))):
            self.assertRaises(RequestError, quota, entity)
        for name in ("", ".", ".."):
            self.assertRaises(RequestError, lambda name=name: quota((("user", name),)).path)

    def test_notifications(self) -> None:
        """Changes of groups are not announced to Apache Kafka, which does not know their type."""
        self.assertTrue(topic("T").notifies)
        self.assertFalse(ConfigEntity(EntityType.GROUP, "g").notifies)
        self.assertFalse(client_metrics("s").notifies)


class SanitizerTests(SynchronousTestCase):
    def test_kafka(self) -> None:
        """Names are encoded as Kafka's Sanitizer does, by the example of its own test and more."""
        for name, sanitized in (
            (
                "CN=Some characters !@#$%&*()_-+=';:,/~",
                "CN%3DSome%20characters%20%21%40%23%24%25%26%2A%28%29_-%2B%3D%27%3B%3A%2C%2F%7E",
            ),
            ("a.b-c_D9", "a.b-c_D9"),
            ("é\N{GRINNING FACE}", "%C3%A9%F0%9F%98%80"),
            ("<default>", "%3Cdefault%3E"),
        ):
            self.assertEqual(sanitize(name), sanitized)
            self.assertEqual(desanitize(sanitized), name)

    def test_round_trip(self) -> None:
        """Random names come back, and are safe in a path."""
        random = Random(8)
        alphabet = [chr(random.randrange(0x800)) for _ in range(50)] + list("~*+ %/.<>-_a\N{GRINNING FACE}")
        for _ in range(300):
            name = "".join(random.choices(alphabet, k=random.randint(1, 12)))
            if name not in (".", ".."):
                check_path(config(f"users/{sanitize(name)}"))
                self.assertEqual(desanitize(sanitize(name)), name)
                entity = quota((("client-id", name), ("user", name[::-1] + "x")))
                self.assertEqual(parse_path(entity.path), entity)

    def test_damaged(self) -> None:
        """Text that is not URL-encoded UTF-8 is no name."""
        for text in ("", "%", "%4", "%zz", "%FF", "a/b"):
            self.assertIsNone(desanitize(text))
