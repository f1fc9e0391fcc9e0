"""The file of learned ACLs is replaced when something new was learned."""

from __future__ import annotations

import os

from twisted.internet.defer import execute

from kafkatx.acls import Access, AclOperation, ResourceType
from kafkatx.broker.authorization.learned_file import LearnedFile, make_file
from kafkatx.config import BrokerConfig
from kafkatx.interfaces import IAuthorizer, Worker
from kafkatx.security.acl.lines import parse_lines
from kafkatx.security.authorizers.by_acls import AclAuthorizer
from kafkatx.security.authorizers.learn import LearningAuthorizer
from kafkatx.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest
from kafkatx.wire.messages.metadata import MetadataRequest
from tests.broker.authorization.authorized import ALICE, TOPIC, AuthorizedTestCase


def workers(name: str) -> Worker:
    """Return a worker that works at once."""
    return execute


class LearnedFileTests(AuthorizedTestCase):
    def make_authorizer(self, config: BrokerConfig) -> IAuthorizer:
        """Return one that learns."""
        return LearningAuthorizer(config)

    def setUp(self) -> None:
        """Make a file."""
        super().setUp()
        self.path = os.path.abspath(self.mktemp())
        assert self.broker.authorization is not None
        self.authorizer = self.broker.authorization.authorizer
        found = make_file(self.path, self.authorizer, workers)
        assert found is not None
        self.file: LearnedFile = found

    def lines(self) -> list[str]:
        """Write the file; return its ACLs."""
        self.successResultOf(self.file.write())
        with open(self.path, encoding="utf-8") as file:
            return [str(one) for one in parse_lines(file)]

    def test_requests(self) -> None:
        """Requests are served, and the file has the least that they need: nothing for what is only shown."""
        self.assertEqual(self.lines(), [])
        self.put()
        self.ask(3, 9, MetadataRequest(None))
        self.ask(22, 4, InitProducerIdRequest(None, 1000))
        self.ask_late(19, 5, CreateTopicsRequest([CreatableTopic("new", 1, 1)]))
        self.assertEqual(
            self.lines(), [f"allow {ALICE} create on topic:new", f"allow {ALICE} write on topic:{TOPIC}"]
        )

    def test_only_news(self) -> None:
        """Without news nothing is written; others of the system cannot read the file."""
        self.put()
        self.lines()
        self.assertEqual(os.stat(self.path).st_mode & 0o007, 0)
        os.unlink(self.path)
        self.successResultOf(self.file.write())
        self.assertFalse(os.path.exists(self.path))
        self.authorizer.decide(Access(ALICE, "h", AclOperation.READ, ResourceType.GROUP, "g"))
        self.assertEqual(len(self.lines()), 2)

    def test_failure(self) -> None:
        """A path that cannot be written is a warning, and is tried again."""
        os.mkdir(self.path)
        self.put()
        self.successResultOf(self.file.write())
        os.rmdir(self.path)
        self.assertEqual(len(self.lines()), 1)

    def test_others(self) -> None:
        """An authorizer that does not learn has no file."""
        self.assertIsNone(make_file(self.path, AclAuthorizer(self.broker.config), workers))
