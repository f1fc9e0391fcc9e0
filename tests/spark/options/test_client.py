"""The kafka.* options."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.spark.options.client import ClientSettings, parse_bool, parse_client, parse_int

BOOTSTRAP = {"kafka.bootstrap.servers": "127.0.0.1:9092"}


class ParseClientTests(SynchronousTestCase):
    def test_bootstrap_is_enough(self) -> None:
        """Everything but the bootstrap servers has a default; other sources' options are left alone."""
        settings = parse_client({"kafka.bootstrap.servers": " a:1,b:2 ", "subscribe": "t"})
        self.assertEqual(settings, ClientSettings("a:1,b:2"))

    def test_bootstrap_is_required(self) -> None:
        """Without bootstrap servers the error says what Spark's own source says."""
        for options in ({}, {"kafka.bootstrap.servers": " "}):
            error = self.assertRaises(SettingError, parse_client, options)
            said_by_spark = (
                "Option 'kafka.bootstrap.servers' must be specified for configuring Kafka consumer"
            )
            self.assertIn(said_by_spark, str(error))

    def test_heeded(self) -> None:
        """Each setting that means something arrives, in the unit of the blocking client."""
        settings = parse_client(
            {
                **BOOTSTRAP,
                "kafka.client.id": "mine",
                "kafka.request.timeout.ms": "2500",
                "kafka.socket.connection.setup.timeout.ms": "1500",
                "kafka.retry.backoff.ms": "7",
                "kafka.fetch.min.bytes": "8",
                "kafka.fetch.max.wait.ms": "9",
                "kafka.check.crcs": "False",
                "kafka.client.rack": "r1",
                "kafka.metadata.max.age.ms": "60000",
                "kafka.max.partition.fetch.bytes": "1000",
            }
        )
        self.assertEqual(
            settings,
            ClientSettings("127.0.0.1:9092", "mine", 2.5, 1.5, 7, 1000, 8, 9, False, "r1", 60.0),
        )

    def test_group(self) -> None:
        """A group's name, or its prefix, is a part of the client id, unless that was given."""
        group = {**BOOTSTRAP, "kafka.group.id": "g", "groupidprefix": "p"}
        self.assertEqual(parse_client(group).client_id, "kafkatx-spark-g")
        self.assertEqual(parse_client({**BOOTSTRAP, "groupidprefix": "p"}).client_id, "kafkatx-spark-p")
        self.assertEqual(parse_client({**group, "kafka.client.id": "mine"}).client_id, "mine")

    def test_smaller_fetch_limit(self) -> None:
        """The smaller one of the two limits of a fetch holds."""
        both = {"kafka.fetch.max.bytes": "500", "kafka.max.partition.fetch.bytes": "1000"}
        self.assertEqual(parse_client({**BOOTSTRAP, **both}).fetch_bytes, 500)

    def test_without_meaning(self) -> None:
        """Settings of groups and of the JVM are accepted: a query for Spark's source runs unchanged."""
        ignored = {"kafka.group.instance.id": "g", "kafka.session.timeout.ms": "10"}
        ignored |= {"kafka.security.protocol": "plaintext", "kafka.isolation.level": "read_uncommitted"}
        self.assertEqual(parse_client({**BOOTSTRAP, **ignored}), parse_client(BOOTSTRAP))

    def test_refused(self) -> None:
        """Settings that Spark's source refuses are refused, by Spark's name."""
        for name in (
            "auto.offset.reset",
            "key.deserializer",
            "value.deserializer",
            "enable.auto.commit",
            "interceptor.classes",
        ):
            error = self.assertRaises(SettingError, parse_client, {**BOOTSTRAP, f"kafka.{name}": "x"})
            self.assertIn(f"Kafka option '{name}' is not supported", str(error))

    def test_never_less_safe_than_asked(self) -> None:
        """A misspelt protocol is not plain text, and a misspelt isolation level does not read all records."""
        for name, value in (("security.protocol", "SASL"), ("isolation.level", "committed")):
            error = self.assertRaises(SettingError, parse_client, {**BOOTSTRAP, f"kafka.{name}": value})
            self.assertIn(f"kafka.{name}={value}", str(error))

    def test_login(self) -> None:
        """The settings of a login reach the workers, and are not in the text of the options."""
        login = {"sasl.mechanism": "PLAIN", "sasl.username": "alice", "sasl.password": "sesame"}
        given = {"security.protocol": "sasl_plaintext", **login}
        client = parse_client({**BOOTSTRAP, **{f"kafka.{name}": value for name, value in given.items()}})
        self.assertEqual(client.security, {**login, "security.protocol": "SASL_PLAINTEXT"})
        self.assertNotIn("sesame", repr(client))

    def test_isolation_level(self) -> None:
        """Committed records only, in any case of the word; all records by default."""
        for value, level in (("read_committed", 1), (" READ_COMMITTED ", 1), ("read_uncommitted", 0)):
            client = parse_client({**BOOTSTRAP, "kafka.isolation.level": value})
            self.assertEqual(client.isolation_level, level)
        self.assertEqual(parse_client(BOOTSTRAP).isolation_level, 0)

    def test_bad_values(self) -> None:
        """A value of the wrong kind is refused, naming option and value."""
        for name, value in (
            ("request.timeout.ms", "0"),
            ("fetch.max.bytes", "8m"),
            ("fetch.min.bytes", "-1"),
            ("max.partition.fetch.bytes", "99999999999"),
            ("check.crcs", "yes"),
        ):
            error = self.assertRaises(SettingError, parse_client, {**BOOTSTRAP, f"kafka.{name}": value})
            self.assertIn(f"kafka.{name}={value}", str(error))


class ValueTests(SynchronousTestCase):
    def test_int_bounds(self) -> None:
        """Both bounds are allowed, and nothing outside of them."""
        self.assertEqual([parse_int("x", text, 1, 5) for text in ("1", " 5 ")], [1, 5])
        for text in ("0", "6", "", "1.0"):
            self.assertRaises(SettingError, parse_int, "x", text, 1, 5)

    def test_bool(self) -> None:
        """Only the two words are truth values."""
        self.assertEqual([parse_bool("x", text) for text in ("TRUE", "false ")], [True, False])
        self.assertRaises(SettingError, parse_bool, "x", "1")
