"""Access control with real clients, librdkafka and kafka-python over TLS, and in a cluster."""

from __future__ import annotations

from collections.abc import Callable

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)
from kafka.admin import ACLFilter, KafkaAdminClient
from kafka.admin import ACLOperation as PythonOperation
from kafka.admin import ACLPermissionType as PythonPermission
from kafka.admin import ACLResourcePatternType as PatternType
from kafka.admin import ResourcePatternFilter as PythonPattern
from kafka.admin import ResourceType as PythonType
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Cluster
from kafkatx.blocking.admin.acls import Acls
from kafkatx.security.acl.lines import parse_line
from kafkatx.testing import EmbeddedBroker, EmbeddedCluster
from tests.integration.tls_files import TlsFiles
from tests.until import until

ANY = AclBindingFilter(
    ResourceType.ANY,
    None,
    ResourcePatternType.ANY,
    None,
    None,
    AclOperation.ANY,
    AclPermissionType.ANY,
)
ALICE = "User:CN=alice"


class ClientTests(SynchronousTestCase):
    """A broker that knows its clients by their certificates."""

    def setUp(self) -> None:
        """Start it, with an administrator and alice."""
        self.files = TlsFiles(self.mktemp())
        settings = self.files.broker_settings(
            ssl_client_auth="required",
            authorizer_class_name="org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            super_users="User:CN=admin",
        )
        self.broker = EmbeddedBroker(settings)
        self.addCleanup(self.broker.close)
        self.broker.start()
        self.admin = AdminClient(self.settings(self.files.issue("admin.pem", "admin")))
        for created in self.admin.create_topics([NewTopic("orders", 1, 1)]).values():
            created.result(10)

    def settings(self, certificate: str, **more: str) -> dict[str, str]:
        """Return librdkafka's settings of a user."""
        return {
            "bootstrap.servers": self.broker.bootstrap,
            "security.protocol": "SSL",
            "ssl.ca.location": self.files.ca,
            "ssl.certificate.location": certificate,
            "ssl.key.location": certificate,
            **{name.replace("_", "."): value for name, value in more.items()},
        }

    def allow(self, operation: AclOperation, kind: ResourceType, name: str) -> AclBinding:
        """Allow alice something."""
        made = AclBinding(
            kind, name, ResourcePatternType.LITERAL, ALICE, "*", operation, AclPermissionType.ALLOW
        )
        for done in self.admin.create_acls([made]).values():
            done.result(10)
        return made

    def send(self) -> KafkaError | None:
        """Produce a record as alice; return the error."""
        outcome: list[KafkaError | None] = []

        def delivered(error: KafkaError | None, message: Message) -> None:
            outcome.append(error)

        producer = Producer(self.settings(self.files.user))
        producer.produce("orders", b"x", callback=delivered)
        producer.flush(20)
        return outcome[0]

    def test_rights(self) -> None:
        """Each right opens what it is for, and closes it again while a consumer is at work."""
        error = self.send()
        assert error is not None
        self.assertEqual(error.code(), KafkaError.TOPIC_AUTHORIZATION_FAILED)
        self.allow(AclOperation.WRITE, ResourceType.TOPIC, "orders")
        self.assertIsNone(self.send())
        consumer = Consumer(
            self.settings(self.files.user, group_id="g", auto_offset_reset="earliest"),
        )
        self.addCleanup(consumer.close)
        consumer.subscribe(["orders"])
        seen: list[int | bytes | None] = []

        def sees(wanted: int | bytes) -> Callable[[], bool]:
            def poll() -> bool:
                for message in consumer.consume(10, 0.2):
                    error = message.error()
                    seen.append(message.value() if error is None else error.code())
                return wanted in seen

            return poll

        until(sees(KafkaError.GROUP_AUTHORIZATION_FAILED), "the group is refused")
        self.allow(AclOperation.READ, ResourceType.GROUP, "g")
        read = self.allow(AclOperation.READ, ResourceType.TOPIC, "orders")
        until(sees(b"x"), "the record is read")
        (found,) = self.admin.describe_acls(
            AclBindingFilter(
                ResourceType.TOPIC,
                "orders",
                ResourcePatternType.MATCH,
                ALICE,
                None,
                AclOperation.READ,
                AclPermissionType.ANY,
            )
        ).result(10)
        self.assertEqual(found, read)
        wanted = AclBindingFilter(
            ResourceType.TOPIC,
            "orders",
            ResourcePatternType.LITERAL,
            ALICE,
            "*",
            AclOperation.READ,
            AclPermissionType.ALLOW,
        )
        for removed in self.admin.delete_acls([wanted]).values():
            self.assertEqual(removed.result(10), [read])
        until(sees(KafkaError.TOPIC_AUTHORIZATION_FAILED), "the topic is refused")
        self.assertIn("denied: 'User:CN=alice'", self.broker.output())

    def test_admin(self) -> None:
        """ACLs are for those who may alter the cluster; kafka-python sees what librdkafka has made."""
        alice = AdminClient(self.settings(self.files.user))
        mine = AclBinding(
            ResourceType.BROKER,
            "kafka-cluster",
            ResourcePatternType.LITERAL,
            ALICE,
            "*",
            AclOperation.ALL,
            AclPermissionType.ALLOW,
        )
        with self.assertRaises(KafkaException) as caught:
            for done in alice.create_acls([mine]).values():
                done.result(10)
        self.assertEqual(caught.exception.args[0].code(), KafkaError.CLUSTER_AUTHORIZATION_FAILED)
        self.allow(AclOperation.DESCRIBE, ResourceType.BROKER, "kafka-cluster")
        self.assertEqual(len(alice.describe_acls(ANY).result(10)), 1)
        python = KafkaAdminClient(
            bootstrap_servers=self.broker.bootstrap,
            security_protocol="SSL",
            ssl_cafile=self.files.ca,
            ssl_certfile=self.files.user,
            ssl_keyfile=self.files.user,
        )
        self.addCleanup(python.close)
        found, _ = python.describe_acls(
            ACLFilter(
                principal=ALICE,
                host=None,
                operation=PythonOperation.ANY,
                permission_type=PythonPermission.ANY,
                resource_pattern=PythonPattern(PythonType.CLUSTER, "kafka-cluster", PatternType.ANY),
            )
        )
        self.assertEqual([(one.principal, one.host) for one in found], [(ALICE, "*")])


class ClusterTests(SynchronousTestCase):
    def test_brokers_copy(self) -> None:
        """Brokers whose principal is a super user copy from each other, and all know each ACL."""
        settings: dict[str, str | int] = {
            "authorizer.class.name": "acl",
            "super.users": "User:ANONYMOUS",
            "min.insync.replicas": 3,
        }
        acl = parse_line("User:alice read topic:orders")
        with EmbeddedCluster(3, settings) as cluster:
            self.assertIn("User:ANONYMOUS, a super user", cluster.brokers[1].output())
            topic = cluster.topic("orders", replication=3)
            cluster.produce(topic, b"copied")
            with Cluster(cluster.bootstrap) as client:
                Acls(client).create([acl])
            for broker in cluster.brokers.values():

                def knows(bootstrap: str = broker.bootstrap) -> bool:
                    with Cluster(bootstrap) as client:
                        return Acls(client).describe() == [acl]

                until(knows, "each broker knows the ACL")
