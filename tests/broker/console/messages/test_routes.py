"""The routes about messages: refusals, rights, masks, quotas; and failures in the middle."""

from __future__ import annotations

from typing import Any, ClassVar

from twisted.internet.task import deferLater

from kafkatx.acls import AclOperation, ResourceType
from kafkatx.broker.console.errors import ConsoleError
from kafkatx.broker.console.messages import steps
from kafkatx.broker.console.messages.routes import MOST_SEARCHES
from kafkatx.net.requests import Session
from tests.broker.authorization.authorized import ADMIN
from tests.broker.console.authorized import AuthorizedConsoleCase
from tests.broker.console.messages.case import MessagesCase


class RefusalTests(MessagesCase):
    def test_parameters(self) -> None:
        """A wrong parameter is refused before a stream is opened, and the message says what is allowed."""
        for parameters, status, code, message in (
            ({"topic": ""}, 400, "INVALID_REQUEST", "topic is missing"),
            ({"topic": "u"}, 404, "UNKNOWN_TOPIC_OR_PARTITION", "no topic u"),
            ({"partition": "7"}, 404, "UNKNOWN_TOPIC_OR_PARTITION", "has 2 partitions"),
            ({"partition": "x"}, 400, "INVALID_REQUEST", "partition must be"),
            ({"from": "yesterday"}, 400, "INVALID_REQUEST", "oldest, newest"),
            ({"from": "time:x"}, 400, "INVALID_REQUEST", "from=time must be"),
            ({"from": "offsets:0"}, 400, "INVALID_REQUEST", "from=offsets must be"),
            ({"positions": "[1]"}, 400, "INVALID_REQUEST", "positions must be"),
            ({"positions": '{"0":-1}'}, 400, "INVALID_REQUEST", "positions must be"),
            ({"count": "0"}, 400, "INVALID_REQUEST", "count must be"),
            ({"count": "1001"}, 400, "INVALID_REQUEST", "from 1 to 1000"),
            ({"filter": "value.a ="}, 400, "INVALID_FILTER", "line 1, column 9"),
            ({"filter": "open('x')"}, 400, "INVALID_FILTER", "there is no function 'open'"),
            ({"keyFormat": "xml"}, 400, "INVALID_REQUEST", "there are auto, json"),
            ({"isolation": "dirty"}, 400, "INVALID_REQUEST", "read_committed"),
            ({"characters": "x"}, 400, "INVALID_REQUEST", "characters must be"),
        ):
            found = self.refusal(**parameters)
            self.assertEqual(found[:2], (status, code), found)
            self.assertIn(message, found[2])
        self.assertEqual(len(self.console.parts.streams), 0)

    def test_many_partitions(self) -> None:
        """A topic with very many partitions is searched in some of them at a time."""
        self.make_topic("many", 300)
        self.assertIn("at most 256 of the 300", self.refusal(topic="many")[2])
        self.search(topic="many", partition="299")

    def test_formats(self) -> None:
        """The formats are listed."""
        found = self.get("/messages/formats")
        self.assertEqual(found["formats"][:4], ["auto", "json", "text", "hex"])
        self.assertIn("avro", found["producible"])

    def test_check_filter(self) -> None:
        """A filter is checked while it is typed."""
        self.assertTrue(self.get("/messages/filter?filter=key%20==%20%27a%27")["valid"])
        found = self.get("/messages/filter?filter=key%20==%20abc")
        self.assertEqual((found["valid"], found["column"]), (False, 8))


class ManyTests(MessagesCase):
    def test_many_searches(self) -> None:
        """A bounded number of searches go on; one more is told so, and served when another has ended."""
        self.write(0, b"a")
        answers = [self.open("/messages") for _ in range(MOST_SEARCHES)]
        self.assertEqual(self.refusal()[:2], (503, "TOO_MANY_SEARCHES"))
        stream: Any = answers[0].stream
        stream.gone()
        self.assertEqual(self.search().texts, ["a"])
        self.console.parts.streams.stop()
        self.assertEqual(self.open("/messages").status, 503)


class FailureTests(MessagesCase):
    def test_process_fails(self) -> None:
        """A search whose process had to be killed says so, and the stream ends."""
        self.write(0, b"a")

        async def ask(share: str, head: object, body: object) -> object:
            raise ConsoleError(503, "MESSAGES_NOT_READ", "the process was ended")

        self.patch(self.console.parts.views, "ask", ask)
        found = self.search()
        self.assertEqual(
            found.of("failure"), [{"code": "MESSAGES_NOT_READ", "message": "the process was ended"}]
        )

    def test_disk_fails(self) -> None:
        """A search whose log cannot be read says so."""
        self.write(0, b"a")
        partition: Any = self.broker.topics.find("t", 0)

        def read(*arguments: object) -> bytes:
            raise OSError("Input/output error")

        self.patch(partition.log, "read", read)
        (failure,) = self.search().of("failure")
        self.assertEqual(failure["code"], "KAFKA_STORAGE_ERROR")
        self.assertIn("t-0 cannot be read: Input/output error", failure["message"])

    def test_bug(self) -> None:
        """A failure of ours is in the log, and the stream ends with an error."""
        self.write(0, b"a")

        async def ask(share: str, head: object, body: object) -> object:
            raise RuntimeError("a bug")

        self.patch(self.console.parts.views, "ask", ask)
        self.assertEqual(self.search().of("failure")[0]["code"], "UNKNOWN_SERVER_ERROR")
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)

    def test_damaged(self) -> None:
        """Bytes that are no batches end a search, which says where."""
        self.write(0, b"a")
        partition: Any = self.broker.topics.find("t", 0)
        self.patch(partition.log, "read", lambda *arguments: b"\xff" * 100)
        (failure,) = self.search(**{"from": "oldest"}).of("failure")
        self.assertEqual(failure["code"], "CORRUPT_MESSAGE")
        self.assertIn("t-0 is damaged behind offset 0", failure["message"])

    def test_filter_faults(self) -> None:
        """Records whose filtering fails are counted, with the first reason."""
        self.write(0, b"a" * 20000, b"b")
        found = self.search(filter=f"key.len() == 1 or value.matches('{'(a?){9}' * 9}(a|b|c){{40}}$')")
        (end,) = found.of("end")
        self.assertEqual(end["filterFaults"] + end["matched"] <= 2, True)
        self.assertEqual(bool(end["filterFaults"]), end["firstFilterFault"] is not None)


class HiddenTests(MessagesCase):
    settings: ClassVar[dict[str, str]] = {
        **MessagesCase.settings,
        "kafkatx.console.masking": "t*:card.number, *:headers.token, other:key",
    }

    def test_masked(self) -> None:
        """Fields are hidden in records, from filters, and in every format."""
        self.write(0, b'{"card":{"number":"4711"},"n":1}', headers=[("token", b"4711")])
        for parameters in ({}, {"valueFormat": "hex"}, {"valueFormat": "text"}, {"valueFormat": "base64"}):
            (record,) = self.search(**parameters).of("record")
            self.assertNotIn("4711", str(record))
            self.assertNotIn(b"4711".hex(), str(record))
        self.assertEqual(self.search().texts, ['{"card":{"number":"***"},"n":1}'])
        self.assertEqual(self.search(filter="value.card.number == '4711'").texts, [])
        self.assertEqual(self.search(filter="value.card.number.startswith('4')").texts, [])
        self.assertEqual(self.search(filter="headers.token == '4711'").texts, [])


class MetadataTests(MessagesCase):
    settings: ClassVar[dict[str, str]] = {**MessagesCase.settings, "kafkatx.console.messages": "metadata"}

    def test_metadata(self) -> None:
        """A console may show offsets, times and sizes alone; a filter cannot ask for more."""
        self.write(0, b"secret", key=b"hidden")
        (record,) = self.search(filter="offset == 0 and partition == 0").of("record")
        self.assertEqual((record["value"]["size"], record["value"]["text"]), (6, None))
        self.assertNotIn("secret", str(record))
        status, code, message = self.refusal(filter="value == 'secret'")
        self.assertEqual((status, code), (403, "MESSAGES_HIDDEN"))
        self.assertIn("may not use value", message)


class NoneTests(MessagesCase):
    settings: ClassVar[dict[str, str]] = {**MessagesCase.settings, "kafkatx.console.messages": "none"}

    def test_none(self) -> None:
        """A console may show no records at all."""
        for path in ("/messages", "/messages/tail"):
            self.assertEqual(self.refusal(path)[:2], (403, "MESSAGES_HIDDEN"))


class RightsTests(MessagesCase, AuthorizedConsoleCase):
    settings: ClassVar[dict[str, str]] = AuthorizedConsoleCase.settings

    def test_denied(self) -> None:
        """Without the right to read a topic, nothing of it is shown, not even that it exists."""
        self.write(0, b"a")
        for topic in ("t", "u"):
            for path in ("/messages", "/messages/tail"):
                status, code, message = self.refusal(path, topic=topic)
                self.assertEqual((status, code), (403, "TOPIC_AUTHORIZATION_FAILED"))
                self.assertIn("may not read", message)

    def test_allowed(self) -> None:
        """With it, records are shown; a right that was taken away ends a tail."""
        self.write(0, b"a")
        self.grant(AclOperation.READ, ResourceType.TOPIC, "t")
        self.assertEqual(self.search().texts, ["a"])
        reader = self.tail()
        self.pass_time(1)
        self.revoke_all()
        self.write(0, b"b")
        self.pass_time(1)
        self.assertEqual(reader.texts, [])
        self.assertEqual(reader.of("failure")[0]["code"], "TOPIC_AUTHORIZATION_FAILED")

    def test_tail_of_nothing(self) -> None:
        """A tail without new records ends as well when the right is taken away."""
        self.grant(AclOperation.READ, ResourceType.TOPIC, "t")
        reader = self.tail()
        self.pass_time(1)
        self.revoke_all()
        self.pass_time(1)
        self.assertEqual(reader.of("failure")[0]["code"], "TOPIC_AUTHORIZATION_FAILED")

    def test_search_revoked(self) -> None:
        """A search that is going on ends as well."""
        for _ in range(20):
            self.write(0, b"x" * 2000)
        self.grant(AclOperation.READ, ResourceType.TOPIC, "t")
        self.patch(steps, "CHUNK_BYTES", 1)
        views: Any = self.console.parts.views
        at_once = views.ask

        async def ask(share: str, head: object, body: Any) -> object:
            await deferLater(self.clock, 0.1)
            return await at_once(share, head, body)

        self.patch(views, "ask", ask)
        reader = self.reader("/messages", count=1000, partition="0", **{"from": "oldest"})
        self.pass_time(1)
        self.revoke_all()
        self.pass_time(2)
        self.assertGreater(len(reader.texts), 1)
        self.assertEqual(reader.of("failure")[0]["code"], "TOPIC_AUTHORIZATION_FAILED")
        self.assertLess(len(reader.texts), 20)

    def test_super_user(self) -> None:
        """A super user may read everything."""
        self.write(0, b"a")
        self.session = Session(ADMIN)
        self.assertEqual(self.search().texts, ["a"])


class QuotaTests(MessagesCase):
    def test_quota(self) -> None:
        """A search is held back by the quota of its user, as a consumer is, and says so."""
        quota: Any = {(("user", None),): {"consumer_byte_rate": 100.0}}
        self.successResultOf(self.broker.metadata.alter_client_quotas(quota))
        self.write(0, b"x" * 3000)
        began_s = self.clock.seconds()
        found = self.search()
        self.assertEqual(len(found.texts), 1)
        self.assertGreater(self.clock.seconds() - began_s, 1)
        self.assertGreater(found.of("end")[0]["throttledMs"], 1000)
