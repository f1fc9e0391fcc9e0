"""The contract of implementations of :class:`~kafkatx.interfaces.IMetadataStore`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NoReturn, TypeVar

import attrs
from zope.interface.verify import verifyObject

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces import IMetadataStore
from kafkatx.testing.contracts.security.acl_store import PREFIX, READ, TOPIC, WRITE, AclStoreContract, on
from kafkatx.testing.contracts.security.credentials import SHA_256, SHA_512, CredentialsContract
from kafkatx.types import ALL_BROKERS, BrokerNode, ClusterState, Placement, QuotaEntity, Topic

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred

NODE = BrokerNode(id=3, host="127.0.0.1", port=9092)
DIRECTORY = "q1Sh-9_ISia_zwGINzRvyQ"
ANN: QuotaEntity = (("client-id", None), ("user", "änn \n'"))
ANYONE: QuotaEntity = (("user", None),)
ADDRESS: QuotaEntity = (("ip", "192.0.2.1"),)
A, B, C = "producer_byte_rate", "consumer_byte_rate", "request_percentage"
LED = (3, 0, (3,), (3,))
"""Leader, leader epoch, replicas and in-sync replicas of a new partition."""


T = TypeVar("T")


def led(topic: Topic) -> list[tuple[int, int, tuple[int, ...], tuple[int, ...]]]:
    """Return leader, leader epoch, replicas and in-sync replicas of each partition."""
    return [(one.leader, one.leader_epoch, one.replicas, one.isr) for one in topic.partitions]


def adding(**configs: str) -> Callable[[Mapping[str, str]], Mapping[str, str]]:
    """Return a change that sets configs and keeps the others; names with ``_`` for ``.``."""
    return lambda old: {**old, **{name.replace("_", "."): value for name, value in configs.items()}}


def refusing(old: Mapping[str, str]) -> NoReturn:
    """Raise the error of a change that is not allowed."""
    raise RequestError(ErrorCode.INVALID_CONFIG, "never")


class MetadataStoreContract(CredentialsContract, AclStoreContract):
    """Mixin for a ``SynchronousTestCase``; the subclass says how a store is made.

    Its Deferreds must fire at once, or :meth:`result` be overridden to make them.
    """

    def make_store(self) -> IMetadataStore:
        """Return a store that is not started. A second call returns one that sees the state of the
        first.
        """
        raise NotImplementedError

    def result(self, deferred: Deferred[T]) -> T:
        """Return the result of a Deferred; raise its failure."""
        return self.successResultOf(deferred)

    def failure_code(self, deferred: Deferred[T]) -> ErrorCode:
        """Return the code of the RequestError with which a Deferred failed."""
        error = self.failureResultOf(deferred, RequestError).value
        assert isinstance(error, RequestError)
        return error.code

    def started(self) -> IMetadataStore:
        """Return a store that broker 3 has started and registered; it is stopped at the test's end."""
        store = self.make_store()
        self.result(store.start(NODE))
        self.result(store.register([DIRECTORY]))
        self.addCleanup(lambda: self.result(store.stop()))
        return store

    def test_interface(self) -> None:
        """Check that the store provides IMetadataStore."""
        self.assertTrue(verifyObject(IMetadataStore, self.make_store()))

    def test_start_registers_the_broker(self) -> None:
        """Check that after the start the state has this broker, a live controller, and a cluster id of
        Kafka's form.
        """
        state = self.started().state
        self.assertEqual(attrs.evolve(state.brokers[3], epoch=NODE.epoch, incarnation=NODE.incarnation), NODE)
        self.assertIn(state.controller_id, state.brokers)
        self.assertTrue(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{21}", state.cluster_id), state.cluster_id)

    def test_create_topic(self) -> None:
        """Check that listeners see a created topic with leaders, replicas, ISR, epoch and configs."""
        store = self.started()
        topic = self.result(store.create_topic("clicks", [[3], [3]], {"retention.ms": "5"}))
        self.assertEqual(store.state.topics, {"clicks": topic})
        self.assertEqual(store.state.topic_names, {topic.topic_id: "clicks"})
        self.assertEqual(led(topic), [LED, LED])
        self.assertEqual(topic.configs, {"retention.ms": "5"})
        self.assertFalse(topic.internal)
        self.assertGreater(topic.topic_id.int, 1)

    def test_internal_topics(self) -> None:
        """Topics that brokers keep for themselves are marked as internal."""
        topic = self.result(self.started().create_topic("__consumer_offsets", [[3]], {}))
        self.assertTrue(topic.internal)

    def test_create_twice(self) -> None:
        """Check that an existing topic is not created again, and stays as it is."""
        store = self.started()
        topic = self.result(store.create_topic("clicks", [[3]], {}))
        code = self.failure_code(store.create_topic("clicks", [[3], [3]], {"a": "b"}))
        self.assertEqual(code, ErrorCode.TOPIC_ALREADY_EXISTS)
        self.assertEqual(store.state.topics, {"clicks": topic})

    def test_delete_topic(self) -> None:
        """Check that a deleted topic is gone from the state by name and by id, and that others stay."""
        store = self.started()
        self.result(store.create_topic("clicks", [[3]], {}))
        views = self.result(store.create_topic("views", [[3]], {}))
        self.result(store.delete_topic("clicks"))
        self.assertEqual(store.state.topics, {"views": views})
        self.assertEqual(store.state.topic_names, {views.topic_id: "views"})

    def test_delete_unknown(self) -> None:
        """Check that deleting a topic that does not exist fails with UNKNOWN_TOPIC_OR_PARTITION."""
        code = self.failure_code(self.started().delete_topic("clicks"))
        self.assertEqual(code, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def test_recreated_topic_has_a_new_id(self) -> None:
        """Check that a topic that is created again has another id and none of its predecessor's configs."""
        store = self.started()
        first = self.result(store.create_topic("clicks", [[3], [3]], {"retention.ms": "5"}))
        self.result(store.delete_topic("clicks"))
        second = self.result(store.create_topic("clicks", [[3]], {}))
        self.assertNotEqual(first.topic_id, second.topic_id)
        self.assertEqual((len(second.partitions), dict(second.configs)), (1, {}))

    def test_listeners(self) -> None:
        """Listeners get the old and the new state of each change, in order, before its Deferred fires."""
        store = self.started()
        before = store.state
        heard: list[tuple[ClusterState, ClusterState]] = []
        store.subscribe(lambda delta: heard.append((delta.before, delta.after)))
        created = store.create_topic("clicks", [[3]], {})
        told = created.addCallback(lambda _: heard[-1][1])
        self.assertIn("clicks", self.result(told).topics)
        self.result(store.delete_topic("clicks"))
        # in a cluster the creation of a topic and the election of its leaders are two changes
        self.assertEqual([after for _, after in heard[:-1]], [before for before, _ in heard[1:]])
        self.assertEqual((heard[0][0], heard[-1][1]), (before, store.state))

    def test_listeners_hear_of_the_start(self) -> None:
        """Check that the start is a change, too: from no brokers to this one."""
        store = self.make_store()
        before = store.state
        heard: list[tuple[ClusterState, ClusterState]] = []
        store.subscribe(lambda delta: heard.append((delta.before, delta.after)))
        self.result(store.start(NODE))
        self.addCleanup(lambda: self.result(store.stop()))
        self.assertEqual(dict(before.brokers), {})
        self.assertEqual((heard[0][0], heard[-1][1]), (before, store.state))

    def test_states_are_values(self) -> None:
        """Check that a state that was read before a change does not show the change."""
        store = self.started()
        before = store.state
        self.result(store.create_topic("clicks", [[3]], {}))
        self.assertEqual(dict(before.topics), {})

    def test_failed_change_calls_no_listener(self) -> None:
        """Check that a change that fails calls no listener."""
        store = self.started()
        heard: list[object] = []
        store.subscribe(lambda delta: heard.append(delta.after))
        self.failure_code(store.delete_topic("clicks"))
        self.assertEqual(heard, [])

    def test_add_partitions(self) -> None:
        """Check that a topic gets more partitions and keeps id and configs, and that other topics stay."""
        store = self.started()
        views = self.result(store.create_topic("views", [[3]], {}))
        clicks = self.result(store.create_topic("clicks", [[3]], {"retention.ms": "5"}))
        grown = self.result(store.add_partitions("clicks", 1, [[3], [3]]))
        self.assertEqual(led(grown), [LED, LED, LED])
        self.assertEqual((grown.topic_id, grown.configs), (clicks.topic_id, clicks.configs))
        self.assertEqual(store.state.topics, {"clicks": grown, "views": views})
        self.assertEqual(store.state.topic_names[clicks.topic_id], "clicks")

    def test_add_partitions_refused(self) -> None:
        """Check that no partitions are added to a topic that does not exist or now has another number of
        them.
        """
        store = self.started()
        topic = self.result(store.create_topic("clicks", [[3], [3]], {}))
        for name, count, code in (
            ("views", 2, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            ("clicks", 1, ErrorCode.INVALID_PARTITIONS),
            ("clicks", 3, ErrorCode.INVALID_PARTITIONS),
        ):
            self.assertEqual(self.failure_code(store.add_partitions(name, count, [[3]])), code)
        self.assertEqual(store.state.topics, {"clicks": topic})

    def test_add_partitions_twice_at_once(self) -> None:
        """Check that of two additions to the same number of partitions one is refused."""
        store = self.started()
        self.result(store.create_topic("clicks", [[3]], {}))
        first, second = (store.add_partitions("clicks", 1, [[3]]) for _ in range(2))
        self.result(first)
        self.assertEqual(self.failure_code(second), ErrorCode.INVALID_PARTITIONS)
        self.assertEqual(len(store.state.topics["clicks"].partitions), 2)

    def test_alter_topic_configs(self) -> None:
        """Check that the change gets the current configs, and that its result replaces them, also if it has
        fewer.
        """
        store = self.started()
        self.result(store.create_topic("views", [[3]], {"a": "1"}))
        self.result(store.create_topic("clicks", [[3]], {"a": "1", "b": "2"}))
        self.result(store.alter_topic_configs("clicks", adding(b="3", c_d="4")))
        self.assertEqual(store.state.topics["clicks"].configs, {"a": "1", "b": "3", "c.d": "4"})
        self.result(store.alter_topic_configs("clicks", lambda old: {"c.d": old["c.d"]}))
        self.assertEqual(store.state.topics["clicks"].configs, {"c.d": "4"})
        self.assertEqual(store.state.topics["views"].configs, {"a": "1"})

    def test_alter_at_once(self) -> None:
        """Check that no change is lost if several are under way at the same time."""
        store = self.started()
        self.result(store.create_topic("clicks", [[3]], {}))
        for doing in [
            *(store.alter_topic_configs("clicks", adding(**{name: name})) for name in "abc"),
            *(store.alter_broker_configs("3", adding(**{name: name})) for name in "abc"),
        ]:
            self.result(doing)
        every = {"a": "a", "b": "b", "c": "c"}
        self.assertEqual(store.state.topics["clicks"].configs, every)
        self.assertEqual(store.state.broker_configs["3"], every)

    def test_alter_refused(self) -> None:
        """Check that a change that raises, or of an unknown topic, changes nothing and calls no listener."""
        store = self.started()
        self.result(store.create_topic("clicks", [[3]], {"a": "1"}))
        self.result(store.alter_broker_configs("3", adding(a="1")))
        before = store.state
        heard: list[object] = []
        store.subscribe(lambda delta: heard.append(delta.after))
        for doing, code in (
            (store.alter_topic_configs("clicks", refusing), ErrorCode.INVALID_CONFIG),
            (store.alter_broker_configs("3", refusing), ErrorCode.INVALID_CONFIG),
            (store.alter_topic_configs("views", adding(a="2")), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ):
            self.assertEqual(self.failure_code(doing), code)
        self.assertEqual((store.state, heard), (before, []))

    def test_alter_broker_configs(self) -> None:
        """Check that each broker's settings and those of all brokers are separate; a broker without any is
        not listed.
        """
        store = self.started()
        self.assertEqual(store.state.broker_configs, {})
        for broker, value in (("3", "1"), (ALL_BROKERS, "2"), ("4", "3")):
            self.result(store.alter_broker_configs(broker, adding(a=value)))
        self.assertEqual(
            store.state.broker_configs, {"3": {"a": "1"}, ALL_BROKERS: {"a": "2"}, "4": {"a": "3"}}
        )
        self.result(store.alter_broker_configs("3", lambda old: {}))
        self.assertEqual(store.state.broker_configs, {ALL_BROKERS: {"a": "2"}, "4": {"a": "3"}})

    def test_alter_group_configs(self) -> None:
        """Check that each group's configs are separate; a group without any is not listed."""
        store = self.started()
        self.assertEqual(store.state.group_configs, {})
        for group, value in (("g", "1"), ("h", "2")):
            self.result(store.alter_group_configs(group, adding(a=value)))
        self.result(store.alter_group_configs("g", adding(b="3")))
        self.assertEqual(store.state.group_configs, {"g": {"a": "1", "b": "3"}, "h": {"a": "2"}})
        self.assertEqual(
            self.failure_code(store.alter_group_configs("g", refusing)), ErrorCode.INVALID_CONFIG
        )
        self.result(store.alter_group_configs("g", lambda old: {}))
        self.assertEqual(store.state.group_configs, {"h": {"a": "2"}})

    def test_alter_client_metrics_configs(self) -> None:
        """Check that subscriptions are separate; one without configs does not exist."""
        store = self.started()
        alter = store.alter_client_metrics_configs
        self.assertEqual(store.state.client_metrics_configs, {})
        for name, value in (("all", "1"), ("some", "2")):
            self.result(alter(name, adding(a=value)))
        self.result(alter("all", adding(b="3")))
        self.assertEqual(
            store.state.client_metrics_configs, {"all": {"a": "1", "b": "3"}, "some": {"a": "2"}}
        )
        self.assertEqual(self.failure_code(alter("all", refusing)), ErrorCode.INVALID_CONFIG)
        self.result(alter("all", lambda old: {}))
        self.assertEqual(store.state.client_metrics_configs, {"some": {"a": "2"}})
        self.assertEqual(store.state.group_configs, {})

    def test_client_quotas(self) -> None:
        """Quotas are set, changed and removed one by one; an entity without any is not listed."""
        store = self.started()
        self.assertEqual(store.state.client_quotas, {})
        self.result(store.alter_client_quotas({ANN: {A: 1.5, B: 2.0}, ANYONE: {A: 3.0}}))
        self.result(store.alter_client_quotas({ANN: {A: None, B: 4.0, C: None}}))
        self.assertEqual(store.state.client_quotas, {ANN: {B: 4.0}, ANYONE: {A: 3.0}})
        self.result(store.alter_client_quotas({ANN: {B: None}, ADDRESS: {A: None}}))
        self.assertEqual(store.state.client_quotas, {ANYONE: {A: 3.0}})

    def test_client_quotas_at_once(self) -> None:
        """Check that no change of an entity's quotas is lost if several are under way at the same time."""
        store = self.started()
        for doing in [store.alter_client_quotas({ANN: {name: 1.0}}) for name in (A, B, C)]:
            self.result(doing)
        self.assertEqual(store.state.client_quotas, {ANN: {A: 1.0, B: 1.0, C: 1.0}})

    def test_client_quotas_stay(self) -> None:
        """Other changes of the cluster leave the quotas, to the very object, as they are."""
        store = self.started()
        self.result(store.alter_client_quotas({ANN: {A: 1.0}}))
        before = store.state.client_quotas
        self.result(store.create_topic("clicks", [[3]], {}))
        self.result(store.alter_broker_configs("3", adding(a="1")))
        self.result(store.delete_topic("clicks"))
        self.assertIs(store.state.client_quotas, before)

    def test_producer_ids(self) -> None:
        """Check that each allocation returns as many ids as requested, none of them returned before."""
        store = self.started()
        given = [
            *self.result(store.allocate_producer_ids(10)),
            *self.result(store.allocate_producer_ids(5)),
        ]
        self.assertEqual(len(set(given)), 15)
        self.assertGreaterEqual(min(given), 0)

    def test_record(self) -> None:
        """Check that the places of logs can be recorded, also of partitions that no longer exist."""
        store = self.started()
        topic = self.result(store.create_topic("clicks", [[3]], {}))
        placed = [Placement(topic.topic_id, number, "dir") for number in (0, 7)]
        self.result(store.record({"dir": "/a"}, placed, [topic.topic_id]))
        self.assertGreaterEqual(store.generation, 0)

    def test_stop_twice(self) -> None:
        """Check that a store may be stopped twice, and before it was started."""
        store = self.make_store()
        self.result(store.stop())
        self.result(store.start(NODE))
        self.result(store.stop())
        self.result(store.stop())


class DurableMetadataStoreContract(MetadataStoreContract):
    """The contract of stores whose state survives a restart."""

    def test_restart(self) -> None:
        """Check that another store sees the same state to the last id, and allocates other producer
        ids.
        """
        first = self.make_store()
        self.result(first.start(NODE))
        self.result(
            first.create_topic("clicks", [[3]] * 12, {"retention.ms": "5", "cleanup.policy": "compact"})
        )
        self.result(first.create_topic("gone", [[3]], {"retention.ms": "6"}))
        self.result(first.delete_topic("gone"))
        self.result(first.add_partitions("clicks", 12, [[3]]))
        self.result(first.alter_topic_configs("clicks", lambda old: {"retention.ms": "6"}))
        self.result(first.alter_broker_configs(ALL_BROKERS, adding(log_retention_ms="7")))
        self.result(first.alter_broker_configs("3", adding(log_retention_ms="8", log_roll_ms="9")))
        self.result(first.alter_client_quotas({ANN: {A: 0.1, B: 1e300}, ANYONE: {A: 3.0}}))
        self.result(first.alter_client_quotas({ANN: {B: None}, ADDRESS: {A: 2.0**53}}))
        self.result(first.alter_group_configs("g", adding(consumer_session_timeout_ms="50000")))
        self.result(first.alter_client_metrics_configs("all", adding(interval_ms="1000")))
        self.result(
            first.alter_scram_credentials({"ann": {SHA_256: "a", SHA_512: "b"}, "bob": {SHA_256: "c"}})
        )
        self.result(first.alter_scram_credentials({"bob": {SHA_256: None}}))
        self.result(first.alter_acls(on(TOPIC, READ, WRITE) | on(PREFIX, WRITE), on(TOPIC, WRITE)))
        given = self.result(first.allocate_producer_ids(1000))
        clicks, views = first.state.topics["clicks"], self.result(first.create_topic("views", [[3]], {}))
        self.result(first.delete_topic("views"))
        self.result(first.record({"dir": "/a"}, [Placement(clicks.topic_id, 11, "dir")], []))
        generation = first.generation
        self.result(first.stop())
        second = self.started()
        self.assertEqual(second.state, first.state)
        self.assertGreaterEqual(second.generation, generation)
        recorded = second.recorded
        self.assertEqual(
            (recorded.log_dirs, recorded.placed), ({"dir": "/a"}, {clicks.topic_id: {11: "dir"}})
        )
        self.assertIn(views.topic_id, recorded.deleted)
        self.assertEqual(second.state.broker_configs["3"], {"log.retention.ms": "8", "log.roll.ms": "9"})
        self.assertEqual(second.state.group_configs, {"g": {"consumer.session.timeout.ms": "50000"}})
        self.assertEqual(second.state.client_metrics_configs, {"all": {"interval.ms": "1000"}})
        allocated = self.result(second.allocate_producer_ids(1000))
        self.assertFalse(set(given) & set(allocated))
