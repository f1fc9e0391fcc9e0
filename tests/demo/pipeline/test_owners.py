"""Tests of kafkatx.demo.pipeline.owners; ZooKeeper itself is in an integration test."""

from __future__ import annotations

from typing import Any

from kazoo.exceptions import NoNodeError
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.demo.pipeline import owners
from kafkatx.demo.pipeline.owners import wait_for_owners
from kafkatx.errors import KafkaTXError


class FakeKazoo:
    """A client of a ZooKeeper whose nodes change with each look at the last partition."""

    def __init__(self, looks: list[dict[str, bytes]]) -> None:
        self._looks = looks
        self.ended: list[str] = []

    def start(self, timeout_s: float) -> None:
        """Connect."""

    def get(self, path: str) -> tuple[bytes, None]:
        """Return a node's data.

        :raises NoNodeError: it is not there.
        """
        nodes = self._looks[0]
        if path.endswith("y/1") and len(self._looks) > 1:
            del self._looks[0]
        if path not in nodes:
            raise NoNodeError
        return nodes[path], None

    def stop(self) -> None:
        """Note that."""
        self.ended.append("stop")

    def close(self) -> None:
        """Note that."""
        self.ended.append("close")


def nodes(**streams: str) -> dict[str, bytes]:
    """Return the nodes of a group's owners: x0 stands for the partition 0 of x."""
    return {f"/consumers/g/owners/{name[0]}/{name[1]}": owner.encode() for name, owner in streams.items()}


class OwnersTests(SynchronousTestCase):
    def wait(self, *looks: dict[str, bytes], timeout_s: float = 60.0) -> dict[str, list[str]]:
        """Wait until two members own the two partitions of two topics."""
        self.kazoo: Any = FakeKazoo(list(looks))
        self.patch(owners, "KazooClient", lambda connect: self.kazoo)
        self.patch(owners, "LOOK_EVERY_S", 0.0)
        return wait_for_owners("z:1/dc1", "g", ["x", "y"], 2, 2, timeout_s)

    def test_wait(self) -> None:
        """A partition without an owner is waited for, and so is a member without a partition."""
        found = self.wait(
            {},
            nodes(x0="g_one-0", x1="g_one-0", y0="g_two-0"),
            nodes(x0="g_one-0", x1="g_one-0", y0="g_one-0", y1="g_one-0"),
            nodes(x0="g_one-0", x1="g_two-0", y0="g_one-0", y1="g_two-0"),
        )
        self.assertEqual(found, {"g_one": ["x-0", "y-0"], "g_two": ["x-1", "y-1"]})
        self.assertEqual(self.kazoo.ended, ["stop", "close"])

    def test_too_long(self) -> None:
        """A group that does not own all in time is told."""
        error = self.assertRaises(KafkaTXError, self.wait, nodes(x0="g_one-0"), timeout_s=-1.0)
        self.assertIn("the group g does not own all partitions after -1 s: {'g_one': ['x-0']}", str(error))
        self.assertEqual(self.kazoo.ended, ["stop", "close"])
