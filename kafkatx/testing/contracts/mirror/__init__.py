"""The contract of the filters of a mirror, :class:`~kafkatx.interfaces.IRecordFilter`."""

from kafkatx.testing.contracts.mirror.record_filter import RecordFilterContract

__all__ = ["RecordFilterContract"]
