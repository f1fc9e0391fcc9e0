"""Topics into files, each record exactly once: ``kafkatx ingest``. Docs: ``docs/ingest.md``."""

from kafkatx.spark.ingest.errors import ConflictingCommit, IngestError, OffsetsLost, TableDamaged
from kafkatx.spark.ingest.ingestion import ingest
from kafkatx.spark.ingest.options import Bounds, IngestOptions
from kafkatx.spark.ingest.progress import PartitionReport, Progress, Report
from kafkatx.spark.ingest.table.read import read_table

__all__ = [
    "Bounds",
    "ConflictingCommit",
    "IngestError",
    "IngestOptions",
    "OffsetsLost",
    "PartitionReport",
    "Progress",
    "Report",
    "TableDamaged",
    "ingest",
    "read_table",
]
