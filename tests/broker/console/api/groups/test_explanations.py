"""Explanations in the console."""

from __future__ import annotations

from kafkatx.acls import AclOperation, ResourceType
from tests.broker.authorization.authorized import GROUP
from tests.broker.console.api.groups.case import GroupCase
from tests.broker.console.authorized import AuthorizedConsoleCase


class ExplanationsTests(GroupCase):
    def test_group(self) -> None:
        """A group is explained in sentences, with what they are about."""
        self.commit("g", 3)
        found = self.get("/explanations?group=g")["sentences"]
        self.assertIn("no-members", {one["cause"] for one in found})
        for one in found:
            self.assertTrue(one["text"])
            self.assertIsInstance(one["evidence"], dict)
        severities = [one["severity"] for one in found]
        self.assertEqual(severities, sorted(severities, reverse=True))

    def test_client(self) -> None:
        """A client id is explained by all brokers, each sentence once."""
        found = self.get("/explanations?clientId=nobody")["sentences"]
        self.assertTrue(found)
        self.assertEqual(len({one["text"] for one in found}), len(found))

    def test_wrong(self) -> None:
        """Either is named, not both, and not none."""
        for query in ("", "?group=g&clientId=c", "?group="):
            self.refused(self.get(f"/explanations{query}", 400))
        self.refused(self.get("/explanations?group=nothing", 404))


class AuthorizedExplanationsTests(AuthorizedConsoleCase):
    def test_rights(self) -> None:
        """A group is explained to those who may describe it, a client id to those of the cluster."""
        self.assertEqual(
            self.refused(self.get(f"/explanations?group={GROUP}", 403)), "GROUP_AUTHORIZATION_FAILED"
        )
        found = self.get("/explanations?clientId=c", 403)
        self.assertEqual(self.refused(found), "CLUSTER_AUTHORIZATION_FAILED")
        self.grant(AclOperation.DESCRIBE, ResourceType.GROUP)
        self.get(f"/explanations?group={GROUP}")
