"""A step of a scan: batches of a partition are decoded, filtered, and made ready to be sent. Pure.

A step does what it can in :data:`SOFT_S`, and says how far it has come. So only a record that takes very long
by itself brings the process of steps to its hard limit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

from kafkatx.errors import CorruptRecords
from kafkatx.views.formats.registered import SchemaMissed, Schemas
from kafkatx.views.requests import Found, StepRequest, StepResult, encode_json
from kafkatx.views.rows import ABORTED, OPEN, Row, Transactions, end_of, read_rows
from kafkatx.views.seen import Seen, View

SOFT_S: Final = 0.25
LIMIT_BYTES: Final = 64 << 20
"""The most that the records of one batch may have when they are decompressed."""


class Step:
    """A step.

    :param seconds: the time of a monotonic clock.
    """

    def __init__(
        self, request: StepRequest, view: View, schemas: Schemas, seconds: Callable[[], float]
    ) -> None:
        self._request = request
        self._view = view
        self._schemas = schemas
        self._seconds = seconds
        self._ends_s = seconds() + SOFT_S
        self._result = StepResult(request.position)
        self._kept: deque[Seen] = deque(maxlen=request.most)
        self._room = request.most_bytes

    def take(self, data: bytes) -> StepResult:
        """Return what is wanted of some batches.

        The result names schemas if some are missing; it has nothing else then.
        """
        request, result = self._request, self._result
        transactions = Transactions(request.stable, request.aborted)
        end = request.position
        try:
            end = min(max(end, end_of(data, end)), request.until)
            if self._walk(read_rows(data, request.position, request.until, transactions, LIMIT_BYTES)):
                result.position = end
        except CorruptRecords as error:
            result.damage = str(error)
        self._add_last()
        if self._schemas.missing:
            return StepResult(request.position, missing=tuple(self._schemas.missing))
        whole = end - request.position
        share = (result.position - request.position) / whole if whole else 1
        result.scanned_bytes = round(len(data) * min(share, 1))
        return result

    def _walk(self, rows: Iterable[Row]) -> bool:
        """Look at rows until they end (return True), enough are found, or it has taken long enough."""
        result, request = self._result, self._request
        for number, row in enumerate(rows):
            if number and self._seconds() >= self._ends_s:
                return False
            result.scanned += 1
            result.last_timestamp = max(result.last_timestamp, row.timestamp)
            if row.timestamp >= 0 and not 0 <= result.first_timestamp <= row.timestamp:
                result.first_timestamp = row.timestamp
            self._look_at(Seen(row, request.partition, self._view))
            result.position = row.offset + 1
            if not request.keeps_last and (result.matched >= request.most or self._room <= 0):
                return False
        return True

    def _look_at(self, seen: Seen) -> None:
        try:
            if not self._is_wanted(seen):
                return
            self._result.matched += 1
            if self._request.keeps_last:
                self._kept.append(seen)
            else:
                self._result.found.append(self._found(seen))
        except SchemaMissed:  # the step is repeated
            pass

    def _is_wanted(self, seen: Seen) -> bool:
        row, filtering = seen.row, self._view.filter
        if self._request.committed_only and row.transaction in (ABORTED, OPEN):
            return False
        if filtering is None:
            return True
        if row.control is not None or row.fault:
            return False
        try:
            return filtering.accepts(seen)
        except SchemaMissed:
            raise
        except Exception as error:  # a value that is nested too deeply, an expression that takes too much
            self._result.faults += 1
            if not self._result.first_fault:
                why = f"{type(error).__name__}: {str(error)[:200]}"
                self._result.first_fault = f"partition {seen.partition}, offset {row.offset}: {why}"
            return False

    def _found(self, seen: Seen) -> Found:
        try:
            data = encode_json(seen.shown(self._request.most_characters))
        except SchemaMissed:
            raise
        except Exception as error:  # a value that is nested too deeply, for example
            data = encode_json(seen.not_shown(f"it cannot be shown: {type(error).__name__}"))
        self._room -= len(data)
        return Found(seen.timestamp, seen.offset, data)

    def _add_last(self) -> None:
        """Add the last ones that are wanted, the newest first, as far as there is room."""
        found = []
        for seen in reversed(self._kept):
            if self._room <= 0:
                self._result.left_out = True
                break
            try:
                found.append(self._found(seen))
            except SchemaMissed:
                continue
        self._result.found.extend(reversed(found))
