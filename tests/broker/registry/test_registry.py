"""The registry over its partition: what is committed is answered, one change after the other."""

from __future__ import annotations

import errno

from twisted.internet.defer import Deferred

from kafkatx.broker.registry import registry as module
from kafkatx.registry.records import config_record, max_id_record, mode_record, schema_tombstone
from kafkatx.web.calls import Answer
from tests.broker.registry.case import A, B, C, RegistryCase


class TopicTests(RegistryCase):
    def test_before(self) -> None:
        """Reads do not create the topic: the registry is empty."""
        self.assertEqual(self.ok("GET", "/subjects"), [])
        self.refused(40403, "GET", "/schemas/ids/1")
        self.refused(40401, "POST", "/subjects/s", {"schema": A})
        self.assertNotIn("_schemas", self.broker.metadata.state.topics)

    def test_created(self) -> None:
        """The first change creates it: one partition, compacted, with room for large schemas."""
        self.register("s")
        topic = self.broker.metadata.state.topics["_schemas"]
        self.assertEqual(len(topic.partitions), 1)
        self.assertEqual(dict(topic.configs), {"cleanup.policy": "compact", "max.message.bytes": "4194304"})

    def test_not_compact(self) -> None:
        """A topic that loses schemas is not used: neither reads nor changes, with the reason."""
        self.make_topic("_schemas")
        for method, target, body in (
            ("GET", "/subjects", None),
            ("PUT", "/config", {"compatibility": "NONE"}),
        ):
            self.assertIn("cleanup.policy=delete", self.refused(50001, method, target, body))

    def test_partitions(self) -> None:
        """A topic with several partitions has no order, and is not used."""
        self.make_topic("_schemas", 2, cleanup_policy="compact")
        self.assertIn("2 partitions", self.refused(50001, "GET", "/subjects"))

    def test_deleted(self) -> None:
        """A deleted topic is no empty registry: it is told, until the topic is there again."""
        self.register("s")
        self.successResultOf(Deferred.fromCoroutine(self.broker.topic_commands.delete("_schemas")))
        for method, target in (("GET", "/subjects"), ("DELETE", "/subjects/s")):
            self.assertIn("was deleted", self.refused(50001, method, target))
        self.make_topic("_schemas", cleanup_policy="compact")
        self.assertEqual(self.ok("GET", "/subjects"), [])

    def test_no_leader(self) -> None:
        """While no broker leads, requests wait, and are refused in the end."""
        self.register("s")
        self.partition.resign()
        waiting = self.begin("GET", "/subjects")
        self.clock.pump([0.1] * 50)
        self.assertNoResult(waiting)
        self.clock.pump([0.1] * 60)
        status, body = self.answered(self.successResultOf(waiting))
        self.assertEqual((status, body["error_code"]), (500, 50004))

    def test_offline(self) -> None:
        """A failed log dir is told."""
        self.register("s")
        self.partition.go_offline()
        self.refused(50001, "GET", "/subjects")


class ReadTests(RegistryCase):
    def test_restart(self) -> None:
        """Another registry that reads the same log knows the same."""
        self.register("s")
        self.register("s", B)
        self.registry._log = None
        self.assertEqual(self.ok("GET", "/subjects/s/versions"), [1, 2])

    def test_of_others(self) -> None:
        """Records that another program writes are seen by the next request."""
        self.register("s")
        self.write(mode_record("", "READONLY"))
        self.assertEqual(self.ok("GET", "/mode"), {"mode": "READONLY"})
        self.write(schema_tombstone("s", 1))
        self.assertEqual(self.ok("GET", "/subjects"), [])

    def test_garbage(self) -> None:
        """Garbage in the topic is skipped with one line of the log; the rest is served."""
        self.register("s")
        self.write((b"garbage", b"{"), (b"", None), mode_record("s", "READONLY"), (b'{"keytype":"X"}', b"1"))
        self.assertEqual(self.ok("GET", "/mode/s"), {"mode": "READONLY"})
        self.assertEqual(self.ok("GET", "/subjects"), ["s"])

    def test_roles(self) -> None:
        """The state is forgotten with the role, and read again with the next one."""
        self.register("s")
        self.registry.role_changed(self.partition, False)
        self.assertIsNone(self.registry._log)
        self.assertEqual(self.ok("GET", "/subjects"), ["s"])


class ChangeTests(RegistryCase):
    def test_one_after_the_other(self) -> None:
        """The second of two writers with one schema each sees what the first has written."""
        self.inspector.held = []
        first = self.begin("POST", "/subjects/s/versions", {"schema": A})
        second = self.begin("POST", "/subjects/s/versions", {"schema": C})
        self.assertEqual(len(self.inspector.held), 2)  # a slow one does not keep the other waiting
        self.inspector.held[0].callback(None)
        self.assertEqual(self.answered(self.successResultOf(first))[1]["id"], 1)
        self.inspector.held[1].callback(None)
        self.assertNoResult(second)
        self.inspector.held[2].callback(None)  # with what the first has written
        status, body = self.answered(self.successResultOf(second))
        self.assertEqual(status, 409, body)

    def test_another_program(self) -> None:
        """A change sees what another program writes while it is inspected, and is inspected once."""
        self.register("s")
        self.inspector.held = []
        changing = self.begin("POST", "/subjects/s/versions", {"schema": B})
        self.write(max_id_record(70))
        self.inspector.held[0].callback(None)
        self.assertEqual(self.answered(self.successResultOf(changing))[1]["id"], 71)

    def test_always_another_program(self) -> None:
        """A change gives up in the end if another program never stops."""
        self.patch(module, "MOST_ATTEMPTS", 3)
        self.register("s")
        self.inspector.held = []
        changing = self.begin("POST", "/subjects/s/versions", {"schema": B})
        for number, level in enumerate(("FORWARD", "FULL", "NONE")):
            self.write(config_record("s", {"compatibilityLevel": level}))
            self.inspector.held[number].callback(None)
        self.assertEqual(self.answered(self.successResultOf(changing))[1]["error_code"], 50002)

    def test_client_gone(self) -> None:
        """A change whose client disconnects while it is inspected is dropped."""
        self.inspector.held = []
        changing = self.begin("POST", "/subjects/s/versions", {"schema": A})
        changing.cancel()
        self.failureResultOf(changing)
        self.inspector.held = None
        self.assertEqual(self.ok("GET", "/subjects"), [])

    def test_lost_while_inspected(self) -> None:
        """A leader that has lost its role meanwhile writes nothing."""
        self.register("s")
        self.inspector.held = []
        changing = self.begin("POST", "/subjects/s/versions", {"schema": B})
        end = self.partition.log.log_end_offset
        self.partition.resign()
        self.registry.role_changed(self.partition, False)
        self.inspector.held[0].callback(None)
        self.clock.pump([0.1] * 120)
        self.assertEqual(self.answered(self.successResultOf(changing))[1]["error_code"], 50004)
        self.assertEqual(self.partition.log.log_end_offset, end)

    def test_failed_write(self) -> None:
        """A write that fails is no success, and the state is as before."""
        self.register("s")

        def fail() -> None:
            raise OSError(errno.ENOSPC, "no space")

        self.patch(self.partition.log, "write", fail)
        self.refused(50001, "PUT", "/config", {"compatibility": "NONE"})
        self.assertEqual(self.ok("GET", "/config"), {"compatibilityLevel": "BACKWARD"})

    def test_nothing_to_write(self) -> None:
        """A schema that is registered already costs no record, and no engine if its text is the same."""
        self.register("s")
        end, count = self.partition.log.log_end_offset, self.inspector.count
        self.register("s")
        self.assertEqual(self.inspector.count, count)
        self.register("s", A.replace(" ", "  "))
        self.assertEqual((self.inspector.count, self.partition.log.log_end_offset), (count + 1, end))

    def wait_in_sync(self) -> Deferred[Answer]:
        """Begin a change while too few replicas are in sync."""
        self.partition.replicated, self.partition.min_insync = True, 2
        return self.begin("PUT", "/config", {"compatibility": "NONE"})

    def test_in_sync_soon(self) -> None:
        """A change waits a moment for followers, as those of a cluster that has just started."""
        self.register("s")
        end = self.partition.log.log_end_offset
        changing = self.wait_in_sync()
        self.clock.pump([0.1] * 40)
        self.assertNoResult(changing)
        self.assertEqual(self.partition.log.log_end_offset, end)
        self.partition.replicated = False
        self.clock.advance(0.1)
        self.assertEqual(self.answered(self.successResultOf(changing))[0], 200)

    def test_too_few_in_sync(self) -> None:
        """Changes that wait for too long write nothing, and are refused together; others are answered."""
        self.register("s")
        end = self.partition.log.log_end_offset
        changing = [self.wait_in_sync() for _ in range(3)]
        self.clock.pump([0.1] * 51)
        for one in changing:
            status, body = self.answered(self.successResultOf(one))
            self.assertEqual((status, body["error_code"]), (500, 50002))
            self.assertIn("nothing was changed", body["message"])
        self.assertEqual(self.partition.log.log_end_offset, end)
        self.register("s")
