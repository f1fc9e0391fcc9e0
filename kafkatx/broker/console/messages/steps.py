"""The steps of a search: batches are read, looked at in a process, and charged to the user's quota."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import attrs
from twisted.internet.task import deferLater

from kafkatx.broker.broker import Broker
from kafkatx.broker.console.errors import ConsoleError
from kafkatx.broker.console.kafka_requests import CLIENT_ID
from kafkatx.broker.console.messages.query import Query
from kafkatx.broker.console.messages.schema_source import SchemaSource
from kafkatx.broker.console.messages.topic_reader import Chunk, TopicReader
from kafkatx.broker.console.views import ViewProcesses
from kafkatx.views.formats.registered import Described
from kafkatx.views.requests import StepRequest, StepResult, encode_request
from kafkatx.web.calls import Call

CHUNK_BYTES: Final = 512 << 10
ROUNDS: Final = 3
"""Attempts at a step whose schemas are missing."""

LONGEST_WAIT_S: Final = 5.0
"""The longest wait for a quota between two steps; what is left is waited for later."""


@attrs.define
class Tally:
    """The counts of a search.

    :ivar lost: offsets that were gone when they were to be read.
    :ivar throttled_ms: the time that a quota has held it back.
    """

    records: int = 0
    bytes: int = 0
    matched: int = 0
    faults: int = 0
    first_fault: str = ""
    lost: int = 0
    throttled_ms: int = 0

    def add(self, result: StepResult) -> None:
        """Count a step."""
        self.records += result.scanned
        self.bytes += result.scanned_bytes
        self.matched += result.matched
        self.faults += result.faults
        self.first_fault = self.first_fault or result.first_fault

    def shown(self) -> dict[str, Any]:
        """Return the counts as values of JSON."""
        return {
            "scannedRecords": self.records,
            "scannedBytes": str(self.bytes),
            "matched": self.matched,
            "filterFaults": self.faults,
            "firstFilterFault": self.first_fault or None,
            "lostOffsets": str(self.lost),
            "throttledMs": self.throttled_ms,
        }


@attrs.frozen
class Wanted:
    """The part of a log that a step looks at, and how much it may find."""

    position: int
    until: int
    most: int
    most_bytes: int
    keeps_last: bool = False


@attrs.frozen
class Stepped:
    """A step that was made.

    :ivar end: the end of the log for readers, when it was read.
    :ivar was_empty: True if nothing was there to be read.
    """

    result: StepResult
    end: int
    was_empty: bool


class Steps:
    """Makes the steps of one search.

    :ivar tally: the counts.
    :ivar check: raises ConsoleError if the user may not read the topic any more.
    :param call: the request, whose user's quota counts.
    """

    def __init__(
        self,
        broker: Broker,
        reader: TopicReader,
        processes: ViewProcesses,
        schemas: SchemaSource,
        query: Query,
        call: Call,
        check: Callable[[], None],
    ) -> None:
        self.check = check
        self.tally = Tally()
        self._broker = broker
        self._reader = reader
        self._processes = processes
        self._schemas = schemas
        self._query = query
        self._principal, self._share = call.session.principal, call.share

    async def make(self, number: int, wanted: Wanted, chunk_bytes: int | None = None) -> Stepped:
        """Read some batches of a partition, and look at them.

        :raises KafkaTXError: the log cannot be read, or the batches cannot be looked at.
        """
        self.check()
        try:
            chunk = await self._reader.read(number, wanted.position, chunk_bytes or CHUNK_BYTES)
            self.tally.lost += max(0, min(chunk.position, wanted.until) - wanted.position)
            if not len(chunk.records) or chunk.position >= wanted.until:
                return Stepped(StepResult(max(chunk.position, wanted.position)), chunk.end, True)
            await self._pay(len(chunk.records))
            result = await self._look(number, chunk, wanted)
        except OSError as error:
            raise ConsoleError(
                500, "KAFKA_STORAGE_ERROR", f"{self._reader.name}-{number} cannot be read: {error}"
            ) from None
        self.tally.add(result)
        if result.damage:
            raise ConsoleError(
                500,
                "CORRUPT_MESSAGE",
                f"{self._reader.name}-{number} is damaged behind offset {result.position}: {result.damage};"
                " kafkatx log verify says more",
            )
        return Stepped(result, chunk.end, False)

    async def _look(self, number: int, chunk: Chunk, wanted: Wanted) -> StepResult:
        query, schemas = self._query, dict[str, Described]()
        request = StepRequest(
            query.view,
            number,
            chunk.position,
            wanted.until,
            chunk.stable,
            chunk.aborted,
            query.committed_only,
            wanted.most,
            wanted.keeps_last,
            wanted.most_bytes,
            query.most_characters,
        )
        for attempt in range(ROUNDS):
            head = encode_request(request, schemas, attempt == ROUNDS - 1)
            answer, body = await self._processes.ask(self._share, head, chunk.load)
            result = StepResult.read(answer["step"], body)
            if not result.missing:
                break
            schemas |= await self._schemas.describe(result.missing)
        return result

    async def _pay(self, size: int) -> None:
        """Charge the bytes to the user's quota for consumers, and wait as a consumer would."""
        rates = self._broker.quotas.consumer
        if rates is None:
            return
        wait_s = min(rates.charge(self._principal, CLIENT_ID, size) / 1000, LONGEST_WAIT_S)
        if wait_s > 0:
            self.tally.throttled_ms += round(wait_s * 1000)
            await deferLater(self._broker.clock, wait_s)
