"""The errors of an ingestion; messages are for people and name the directory."""

from __future__ import annotations

from kafkatx.errors import KafkaTXError
from kafkatx.spark.source.plan import DataLoss

RESTORE = "Restore it from a copy of the directory, or ingest into another directory"
"""The cure for a manifest that is damaged or gone."""


class IngestError(KafkaTXError):
    """The ingestion cannot go on. What is committed stays; the next run goes on behind it."""


class ConflictingCommit(IngestError):
    """Another ingestion writes to the same directory; nothing of this commit is visible."""


class TableDamaged(IngestError):
    """The directory is not as an ingestion leaves it: deleted in part, or written by another program."""


class OffsetsLost(DataLoss, IngestError):
    """Offsets that come next are not in the log any more; the message names topic, partition and offsets."""

    def __init__(self, what: str) -> None:
        KafkaTXError.__init__(
            self,
            f"{what}. Some data may have been lost: deleted by retention, or with their topic. "
            "To go on with what is there, ingest with --skip-lost (fail_on_data_loss=False)",
        )
