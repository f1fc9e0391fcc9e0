"""Tests of kafkatx.clientcore.registry.replies."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.registry import requests
from kafkatx.clientcore.registry.errors import RegistryError, RegistryUnavailable


class ReplyTests(SynchronousTestCase):
    def test_foreign_replies(self) -> None:
        """Replies that are not those of a registry are told as such."""
        request = requests.schema_by_id(1)
        for body in (b"<html>", b"[]", b"{}", b'{"schema": 7}', b'{"schema": "a", "schemaType": "XML"}', b""):
            self.assertRaises(RegistryUnavailable, request.reply, 200, body)
        for status, body in ((502, b"<html>bad gateway"), (401, b""), (500, b"{}")):
            self.assertRaises(RegistryError, request.reply, status, body)
        self.assertRaises(RegistryUnavailable, requests.subjects().reply, 200, b'{"a": 1}')
        self.assertRaises(RegistryUnavailable, requests.versions("s").reply, 200, b'["a"]')
