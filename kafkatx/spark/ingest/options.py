"""The options of an ingestion. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import attrs

from kafkatx.clientcore.audit.counts import DAY_MS, DEFAULT_TOPIC
from kafkatx.errors import SettingError
from kafkatx.spark.options.client import ClientSettings
from kafkatx.spark.options.options import Selection

FORMATS = ("parquet", "json", "avro")
COMPRESSIONS = ("snappy", "zstd", "none")
STARTS = ("earliest", "latest")


def _names(given: Iterable[str]) -> tuple[str, ...]:
    return tuple(given)


def _settings(given: Mapping[str, str]) -> dict[str, str]:
    return dict(given)


@attrs.frozen
class Bounds:
    """Limits of the memory and the files of a task; picklable.

    :ivar target_file_bytes: a file is closed when it has this many bytes; what makes one is one task's work.
    :ivar max_buffered_bytes: rows in memory that are not in a file yet, as Arrow counts them.
    :ivar row_group_bytes: rows of one value of the partition columns that make a row group.
    :ivar max_open_files: of one task at a time; where there are more values of the partition columns, files
        become more and smaller.
    """

    target_file_bytes: int = 128 << 20
    max_buffered_bytes: int = 128 << 20
    row_group_bytes: int = 32 << 20
    max_open_files: int = 64


@attrs.frozen
class IngestOptions:
    """One ingestion: from which topics, into which directory, and how.

    :ivar selection: topics, a pattern of names, or partitions.
    :ivar to: a directory, or the URI of one; see :mod:`kafkatx.spark.ingest.table.files`.
    :ivar decode: the decoder's name; None stores records as they are.
    :ivar decoder_settings: for the decoder.
    :ivar time_column: gives ``date`` and ``hour``; the default is the decoder's, else Kafka's timestamp.
    :ivar follow: go on until told to stop; otherwise load what is there at the start.
    :ivar commit_every_s: when following, the least time from one commit to the next.
    :ivar poll_s: when following, how often the brokers are asked whether there is something new.
    :ivar max_records: of one commit; None: no limit. When following, this many are committed at once.
    :ivar fail_on_data_loss: whether offsets that are gone end the ingestion, or are warned of and skipped.
    :ivar starting: where partitions start that the first commit finds; later ones start at their beginning.
    :ivar patience_s: for how long brokers may be away before the ingestion fails.
    :ivar audit_interval_ms: length of the windows in which loaded records are counted for the audit; 0: none.
    :ivar audit_topic: topic of the announcements.
    :ivar audit_name: name of the table in announcements; empty: the last part of its directory.
    :ivar max_failures: how often the work of a commit is given to Spark before its failure is final.
    """

    client: ClientSettings
    selection: Selection
    to: str
    format: str = attrs.field(default="parquet", kw_only=True)
    compression: str = attrs.field(default="snappy", kw_only=True)
    partition_by: tuple[str, ...] = attrs.field(default=(), converter=_names, kw_only=True)
    decode: str | None = attrs.field(default=None, kw_only=True)
    decoder_settings: Mapping[str, str] = attrs.field(factory=dict, converter=_settings, kw_only=True)
    time_column: str | None = attrs.field(default=None, kw_only=True)
    follow: bool = attrs.field(default=False, kw_only=True)
    commit_every_s: float = attrs.field(default=60.0, kw_only=True)
    poll_s: float = attrs.field(default=1.0, kw_only=True)
    max_records: int | None = attrs.field(default=None, kw_only=True)
    fail_on_data_loss: bool = attrs.field(default=True, kw_only=True)
    include_headers: bool = attrs.field(default=False, kw_only=True)
    starting: str = attrs.field(default="earliest", kw_only=True)
    bounds: Bounds = attrs.field(factory=Bounds, kw_only=True)
    patience_s: float = attrs.field(default=120.0, kw_only=True)
    max_failures: int = attrs.field(default=4, kw_only=True)
    audit_interval_ms: int = attrs.field(default=0, kw_only=True)
    audit_topic: str = attrs.field(default=DEFAULT_TOPIC, kw_only=True)
    audit_name: str = attrs.field(default="", kw_only=True)

    def __attrs_post_init__(self) -> None:
        """Check the options.

        :raises SettingError: an option has a bad value.
        """
        _one_of("format", self.format, FORMATS)
        _one_of("compression", self.compression, COMPRESSIONS)
        _one_of("starting", self.starting, STARTS)
        if len(set(self.partition_by)) < len(self.partition_by):
            raise SettingError(f"partition-by {','.join(self.partition_by)}: a column is named twice")
        if self.max_records is not None and self.max_records < 1:
            raise SettingError(f"max-records {self.max_records}: give a whole number above 0")
        if not 0 <= self.audit_interval_ms <= DAY_MS:
            raise SettingError(f"audit-interval-ms {self.audit_interval_ms}: give 0 to {DAY_MS}")


def _one_of(name: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise SettingError(f"{name} {value!r}: there are {', '.join(allowed)}")
