"""Counts of a table's offsets, kept as runs: records that were loaded in order have few of them. Pure."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kafkatx.audit.comparison import Count, Key

Array = npt.NDArray[np.int64]

MOST_RUNS = 1 << 16
"""Number of runs of a window after which they are merged."""

Place = tuple[str, int, int]
"""Topic, partition and number of the window."""


class Offsets:
    """The records found in each topic, partition and window, added in any order.

    Memory grows with the number of runs, not of records. A run is offsets without a gap, added at once.
    """

    def __init__(self, window_ms: int) -> None:
        self._window_ms = window_ms
        self._found: dict[Place, int] = {}
        self._written_ms: dict[Place, int] = {}
        self._runs: dict[Place, list[Array]] = {}
        self._kept: dict[Place, int] = {}

    def add(
        self, topic: str, partitions: Array, offsets: Array, times_ms: Array, written_ms: int | None
    ) -> None:
        """Add records of one topic.

        :param partitions: one for each record, as *offsets* and *times_ms*.
        :param written_ms: the time of their commit; None if it is not known.
        """
        if not len(offsets):
            return
        windows = times_ms // self._window_ms
        order = np.lexsort((offsets, windows, partitions))
        partitions, windows, offsets = partitions[order], windows[order], offsets[order]
        other = np.flatnonzero((np.diff(partitions) != 0) | (np.diff(windows) != 0)) + 1
        for first, end in zip([0, *other.tolist()], [*other.tolist(), len(offsets)], strict=True):
            place = topic, int(partitions[first]), int(windows[first])
            self._found[place] = self._found.get(place, 0) + end - first
            if written_ms is not None:
                self._written_ms[place] = max(written_ms, self._written_ms.get(place, written_ms))
            self._keep(place, _runs(offsets[first:end]))

    def _keep(self, place: Place, runs: Array) -> None:
        kept = self._runs.setdefault(place, [])
        kept.append(runs)
        count = self._kept.get(place, 0) + len(runs)
        if count > MOST_RUNS:
            kept[:] = [_merged(kept)]
            count = len(kept[0])
        self._kept[place] = count

    def counts(self) -> dict[Key, Count]:
        """Return the numbers of records, by topic and window."""
        counts: dict[Key, Count] = {}
        for place, found in self._found.items():
            topic, _, window = place
            count = counts.setdefault((topic, window * self._window_ms), Count())
            count.found += found
            runs = _merged(self._runs[place])
            count.distinct += int((runs[:, 1] - runs[:, 0]).sum())
            written_ms = self._written_ms.get(place)
            if written_ms is not None:
                count.written_ms = max(written_ms, count.written_ms or written_ms)
        return counts


def _runs(offsets: Array) -> Array:
    """Return sorted offsets, with duplicates, as rows of first and end (exclusive)."""
    gaps = np.flatnonzero(np.diff(offsets) > 1)
    return np.stack((offsets[[0, *(gaps + 1)]], offsets[[*gaps, -1]] + 1), axis=1)


def _merged(kept: list[Array]) -> Array:
    """Merge runs, so that none touch or overlap."""
    runs = np.concatenate(kept)
    runs = runs[np.argsort(runs[:, 0], kind="stable")]
    ends = np.maximum.accumulate(runs[:, 1])
    apart = np.flatnonzero(runs[1:, 0] > ends[:-1])
    return np.stack((runs[[0, *(apart + 1)], 0], ends[[*apart, -1]]), axis=1)
