"""The part of the contract about changes: those of other brokers, and of tools for Apache Kafka."""

from __future__ import annotations

import uuid

from kafkatx.acls import (
    AccessControlEntry,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from kafkatx.errors import ErrorCode
from kafkatx.interfaces.nodes import Create, Delete
from kafkatx.testing.contracts.cluster.case import ClusterStoreCase
from kafkatx.testing.contracts.security.acl_store import NONE, PREFIX, READ, TOPIC, WRITE, on


class ChangesContract(ClusterStoreCase):
    """Changes that one broker or a tool makes, and the others see."""

    async def test_brokers(self) -> None:
        """Check that each broker sees the others, one controller, and the same cluster id."""
        first, second = await self.started(1), await self.started(2)
        state = await self.until(first, lambda state: len(state.brokers) == 2)
        self.assertEqual(state.brokers, (await self.until(second, lambda state: 1 in state.brokers)).brokers)
        self.assertEqual(state.cluster_id, second.state.cluster_id)
        self.assertEqual(
            (state.brokers[2].host, state.controller_id, second.state.controller_id), ("host2", 1, 1)
        )
        self.assertLess(state.brokers[1].epoch, state.brokers[2].epoch)

    async def test_topic_of_another_broker(self) -> None:
        """Check that a topic that one broker creates has leaders, and that all brokers see the same."""
        first, second = await self.started(1), await self.started(2)
        await self.until(first, lambda state: 2 in state.brokers)
        topic = await self.result(second.create_topic("clicks", [[1], [2], [1]], {"retention.ms": "5"}))
        self.assertEqual([each.leader for each in topic.partitions], [1, 2, 1])
        seen = await self.until(first, lambda state: state.topics.get("clicks") == topic)
        self.assertTrue(seen.leads(1, topic.partitions[0]))
        self.assertFalse(seen.leads(1, topic.partitions[1]))
        self.assertEqual(
            await self.failure_code(first.create_topic("clicks", [[1]], {})), ErrorCode.TOPIC_ALREADY_EXISTS
        )

    async def test_changes_of_another_broker(self) -> None:
        """Check that partitions, configs, quotas and deletions of one broker are seen by the other."""
        first, second = await self.started(1), await self.started(2)
        await self.until(first, lambda state: 2 in state.brokers)
        topic = await self.result(first.create_topic("clicks", [[1]], {}))
        await self.until(second, lambda state: "clicks" in state.topics)
        await self.result(second.add_partitions("clicks", 1, [[2]]))
        state = await self.until(first, lambda state: len(state.topics["clicks"].partitions) == 2)
        await self.until(first, lambda state: state.topics["clicks"].partitions[1].leader == 2)
        self.assertEqual(state.topics["clicks"].partitions[0], topic.partitions[0])
        await self.result(second.alter_topic_configs("clicks", lambda old: {"retention.ms": "7"}))
        await self.until(first, lambda state: state.topics["clicks"].configs == {"retention.ms": "7"})
        entity = (("user", "ann"),)
        await self.result(second.alter_client_quotas({entity: {"producer_byte_rate": 9.0}}))
        await self.until(first, lambda state: state.client_quotas == {entity: {"producer_byte_rate": 9.0}})
        users = {"ann": {"SCRAM-SHA-256": "salt=x"}, "bob": {"SCRAM-SHA-512": "salt=y"}}
        await self.result(second.alter_scram_credentials(users))
        await self.until(first, lambda state: state.scram_credentials == users)
        await self.result(first.alter_scram_credentials({"bob": {"SCRAM-SHA-512": None}}))
        await self.until(second, lambda state: "bob" not in state.scram_credentials)
        await self.result(first.delete_topic("clicks"))
        await self.until(second, lambda state: "clicks" not in state.topics)
        self.assertEqual(second.state.topic_names, {})

    async def test_acls_of_another_broker(self) -> None:
        """Check that ACLs that one broker adds and removes count for the others."""
        first, second = await self.started(1), await self.started(2)
        await self.result(first.alter_acls(on(TOPIC, READ, WRITE) | on(PREFIX, READ), NONE))
        await self.until(second, lambda state: state.acls == {TOPIC: {READ, WRITE}, PREFIX: {READ}})
        await self.result(second.alter_acls(NONE, on(TOPIC, READ) | on(PREFIX, READ)))
        await self.until(first, lambda state: state.acls == {TOPIC: {WRITE}})
        slash = ResourcePattern(ResourceType.GROUP, "a/b")
        self.assertEqual(
            await self.failure_code(first.alter_acls(on(slash, READ) | on(TOPIC, READ), NONE)),
            ErrorCode.INVALID_REQUEST,
        )
        self.assertEqual(first.state.acls, {TOPIC: {WRITE}})

    async def test_tool_changes_acls(self) -> None:
        """Check that ACLs that a tool changes with Kafka's notifications are seen; bad ones harm nothing."""
        first = await self.started(1)
        tool = await self.tool()
        content = (
            b'{"version":1,"acls":[{"principal":"User:ann","permissionType":"Deny",'
            b'"operation":"DescribeConfigs","host":"192.0.2.1"}]}'
        )
        notifications = (
            ("/kafka-acl-changes/acl_changes_", b"nonsense"),
            ("/kafka-acl-changes/acl_changes_", b"TOPIC:a:b"),
            (
                "/kafka-acl-extended-changes/acl_changes_",
                b'{"version":1,"resourceType":"TRANSACTIONAL_ID","name":"t","patternType":"PREFIXED"}',
            ),
        )
        await self.result(
            tool.multi(
                [
                    Create("/kafka-acl/Topic"),
                    Create("/kafka-acl/Topic/a:b", content),
                    Create("/kafka-acl-extended/prefixed/TransactionalId"),
                    Create("/kafka-acl-extended/prefixed/TransactionalId/t", content),
                    *(Create(path, data, sequential=True) for path, data in notifications),
                ]
            )
        )
        entry = AccessControlEntry("User:ann", "192.0.2.1", AclOperation.DESCRIBE_CONFIGS, AclPermission.DENY)
        prefixed = ResourcePattern(ResourceType.TRANSACTIONAL_ID, "t", PatternType.PREFIXED)
        literal = ResourcePattern(ResourceType.TOPIC, "a:b")
        await self.until(first, lambda state: state.acls == {prefixed: {entry}, literal: {entry}})

    async def test_no_change_is_lost(self) -> None:
        """Check that configs that two brokers change at the same time keep both changes."""
        first, second = await self.started(1), await self.started(2)
        await self.result(first.create_topic("clicks", [[1]], {}))
        changes = [
            store.alter_topic_configs("clicks", lambda old, name=name: {**old, name: "1"})  # type: ignore[misc]
            for name, store in zip("abcdef", [first, second] * 3, strict=True)
        ]
        for change in changes:
            await self.result(change)
        every = dict.fromkeys("abcdef", "1")
        await self.until(first, lambda state: state.topics["clicks"].configs == every)
        await self.until(second, lambda state: state.topics["clicks"].configs == every)

    async def test_producer_ids(self) -> None:
        """Check that no producer id is given to two brokers."""
        first, second = await self.started(1), await self.started(2)
        given = [store.allocate_producer_ids(10) for store in [first, second] * 3]
        ids = [number for block in given for number in await self.result(block)]
        self.assertEqual(len(set(ids)), 60)

    async def test_tool_creates_a_topic(self) -> None:
        """Check that a topic whose nodes a tool for Apache Kafka has made gets leaders, and a topic id."""
        first = await self.started(1)
        tool = await self.tool()
        for name, content in (
            ("old", b'{"version":1,"partitions":{"0":[1],"1":[1]}}'),
            (
                "new",
                b'{"version":3,"topic_id":"dGVzdHRlc3R0ZXN0dGVzdA","partitions":{"0":[1]},'
                b'"adding_replicas":{},"removing_replicas":{}}',
            ),
        ):
            await self.result(
                tool.multi(
                    [
                        Create(f"/config/topics/{name}", b'{"version":1,"config":{"retention.ms":"5"}}'),
                        Create(f"/brokers/topics/{name}", content),
                    ]
                )
            )
        await self.led(first, "old", 1, 0)
        await self.led(first, "new", 1, 0)
        topics = first.state.topics
        self.assertEqual((len(topics["old"].partitions), topics["old"].configs), (2, {"retention.ms": "5"}))
        self.assertEqual(topics["new"].topic_id, uuid.UUID(bytes=b"testtesttesttest"))
        self.assertGreater(topics["old"].topic_id.int, 1)

    async def test_tool_deletes_a_topic(self) -> None:
        """Check that a topic that a tool marks for deletion is deleted; a mark without a topic is removed."""
        first = await self.started(1)
        await self.result(first.create_topic("clicks", [[1]], {}))
        tool = await self.tool()
        await self.result(tool.multi([Create("/admin/delete_topics/nothing")]))
        await self.result(tool.multi([Create("/admin/delete_topics/clicks")]))
        await self.until(first, lambda state: not state.topics)
        for path in (
            "/brokers/topics/clicks",
            "/config/topics/clicks",
            "/admin/delete_topics/clicks",
            "/admin/delete_topics/nothing",
        ):
            while await self.result(tool.exists(path)) is not None:  # the marks go last
                await self.result(first.allocate_producer_ids(1))
        again = await self.result(first.create_topic("clicks", [[1]], {}))
        self.assertEqual(again.partitions[0].leader, 1)

    async def test_tool_changes_configs(self) -> None:
        """Check that configs that a tool changes with Kafka's notification are seen."""
        first = await self.started(1)
        await self.result(first.create_topic("clicks", [[1]], {}))
        tool = await self.tool()
        content = b'{"version":1,"config":{"retention.ms":"9"}}'
        await self.result(
            tool.multi(
                [
                    Delete("/config/topics/clicks"),
                    Create("/config/topics/clicks", content),
                    Create(
                        "/config/changes/config_change_",
                        b'{"version":2,"entity_path":"topics/clicks"}',
                        sequential=True,
                    ),
                ]
            )
        )
        await self.until(first, lambda state: state.topics["clicks"].configs == {"retention.ms": "9"})
