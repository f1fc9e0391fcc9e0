"""The storage of one partition's batches, which a new kind of store implements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from kafkatx.log.segment.batches import BatchInfo


class BatchStorage(Protocol):
    """Keeps the batches of one partition, each as the bytes that a fetch sends.

    :meth:`sync` is called in a worker, everything else in the reactor thread, where nothing may wait for a
    disk or a network. A batch is known by its ``kafkatx.log.segment.batches.BatchInfo``: ``base_offset`` and
    ``last_offset`` (inclusive), ``size`` in bytes, ``max_timestamp`` in ms. Batches are given in the order of
    their offsets, and those of one call follow one another.
    """

    lasting: bool
    """True if batches outlive the process. Otherwise what is added counts as flushed."""

    def load(self) -> Iterable[bytes]:
        """Return every batch, or its first 61 bytes, by offset; called once, before anything else.

        :raises OSError: they cannot be read.
        """

    def add(self, batches: Sequence[tuple[BatchInfo, bytes]]) -> None:
        """Keep batches, all of them or none.

        :raises OSError: none is kept.
        """

    def get(self, batches: Sequence[BatchInfo]) -> bytes:
        """Return the bytes of batches, one after another.

        :raises OSError: they cannot be read.
        """

    def drop(self, batches: Sequence[BatchInfo]) -> None:
        """Remove batches: the first ones of the partition, or the last ones.

        :raises OSError: they are still there.
        """

    def sync(self) -> None:
        """Sync all batches that were added before the call; runs in a worker.

        :raises OSError: they may not be on the disk.
        """
