"""Tests of ``kafkatx mirror status``."""

from __future__ import annotations

import json

import attrs

from kafkatx.clientcore.admin.mirror_status import LinkStatus
from tests.cli.mirror.link_case import T0, T1, U0, LinkCase


class StatusTests(LinkCase):
    def test_lines(self) -> None:
        """Into a pipe each link and each partition has a line; unknown numbers are -."""
        self.mirror("status")
        self.assertEqual(
            self.out.text(),
            "link\tdc1\tsource:1\t4\t1\t2500\t1\t-\n"
            "partition\tdc1\tt\t0\tmirroring\t3\t1500\t0\t7\t-\n"
            "partition\tdc1\tt\t1\tmirroring\t0\t0\t2\t5\t-\n"
            "partition\tdc1\tu\t0\tpromoted\t-\t-\t0\t3\t-\n",
        )

    def test_header(self) -> None:
        """The names of the columns are printed if asked for."""
        self.mirror("status", "--header")
        self.assertTrue(self.out.text().startswith("kind\tlink\tsource\tgroups\tskipped\t"))

    def test_json(self) -> None:
        """There is an object for each."""
        self.mirror("status", "--json", "dc1")
        link, first, *_ = map(json.loads, self.out.text().splitlines())
        self.assertEqual((link["kind"], link["name"], link["skipped_groups"]), ("link", "dc1", 1))
        self.assertEqual((first["kind"], first["lag"], first["topic"]), ("partition", 3, "t"))

    def test_tables(self) -> None:
        """A person gets a row for each topic, or each partition."""
        self.cluster.mirrored = {1: [T0, attrs.evolve(T1, reason="the source answers"), U0]}
        self.use_streams(tty=True)
        self.mirror("status")
        (row,) = [line for line in self.out.text().splitlines() if "mirroring" in line]
        self.assertEqual(row.split()[:6], ["dc1", "t", "mirroring", "2", "3", "1.5"])
        self.assertIn("the source answers", self.out.text())
        self.use_streams(tty=True)
        self.mirror("status", "--partitions")
        self.assertEqual(sum("mirroring" in line for line in self.out.text().splitlines()), 2)

    def test_problems(self) -> None:
        """A link or a mirror with a problem is the exit code."""
        for link in (
            LinkStatus("dc1", "source:1", error="no broker answers"),
            LinkStatus("dc1", "source:1", groups_error="no coordinator"),
        ):
            self.cluster.links = {1: [link]}
            self.mirror("status", exit_code=1)
        self.assertIn("no coordinator", self.out.text())
        self.cluster.links = {}
        self.mirror("status")
        self.cluster.mirrored = {1: [attrs.evolve(T0, state="failed")]}
        self.mirror("status", exit_code=1)

    def test_unknown(self) -> None:
        """An unknown link is an error; one that was removed is known by its mirrors."""
        self.mirror("status", "dc9", exit_code=1)
        self.cluster.links = {}
        self.mirror("status", "dc1")

    def test_none(self) -> None:
        """Without links there is a hint for people."""
        self.cluster.links, self.cluster.mirrored = {}, {}
        self.use_streams(tty=True)
        self.mirror("status")
        self.assertIn("there are no links", self.err.text())
