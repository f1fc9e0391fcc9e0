"""The messages of clients: each is read as it was written, and everything else is malformed."""

from __future__ import annotations

import random

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.interfaces.nodes import Check, Create, Delete, SetData
from kafkatx.metadata.tree.local.requests import Hello, Kind, Malformed, Ping, Request, decode, encode

MESSAGES = (
    Hello(None, "", 18.0),
    Hello(7, "abc", 0.1),
    Ping(),
    Request(1, Kind.READ, "/a/ä", True),
    Request(2, Kind.CHILDREN, "/", False),
    Request(3, Kind.EXISTS, "/a", True),
    Request(
        4,
        Kind.MULTI,
        operations=[
            Check("/a", 3),
            Create("/a/b", bytes(range(256)), True, True),
            SetData("/", b'"\\', -1),
            Delete("/c", 0),
        ],
    ),
    Request(5, Kind.SYNC),
    Request(6, Kind.CLOSE),
)

MALFORMED = (
    "",
    "{}",
    "[]",
    "7",
    "null",
    '["hello"]',
    '["hello",2,null,"",1]',
    '["hello",1,"7","",1]',
    '["hello",1,null,"",true]',
    '["ping",1]',
    '[1,"read"]',
    '[1,"read","/a"]',
    '[1,"read","a",false]',
    '[1,"read","/a",1]',
    '[1,"read","/\\ud800",false]',
    '[true,"sync"]',
    '[1,"sync",1]',
    '[1,"write"]',
    '[1,"multi"]',
    '[1,"multi",7]',
    '[1,"multi",["create","/","",false,false]]',
    '[1,"multi",["create","/a","\\u0100",false,false]]',
    '[1,"multi",["delete","/a"]]',
    '[1,"multi",["delete","/a",1,1]]',
    '[1,"multi",["move","/a",1]]',
    '[1,"multi",["set","/a/../b","",1]]',
)


class RequestsTests(SynchronousTestCase):
    def test_round_trip(self) -> None:
        """Every message is read as it was written."""
        for message in MESSAGES:
            self.assertEqual(decode(encode(message)), message)

    def test_malformed(self) -> None:
        """Anything else is malformed, and no other error is raised."""
        for body in MALFORMED:
            self.assertRaises(Malformed, decode, body.encode())
        self.assertRaises(Malformed, decode, b"[" * 100_000)
        self.assertRaises(Malformed, decode, b"\xff")

    def test_changed(self) -> None:
        """A message with any part changed is another message, or malformed."""
        chance = random.Random(2)
        for message in MESSAGES * 40:
            body = bytearray(encode(message))
            body[chance.randrange(len(body))] = chance.randrange(256)
            try:
                decode(bytes(body))
            except Malformed:
                continue
