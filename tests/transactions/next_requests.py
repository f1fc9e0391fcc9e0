"""The answer to each request in each state of a transactional id, in both versions of transactions.

:mod:`tests.transactions.test_next_requests` asks the machine, :mod:`tests.integration.next_requests` brokers
of kafkatx and of Apache Kafka. An answer is the name of an error, or ``OK``. Where a producer id and an epoch
are told, it is the difference of that epoch to the one that the producer was told last, such as ``+1``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from kafkatx.transactions.actions import NO_PRODUCER
from kafkatx.transactions.metadata import TV1, TV2, Producer

VERSIONS = (TV1, TV2)


class Situation(Enum):
    """A state, as the requests before have made it; the value is its name in DescribeTransactions.

    The producer is the second one with the transactional id, so that its epoch is 1. In the last four its
    transaction was open when another instance fenced it, or when it asked for a new epoch itself.
    """

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    FENCING = "PrepareAbort, fenced"
    FENCED = "CompleteAbort, fenced"
    RECOVERING = "PrepareAbort, own"
    RECOVERED = "CompleteAbort, own"

    @property
    def state(self) -> str:
        """The name of the state."""
        return self.value.partition(",")[0]

    @property
    def commits(self) -> bool:
        """True if the transaction was committed."""
        return self in (Situation.PREPARE_COMMIT, Situation.COMPLETE_COMMIT)

    @property
    def has_markers(self) -> bool:
        """True if all markers of the last transaction are written."""
        return self.state.startswith("Complete")


class Kind(Enum):
    """A kind of request; the value has the name of its API and the version that is sent.

    ADD_BY_BROKER and VERIFY are AddPartitionsToTxn as the leader of a partition sends it.
    """

    INIT = "InitProducerId", 4
    ADD = "AddPartitionsToTxn", 3
    ADD_BY_BROKER = "AddPartitionsToTxn", 5
    ADD_OFFSETS = "AddOffsetsToTxn", 3
    VERIFY = "verify-only", 5
    COMMIT_1 = "EndTxn commit", 4
    ABORT_1 = "EndTxn abort", 4
    COMMIT_2 = "EndTxn commit", 5
    ABORT_2 = "EndTxn abort", 5


class Who(Enum):
    """The producer of a request; the value is added to the producer id and the epoch that were told last."""

    NEW = None
    OTHER = 1, 0
    BEFORE = 0, -1
    CURRENT = 0, 0
    AFTER = 0, 1

    def of(self, told: Producer) -> Producer:
        """Return the producer id and the epoch of the request; a new instance has neither."""
        if self.value is None:
            return NO_PRODUCER
        return Producer(told.id + self.value[0], told.epoch + self.value[1])


class Ask(NamedTuple):
    """A request."""

    kind: Kind
    who: Who

    @property
    def label(self) -> str:
        """Its name in the table."""
        name, version = self.kind.value
        return f"{name} v{version} {self.who.name.lower()}"


ASKS = tuple(Ask(kind, who) for kind in Kind for who in Who if kind is Kind.INIT or who is not Who.NEW)

_WORDS = MappingProxyType(
    {
        "busy": "CONCURRENT_TRANSACTIONS",
        "fenced": "PRODUCER_FENCED",
        "invalid": "INVALID_TXN_STATE",
        "unknown": "INVALID_PRODUCER_ID_MAPPING",
        "missing": "TRANSACTION_ABORTABLE",
    }
)
"""The errors, as the table calls them."""

_TABLE = """\
InitProducerId v4 new         +1      busy    busy    busy    +1      +1      busy    +2      busy    +2
InitProducerId v4 other       fenced  fenced  busy    busy    fenced  fenced  busy    fenced  busy    fenced
InitProducerId v4 before      fenced  busy    busy    busy    fenced  fenced  busy    fenced  busy    fenced
                              fenced  busy    busy    busy    +0      +0      busy    fenced  busy    fenced
InitProducerId v4 current     +1      busy    busy    busy    +1      +1      busy    fenced  busy    +1
InitProducerId v4 after       fenced  busy    busy    busy    fenced  fenced  busy    +2      busy    +2
AddPartitionsToTxn v3 other   unknown unknown busy    busy    unknown unknown busy    unknown busy    unknown
AddPartitionsToTxn v3 before  fenced  fenced  busy    busy    fenced  fenced  busy    fenced  busy    fenced
AddPartitionsToTxn v3 current OK      OK      busy    busy    OK      OK      busy    fenced  busy    fenced
AddPartitionsToTxn v3 after   fenced  fenced  busy    busy    fenced  fenced  busy    OK      busy    OK
AddPartitionsToTxn v5 other   unknown unknown busy    busy    unknown unknown busy    unknown busy    unknown
AddPartitionsToTxn v5 before  fenced  fenced  busy    busy    fenced  fenced  busy    fenced  busy    fenced
AddPartitionsToTxn v5 current OK      OK      busy    busy    OK      OK      busy    fenced  busy    fenced
AddPartitionsToTxn v5 after   fenced  fenced  busy    busy    fenced  fenced  busy    OK      busy    OK
AddOffsetsToTxn v3 other      unknown unknown busy    busy    unknown unknown busy    unknown busy    unknown
AddOffsetsToTxn v3 before     fenced  fenced  busy    busy    fenced  fenced  busy    fenced  busy    fenced
AddOffsetsToTxn v3 current    OK      OK      busy    busy    OK      OK      busy    fenced  busy    fenced
AddOffsetsToTxn v3 after      fenced  fenced  busy    busy    fenced  fenced  busy    OK      busy    OK
verify-only v5 other          unknown unknown unknown unknown unknown unknown unknown unknown unknown unknown
verify-only v5 before         fenced  fenced  fenced  fenced  fenced  fenced  fenced  fenced  fenced  fenced
verify-only v5 current        missing OK      busy    busy    missing missing fenced  fenced  fenced  fenced
verify-only v5 after          fenced  fenced  fenced  fenced  fenced  fenced  busy    missing busy    missing
EndTxn commit v4 other        unknown unknown unknown unknown unknown unknown unknown unknown unknown unknown
EndTxn commit v4 before       fenced  fenced  fenced  fenced  fenced  fenced  fenced  fenced  fenced  fenced
EndTxn commit v4 current      invalid OK      busy    busy    OK      invalid fenced  fenced  fenced  fenced
EndTxn commit v4 after        fenced  fenced  fenced  fenced  fenced  fenced  busy    invalid busy    invalid
EndTxn abort v4 other         unknown unknown unknown unknown unknown unknown unknown unknown unknown unknown
EndTxn abort v4 before        fenced  fenced  fenced  fenced  fenced  fenced  fenced  fenced  fenced  fenced
EndTxn abort v4 current       invalid OK      busy    busy    invalid OK      fenced  fenced  fenced  fenced
EndTxn abort v4 after         fenced  fenced  fenced  fenced  fenced  fenced  busy    OK      busy    OK
EndTxn commit v5 other        unknown unknown busy    busy    unknown unknown busy    unknown busy    unknown
EndTxn commit v5 before       fenced  fenced  busy    busy    fenced  fenced  busy    fenced  busy    fenced
                              fenced  fenced  busy    busy    +0      invalid busy    fenced  busy    fenced
EndTxn commit v5 current      invalid +1      busy    busy    invalid invalid busy    fenced  busy    fenced
                              invalid +1      busy    busy    invalid invalid busy    fenced  busy    invalid
EndTxn commit v5 after        fenced  fenced  busy    busy    fenced  fenced  busy    invalid busy    invalid
EndTxn abort v5 other         unknown unknown busy    busy    unknown unknown busy    unknown busy    unknown
EndTxn abort v5 before        fenced  fenced  busy    busy    fenced  fenced  busy    fenced  busy    fenced
                              fenced  fenced  busy    busy    invalid +0      busy    fenced  busy    fenced
EndTxn abort v5 current       +1      +1      busy    busy    +1      +1      busy    fenced  busy    fenced
                              +1      +1      busy    busy    +1      +1      busy    fenced  busy    +1
EndTxn abort v5 after         fenced  fenced  busy    busy    fenced  fenced  busy    +2      busy    +2
"""
"""One column for each situation, in their order. If clients of version 2 make another state than those of
version 1, a second line without a label has the answers in it."""

_LABEL_WIDTH = 30


def _rows() -> Iterator[tuple[str, list[str]]]:
    """Yield the label and the answers of each line; the second of two lines has the label of the first."""
    label = ""
    for line in _TABLE.splitlines():
        label = line[:_LABEL_WIDTH].strip() or label
        yield label, [_WORDS.get(word, word) for word in line[_LABEL_WIDTH:].split()]


def answers(ask: Ask, version: int) -> Mapping[Situation, str]:
    """Return the answer to a request in each situation that clients of a version make."""
    found = [cells for label, cells in _rows() if label == ask.label]
    return dict(zip(Situation, found[-1 if version == TV2 else 0], strict=True))
