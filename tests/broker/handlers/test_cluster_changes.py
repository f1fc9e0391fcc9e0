"""Changes of the whole cluster, asked of a broker that is number 1 of three."""

from __future__ import annotations

from typing import Any, cast

import attrs
from twisted.internet.defer import Deferred

from kafkatx.broker.requests import serial_changes
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces import ILogStore
from kafkatx.types import ElectionKind, Topic, TopicPartition
from kafkatx.wire.messages import alter_client_quotas as quotas
from kafkatx.wire.messages import (
    alter_configs,
    alter_partition_reassignments,
    alter_replica_log_dirs,
    create_partitions,
    create_topics,
    delete_topics,
    describe_configs,
    elect_leaders,
    incremental_alter_configs,
    init_producer_id,
    list_config_resources,
    list_partition_reassignments,
)
from kafkatx.wire.schema import Message
from tests.broker.handlers.test_cluster_wide import ClusterWideTestCase
from tests.broker.running import codes

TOPIC, BROKER, GROUP = 2, 4, 32
SET = 0


class TopicTests(ClusterWideTestCase):
    def create(self, *asked: create_topics.CreatableTopic) -> list[create_topics.CreatableTopicResult]:
        """Return the results of CreateTopics."""
        response = self.ask(19, 7, create_topics.CreateTopicsRequest(list(asked), 1000))
        return cast("list[create_topics.CreatableTopicResult]", response.topics)

    def replicas(self, name: str) -> list[tuple[int, ...]]:
        """Return the replicas of each partition of a topic."""
        topic: Topic = self.metadata.state.topics[name]
        return [partition.replicas for partition in topic.partitions]

    def test_create(self) -> None:
        """A topic is spread over all brokers."""
        (result,) = self.create(create_topics.CreatableTopic("new", 6, 1))
        self.assertEqual(result.error_code, 0)
        self.assertEqual(sorted(self.replicas("new")), [(1,), (1,), (2,), (2,), (3,), (3,)])

    def test_create_assigned(self) -> None:
        """Replicas may be given by hand; each must be a live broker."""
        for brokers, code in (([3], 0), ([4], ErrorCode.INVALID_REPLICA_ASSIGNMENT)):
            given = [create_topics.CreatableReplicaAssignment(0, brokers)]
            (result,) = self.create(create_topics.CreatableTopic(f"on-{brokers[0]}", -1, -1, given))
            self.assertEqual(result.error_code, code)
        self.assertEqual(self.replicas("on-3"), [(3,)])

    def test_create_with_copies(self) -> None:
        """Partitions have as many replicas as asked for, by number or by assignment; all of them the same."""

        def assigned(name: str, *replicas: list[int]) -> create_topics.CreatableTopic:
            given = [create_topics.CreatableReplicaAssignment(n, one) for n, one in enumerate(replicas)]
            return create_topics.CreatableTopic(name, -1, -1, given)

        results = self.create(
            create_topics.CreatableTopic("a", 1, 3),
            assigned("b", [1, 2], [3, 1]),
            assigned("c", [1, 2], [3]),
            create_topics.CreatableTopic("d", 1, 4),
        )
        refused = [ErrorCode.INVALID_REPLICA_ASSIGNMENT, ErrorCode.INVALID_REPLICATION_FACTOR]
        self.assertEqual(codes(results), [0, 0, *refused])
        self.assertEqual([result.replication_factor for result in results[:2]], [3, 2])
        self.assertEqual([sorted(one) for one in self.replicas("a")], [[1, 2, 3]])
        self.assertEqual(self.replicas("b"), [(1, 2), (3, 1)])
        here = [name for name in self.broker.store.logs if name.topic == "b"]
        self.assertEqual(sorted(name.partition for name in here), [0, 1])

    def test_late(self) -> None:
        """After a creation that is not made in time, later ones of the request are not tried."""
        self.patch(serial_changes, "AT_ONCE", 1)
        self.metadata.holding = True
        asked = [create_topics.CreatableTopic(name, 1, 1) for name in ("a", "b")]
        waiting = self.answer(19, 7, create_topics.CreateTopicsRequest(asked, 1000))
        (command,) = self.metadata.commands
        command.done.errback(RequestError(ErrorCode.REQUEST_TIMED_OUT))
        results = self.response(19, 7, self.successResultOf(waiting)).topics
        self.assertEqual(codes(results), [ErrorCode.REQUEST_TIMED_OUT] * 2)
        self.assertEqual(self.commands(), ["create_topic"])

    def test_exists_elsewhere(self) -> None:
        """A topic that only other brokers have exists."""
        self.metadata.put(self.metadata.make_topic("theirs", [[2]]))
        (result,) = self.create(create_topics.CreatableTopic("theirs", 1, 1))
        self.assertEqual(result.error_code, ErrorCode.TOPIC_ALREADY_EXISTS)

    def test_grow(self) -> None:
        """Any broker adds partitions, spread over all brokers."""
        given = [create_topics.CreatableReplicaAssignment(number, [number + 1]) for number in range(3)]
        self.create(create_topics.CreatableTopic("new", -1, -1, given))
        asked = create_partitions.CreatePartitionsRequest(
            [create_partitions.CreatePartitionsTopic("new", 6, None)], 1000
        )
        self.assertEqual(codes(self.ask(37, 3, asked).results), [0])
        self.assertEqual(self.replicas("new"), [(1,), (2,), (3,), (1,), (2,), (3,)])

    def test_delete(self) -> None:
        """Any broker deletes a topic, by name and by id, also one that it has nothing of."""
        theirs = self.metadata.make_topic("theirs", [[2]])
        self.metadata.put(theirs)
        for asked in (
            delete_topics.DeleteTopicState("t"),
            delete_topics.DeleteTopicState(None, theirs.topic_id),
        ):
            response = self.ask(20, 6, delete_topics.DeleteTopicsRequest([asked], timeout_ms=1000))
            self.assertEqual(codes(response.responses), [0])
        self.assertEqual(dict(self.metadata.state.topics), {})

    def outcomes(self, request: Message, key: int, version: int, **outcomes: ErrorCode) -> Any:
        """Ask; let the metadata store's command have an outcome for each partition ``t0``, ``t1``..."""
        self.metadata.holding = True
        asking = self.answer(key, version, request)
        command = self.metadata.commands[-1]
        command.done.callback(
            {
                TopicPartition(name[0], int(name[1:])): RequestError(code, "why") if code else None
                for name, code in outcomes.items()
            }
        )
        return command.args, self.response(key, version, self.successResultOf(asking))

    def test_not_the_controller(self) -> None:
        """Elections and reassignments are refused by a broker that is not the controller."""
        asked = [elect_leaders.TopicPartitions("t", [0])]
        self.assertEqual(
            self.ask(43, 2, elect_leaders.ElectLeadersRequest(0, asked, 1000)).error_code,
            ErrorCode.NOT_CONTROLLER,
        )
        moved = [alter_partition_reassignments.ReassignablePartition(0, [1])]
        topics = [alter_partition_reassignments.ReassignableTopic("t", moved)]
        request = alter_partition_reassignments.AlterPartitionReassignmentsRequest(1000, topics)
        self.assertEqual(self.ask(45, 0, request).error_code, ErrorCode.NOT_CONTROLLER)

    def test_elections(self) -> None:
        """The controller's outcomes are those of the answer, for some partitions or for all."""
        needless = ErrorCode.ELECTION_NOT_NEEDED
        asked = [elect_leaders.TopicPartitions("t", [0, 1])]
        for topics, names in ((asked, [TopicPartition("t", 0), TopicPartition("t", 1)]), (None, None)):
            request = elect_leaders.ElectLeadersRequest(1, topics, 1000)
            arguments, response = self.outcomes(request, 43, 2, t0=ErrorCode.NONE, t1=needless)
            self.assertEqual(arguments, (ElectionKind.UNCLEAN, names))
            (found,) = response.replica_election_results
            codes_of = [(one.partition_id, one.error_code) for one in found.partition_result]
            self.assertEqual(codes_of, [(0, 0), (1, needless)])

    def test_reassignments(self) -> None:
        """Reassignments and cancellations are passed on, and each has its outcome."""
        moved = [
            alter_partition_reassignments.ReassignablePartition(0, [2, 1]),
            alter_partition_reassignments.ReassignablePartition(1, None),
        ]
        topics = [alter_partition_reassignments.ReassignableTopic("t", moved)]
        request = alter_partition_reassignments.AlterPartitionReassignmentsRequest(1000, topics)
        none = ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
        arguments, response = self.outcomes(request, 45, 0, t0=ErrorCode.NONE, t1=none)
        self.assertEqual(arguments, ({TopicPartition("t", 0): [2, 1], TopicPartition("t", 1): None},))
        (found,) = response.responses
        self.assertEqual([one.error_code for one in found.partitions], [0, none])
        self.assertEqual(found.partitions[1].error_message, "why")

    def test_reassignments_in_progress(self) -> None:
        """Any broker lists what is in progress: all, or of the topics asked for."""
        topic = self.metadata.state.topics["t"]
        moving = attrs.evolve(topic.partitions[1], replicas=(3, 1, 2), adding=(3,), removing=(1, 2))
        self.metadata.put(attrs.evolve(topic, partitions=(topic.partitions[0], moving, topic.partitions[2])))
        named = list_partition_reassignments.ListPartitionReassignmentsTopics
        for asked, numbers in (
            (None, [1]),
            ([named("t", [0, 1]), named("x", [0])], [1]),
            ([named("t", [0])], []),
        ):
            request = list_partition_reassignments.ListPartitionReassignmentsRequest(1000, asked)
            response = self.ask(46, 0, request)
            found = [one for each in response.topics for one in each.partitions]
            self.assertEqual([one.partition_index for one in found], numbers)
            for one in found:
                self.assertEqual(
                    (one.replicas, one.adding_replicas, one.removing_replicas), ([3, 1, 2], [3], [1, 2])
                )


class ConfigTests(ClusterWideTestCase):
    def describe(self, kind: int, name: str) -> tuple[int, str | None, dict[str, str | None]]:
        """Return code, message and values of a resource."""
        asked = [describe_configs.DescribeConfigsResource(kind, name, None)]
        (found,) = self.ask(32, 4, describe_configs.DescribeConfigsRequest(asked)).results
        return found.error_code, found.error_message, {one.name: one.value for one in found.configs}

    def set(self, kind: int, name: str, config: str, value: str) -> tuple[int, str | None]:
        """Set one config; return code and message."""
        configs = [incremental_alter_configs.AlterableConfig(config, SET, value)]
        asked = [incremental_alter_configs.AlterConfigsResource(kind, name, configs)]
        request = incremental_alter_configs.IncrementalAlterConfigsRequest(asked)
        (result,) = self.ask(44, 1, request).responses
        return result.error_code, result.error_message

    def test_topic(self) -> None:
        """Any broker shows and changes the configs of a topic, also one that it has nothing of."""
        self.metadata.put(self.metadata.make_topic("theirs", [[2]], {"retention.ms": "7000"}))
        self.assertEqual(self.describe(TOPIC, "theirs")[2]["retention.ms"], "7000")
        self.assertEqual(self.set(TOPIC, "theirs", "retention.ms", "8000"), (0, None))
        self.assertEqual(self.describe(TOPIC, "theirs")[2]["retention.ms"], "8000")

    def test_group(self) -> None:
        """Any broker shows and changes the configs of a group."""
        self.assertEqual(self.set(GROUP, "g", "consumer.session.timeout.ms", "50000"), (0, None))
        self.assertEqual(self.describe(GROUP, "g")[2]["consumer.session.timeout.ms"], "50000")

    def test_broker(self) -> None:
        """The settings of another broker are refused with the ids, as Apache Kafka does; own ones are not."""
        why = "Unexpected broker id, expected 1 or empty string, but received 2"
        self.assertEqual(self.describe(BROKER, "2"), (ErrorCode.INVALID_REQUEST, why, {}))
        self.assertEqual(self.set(BROKER, "2", "log.retention.ms", "5000"), (ErrorCode.INVALID_REQUEST, why))
        asked = [alter_configs.AlterConfigsResource(BROKER, "2", [])]
        (result,) = self.ask(33, 2, alter_configs.AlterConfigsRequest(asked)).responses
        self.assertEqual((result.error_code, result.error_message), (ErrorCode.INVALID_REQUEST, why))
        self.assertEqual(self.commands(), [])
        self.assertEqual(self.set(BROKER, "1", "log.retention.ms", "5000"), (0, None))
        self.assertEqual(self.describe(BROKER, "1")[2]["log.retention.ms"], "5000")

    def test_all_brokers(self) -> None:
        """The defaults of all brokers can be changed at any; those of another broker do not count here."""
        self.metadata.change(broker_configs={"2": {"log.retention.ms": "1"}})
        self.assertEqual(self.set(BROKER, "", "log.retention.ms", "6000"), (0, None))
        self.assertEqual(self.describe(BROKER, "")[2]["log.retention.ms"], "6000")
        self.assertEqual(self.describe(BROKER, "1")[2]["log.retention.ms"], "6000")

    def test_resources(self) -> None:
        """All brokers have configs."""
        asked = list_config_resources.ListConfigResourcesRequest([BROKER])
        found = self.ask(74, 1, asked).config_resources
        self.assertEqual([one.resource_name for one in found], ["1", "2", "3"])

    def test_quotas(self) -> None:
        """A quota that is set at another broker applies here, and one that is set here is the cluster's."""
        entity = (("client-id", "tests"),)
        self.metadata.change(client_quotas={entity: {"producer_byte_rate": 10.0}})
        assert self.broker.quotas.producer is not None
        self.assertEqual(self.broker.quotas.producer.accounts.limits[entity], 10.0)
        asked = quotas.AlterClientQuotasRequest(
            [
                quotas.EntryData(
                    [quotas.EntityData("client-id", "c")], [quotas.OpData("consumer_byte_rate", 5.0, False)]
                )
            ]
        )
        self.assertEqual(codes(self.ask(49, 1, asked).entries), [0])
        self.assertIn((("client-id", "c"),), self.metadata.state.client_quotas)


class LocalTests(ClusterWideTestCase):
    """Requests that are about this broker's own logs."""

    def test_log_dirs(self) -> None:
        """A partition that this broker does not have cannot be moved to another of its log dirs."""
        log_dir = alter_replica_log_dirs.AlterReplicaLogDir(
            "/data", [alter_replica_log_dirs.AlterReplicaLogDirTopic("t", [1])]
        )
        self.patch(self.broker, "store", cast(ILogStore, _NoMoves()))
        request = alter_replica_log_dirs.AlterReplicaLogDirsRequest([log_dir])
        (topic,) = self.ask(34, 2, request).results
        self.assertEqual([p.error_code for p in topic.partitions], [ErrorCode.REPLICA_NOT_AVAILABLE])


class ProducerIdTests(ClusterWideTestCase):
    def test_block(self) -> None:
        """Any broker gives producer ids, from a block that the cluster reserves for it."""
        self.metadata.next_producer_id = 5000
        for expected in (5000, 5001):
            response = self.ask(22, 4, init_producer_id.InitProducerIdRequest(None, 1000))
            self.assertEqual((response.error_code, response.producer_id), (0, expected))
        self.assertEqual(self.commands(), ["allocate_producer_ids"])

    def test_many_at_once(self) -> None:
        """Requests that come while a block is reserved share it, and each gets its own id."""
        self.metadata.holding = True
        request = init_producer_id.InitProducerIdRequest(None, 1000)
        waiting: list[Deferred[Any]] = [self.answer(22, 4, request) for _ in range(3)]
        (command,) = self.metadata.commands
        command.carry_out()
        given = [self.response(22, 4, self.successResultOf(one)).producer_id for one in waiting]
        self.assertEqual(sorted(given), [0, 1, 2])
        self.assertEqual(self.commands(), ["allocate_producer_ids"])


class _NoMoves:
    """A log store that must not be asked to move anything."""

    def relocate(self, *args: object) -> None:
        """Fail the test."""
        raise AssertionError(f"moved {args}")
