"""The features that every client is asked for."""

from __future__ import annotations

from typing import NamedTuple

import attrs

PASS, FAIL = "pass", "fail"
NOT_OFFERED = "not offered"  # the client, or the broker, does not have it
NOT_TRIED = "not tried"  # it may have it
NO_TOOLCHAIN = "no toolchain"

FEATURES = {
    "create topics": "A topic with 6 partitions and a setting of its own; the client then lists it.",
    "produce keyed": "300 records with 17 keys; those of a key are in one partition, in the order sent.",
    "produce compressed": "With each codec that comes with the client; what is read back is what was sent.",
    "consume": "All partitions by assignment from the beginning to the end, each in order.",
    "group": "Three members join; one leaves, one is killed; whoever remains owns all and has read all.",
    "commit": "A consumer commits half-way, with metadata where the client has it; the next goes on there.",
    "seek by time": "The offset at a time between two batches is that of the second; it is read from there.",
    "configs": "A topic's settings and the broker's are described; one is altered, and seen.",
    "create partitions": "A topic of 6 partitions gets 8.",
    "manage groups": "Groups are listed and described, and one is deleted where the client can.",
    "delete records": "Those before an offset go; the earliest is then that offset.",
    "delete topics": "A topic is deleted and no longer listed.",
    "transactions": "What was committed is read with read_committed, what was aborted is not; offsets, too.",
    "restart": "A group of three outlives a stop and a kill -9 of the broker; no record, no commit is lost.",
}
"""Every feature, in the order of the table, and what a scenario has seen when it says ``pass``."""

MEMBERS = ("group", "restart")
"""Features that the runner tries with members of the client, as :mod:`tests.clients.groups` does."""

PARTITIONS = 6
TIMED_OUT = "nothing was reported within {:.0f} s"


class Result(NamedTuple):
    """The result of one feature of a client; ``detail`` says why it failed, or what it lacks."""

    result: str
    detail: str = ""


@attrs.define
class Outcome:
    """The results of one client: its version, a result for every feature, and the broker's log."""

    version: str = ""
    results: dict[str, Result] = attrs.Factory(dict)
    log: str = ""

    @property
    def failed(self) -> dict[str, str]:
        """The reasons, for each feature that failed."""
        return {name: found.detail for name, found in self.results.items() if found.result == FAIL}
