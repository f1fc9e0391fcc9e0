"""CreateTopics: topics that are created, and every reason for refusal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kafkatx.broker.requests.assignments import MOST_PARTITIONS
from kafkatx.errors import ErrorCode, SettingError
from kafkatx.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
)
from kafkatx.wire.schema import NULL_UUID
from tests.broker.running import BrokerTestCase

VERSIONS = range(8)


def topic(
    name: str = "t",
    partitions: int = 1,
    replication_factor: int = 1,
    assignment: Mapping[int, list[int]] | None = None,
    **configs: str | None,
) -> CreatableTopic:
    """Return a topic to create; ``_`` in config names stands for ``.``."""
    return CreatableTopic(
        name,
        partitions,
        replication_factor,
        [CreatableReplicaAssignment(number, brokers) for number, brokers in (assignment or {}).items()],
        [CreatableTopicConfig(config.replace("_", "."), value) for config, value in configs.items()],
    )


class CreateTopicsTests(BrokerTestCase):
    settings: ClassVar[Mapping[str, str]] = {"num.partitions": "3"}

    def create(
        self, *topics: CreatableTopic, version: int = 7, validate_only: bool = False
    ) -> list[CreatableTopicResult]:
        """Return the results for these topics."""
        request = CreateTopicsRequest(list(topics), 1000, validate_only)
        results: list[CreatableTopicResult] = self.ask(19, version, request).topics
        return results

    def check_refused(self, asked: CreatableTopic, code: ErrorCode, version: int = 7) -> str | None:
        """Assert that the topic is refused and not created; return the message."""
        (result,) = self.create(asked, version=version)
        self.assertEqual((result.name, ErrorCode.of(result.error_code)), (asked.name, code))
        self.assertEqual(self.broker.topics.partitions, {})
        return result.error_message

    def test_every_version(self) -> None:
        """Every version creates the topic, which can be written to once the reply is there."""
        for version in VERSIONS:
            name = f"t{version}"
            (result,) = self.create(topic(name, 2), version=version)
            self.assertEqual((result.name, result.error_code, result.error_message), (name, 0, None))
            self.fill(b"v", topic=name, partition=1)
            if version >= 5:
                self.assertEqual((result.num_partitions, result.replication_factor), (2, 1))
            known = self.broker.metadata.state.topics[name]
            self.assertEqual(result.topic_id, known.topic_id if version >= 7 else NULL_UUID)

    def test_defaults(self) -> None:
        """The broker's defaults replace -1 in every version, for partitions, replicas or both."""
        for version in VERSIONS:
            for number, (partitions, replicas) in enumerate(((-1, -1), (-1, 1), (2, -1))):
                name = f"t{version}-{number}"
                (result,) = self.create(topic(name, partitions, replicas), version=version)
                self.assertEqual((result.error_code, result.error_message), (0, None), name)
                self.assertEqual(len(self.broker.topics.of(name)), 2 if partitions == 2 else 3)

    def test_configs_that_cannot_be(self) -> None:
        """A missing retention plugin and contradicting values are refused."""

        def find(name: str) -> object:
            raise SettingError(f"kafkatx.retention={name}: no plugin")

        lags = topic(min_compaction_lag_ms="6", max_compaction_lag_ms="5")
        self.assertIn("min.compaction.lag.ms=6", self.check_refused(lags, ErrorCode.INVALID_CONFIG) or "")
        self.patch(self.broker.store, "_find_retention", find)
        why = self.check_refused(topic(kafkatx_retention="none"), ErrorCode.INVALID_CONFIG)
        self.assertEqual(why, "kafkatx.retention=none: no plugin")

    def test_configs(self) -> None:
        """Configs apply to the logs, and are returned with all others and their sources."""
        (result,) = self.create(topic(retention_ms="5000"))
        self.assertEqual(self.broker.topics.of("t")[0].log.config.retention_ms, 5000)
        shown = {config.name: (config.value, config.config_source) for config in result.configs or ()}
        self.assertEqual(shown["retention.ms"], ("5000", 1))
        self.assertEqual(shown["cleanup.policy"], ("delete", 5))

    def test_validate_only(self) -> None:
        """The answer with validate_only is the same, but no topic is created."""
        for version in VERSIONS[1:]:
            (result,) = self.create(topic(), version=version, validate_only=True)
            self.assertEqual((result.error_code, result.topic_id), (0, NULL_UUID))
            (bad,) = self.create(topic(partitions=0), version=version, validate_only=True)
            self.assertEqual(bad.error_code, ErrorCode.INVALID_PARTITIONS)
        self.assertEqual(self.broker.topics.partitions, {})

    def test_names(self) -> None:
        """A name that could be a path, or is empty or too long, is refused with an explanation."""
        for name in ("../x", "", "x" * 250, ".", "..", "a/b"):
            for version in VERSIONS:
                message = self.check_refused(topic(name), ErrorCode.INVALID_TOPIC_EXCEPTION, version)
                self.assertEqual(message is None, version == 0)
        self.assertEqual(dict(self.broker.store.logs), {})

    def test_exists(self) -> None:
        """An existing topic is not created again."""
        self.create(topic())
        (again,) = self.create(topic(partitions=5))
        self.assertEqual(again.error_code, ErrorCode.TOPIC_ALREADY_EXISTS)
        self.assertEqual(len(self.broker.topics.of("t")), 1)

    def test_twice_in_a_request(self) -> None:
        """A topic that occurs twice in a request is not created, and has one result; others are created."""
        results = self.create(topic("a"), topic("b"), topic("a"))
        self.assertEqual({r.name: r.error_code for r in results}, {"a": ErrorCode.INVALID_REQUEST, "b": 0})
        self.assertEqual((len(results), list(self.broker.topics.partitions)), (2, ["b"]))

    def test_numbers(self) -> None:
        """Zero partitions or replicas, more replicas than brokers, and too many partitions are refused."""
        for partitions, replicas, code in (
            (0, 1, ErrorCode.INVALID_PARTITIONS),
            (-2, 1, ErrorCode.INVALID_PARTITIONS),
            (1, 0, ErrorCode.INVALID_REPLICATION_FACTOR),
            (1, 2, ErrorCode.INVALID_REPLICATION_FACTOR),
            (MOST_PARTITIONS + 1, 1, ErrorCode.POLICY_VIOLATION),
            (2**31 - 1, 1, ErrorCode.POLICY_VIOLATION),
        ):
            self.check_refused(topic("t", partitions, replicas), code)

    def test_bad_configs(self) -> None:
        """A config that is unknown, invalid or null is refused with a message that names it."""
        for configs in ({"retention_ms": "soon"}, {"no_such": "1"}, {"retention_ms": None}):
            message = self.check_refused(topic(**configs), ErrorCode.INVALID_CONFIG)
            if None not in configs.values():
                self.assertIn(next(iter(configs)).replace("_", "."), message or "")

    def test_config_twice(self) -> None:
        """A config that occurs twice is refused."""
        asked = topic()
        asked.configs = [CreatableTopicConfig("retention.ms", value) for value in ("1", "2")]
        self.check_refused(asked, ErrorCode.INVALID_CONFIG)

    def test_assignment(self) -> None:
        """Partitions may be assigned to brokers by hand."""
        (result,) = self.create(topic("t", -1, -1, {0: [0], 1: [0]}))
        self.assertEqual((result.error_code, result.num_partitions), (0, 2))

    def test_bad_assignments(self) -> None:
        """Gaps, unknown, repeated or missing brokers, and numbers beside an assignment are refused."""
        bad: list[dict[int, list[int]]] = [
            {1: [0]},
            {0: [7]},
            {0: [0, 0]},
            {0: []},
            {0: [0], 2: [0]},
            {-1: [0]},
        ]
        for assignment in bad:
            self.check_refused(topic("t", -1, -1, assignment), ErrorCode.INVALID_REPLICA_ASSIGNMENT)
        self.check_refused(topic("t", 1, -1, {0: [0]}), ErrorCode.INVALID_REQUEST)

    def test_long_message(self) -> None:
        """A message that quotes the request stays short enough to be sent."""
        name = "x" * 32_767
        results = self.create(topic(name), topic(name), version=1)
        self.assertEqual([r.error_code for r in results], [ErrorCode.INVALID_REQUEST])
        self.check_refused(topic(retention_ms="y" * 32_767), ErrorCode.INVALID_CONFIG, 1)
