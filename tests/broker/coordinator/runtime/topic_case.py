"""A test case with ``__consumer_offsets``, and the records of its partitions."""

from __future__ import annotations

from kafkatx.broker.coordinator.runtime.internal_topic import InternalTopic
from kafkatx.broker.coordinator.runtime.record_writer import RecordWriter
from kafkatx.records.conversion import iter_any
from tests.broker.coordinated import partition_of
from tests.broker.running import BrokerTestCase
from tests.broker.stored import in_memory


class TopicTestCase(BrokerTestCase):
    """A test case with the internal topic of the running broker, and what writes to it."""

    @property
    def topic(self) -> InternalTopic:
        """The offsets topic."""
        return self.broker.groups.topic

    @property
    def writer(self) -> RecordWriter:
        """The writer of its records."""
        return self.broker.groups.writer

    def make(self) -> None:
        """Make the topic."""
        self.successResultOf(self.topic.ensure())

    def read(self, group_id: str = "g") -> list[tuple[bytes | None, bytes | None]]:
        """Return the keys and values of the group's partition."""
        log = partition_of(self.broker, group_id).log
        data = in_memory(log.read(0, 1 << 30, log.log_end_offset, True))
        return [(record.key, record.value) for record in iter_any(data)]
