"""Change records are read in order; missing ones are noticed."""

from __future__ import annotations

import uuid

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.interfaces.nodes import Create, SetData
from kafkatx.metadata.cluster.state.change_log import MOST_RECORDS, Gap, new_sequences, read_batch
from kafkatx.metadata.cluster.state.draft import Draft
from kafkatx.metadata.cluster.state.image import Image
from kafkatx.metadata.cluster.state.loader import Loader
from kafkatx.metadata.layout.changes import ChangeRecord
from kafkatx.types import ClusterState
from tests.metadata.cluster.cases import RunningCase


class SequenceTests(SynchronousTestCase):
    names = ("c-0000000007", "c-0000000008", "c-0000000011")

    def test_new(self) -> None:
        """Those after the last applied one are new; their numbers may have gaps."""
        self.assertEqual(new_sequences(self.names, 7), [8, 11])
        self.assertEqual(new_sequences(self.names, 11), [])
        self.assertEqual(new_sequences(self.names, -1), [7, 8, 11])

    def test_gap(self) -> None:
        """Records may be missing if the last applied one is gone."""
        for applied in (6, 9, 12):
            with self.assertRaises(Gap):
                new_sequences(self.names, applied)


class BatchTests(RunningCase):
    def setUp(self) -> None:
        """Make the log of changes."""
        super().setUp()
        self.write(Create("/kafkatx"))
        self.write(Create("/kafkatx/changes"))
        self.write(Create("/brokers"))
        self.write(Create("/brokers/topics"))
        self.loader = Loader(self.tool)

    def append(self, data: bytes) -> None:
        """Append a record."""
        self.write(Create("/kafkatx/changes/c-", data, sequential=True))

    def test_gone(self) -> None:
        """A record that was removed, or cannot be read, is a gap."""
        self.append(b"?")
        for sequence in (0, 5):
            with self.assertRaises(Gap):
                self.done(read_batch(self.tool, self.loader, [sequence]))

    def test_bounded(self) -> None:
        """A batch has a limited number of records."""
        for _ in range(MOST_RECORDS + 1):
            self.append(ChangeRecord("b1").encode())
        batch = self.done(read_batch(self.tool, self.loader, range(MOST_RECORDS + 1)))
        self.assertEqual((len(batch.records), batch.applied), (MOST_RECORDS, MOST_RECORDS - 1))

    def test_without_content(self) -> None:
        """The nodes of a topic that a record only names are read."""
        node = b'{"version":3,"topic_id":"dGVzdHRlc3R0ZXN0dGVzdA","partitions":{"0":[1]}}'
        self.write(Create("/brokers/topics/t", node))
        self.append(ChangeRecord("b1", topics={"t": None, "gone": None}).encode())
        batch = self.done(read_batch(self.tool, self.loader, [0]))
        draft = Draft(self.stores.make_store()._view.image)
        batch.put(draft)
        image, _ = draft.finish(batch.applied)
        self.assertEqual((list(image.topics), image.applied), (["t"], 0))

    def test_deletions(self) -> None:
        """The version of deletions is taken only if it has none of later records."""
        self.write(Create("/kafkatx/deletions"))
        for number in range(2):
            record = ChangeRecord("c1", deleted=[(f"t{number}", uuid.uuid4())]).encode()
            self.write(
                SetData("/kafkatx/deletions", b""), Create("/kafkatx/changes/c-", record, sequential=True)
            )
        versions = []
        for sequences in ([0], [1], [0, 1]):
            draft = Draft(Image(ClusterState("c", 1)))
            self.done(read_batch(self.tool, self.loader, sequences)).put(draft)
            versions.append(draft.finish()[0].deletions)
        self.assertEqual(versions, [-1, 2, 2])

    def test_brokers(self) -> None:
        """All brokers are read if a record says that one of them has changed."""
        self.write(Create("/brokers/ids"))
        self.append(ChangeRecord("b1").encode())
        self.append(ChangeRecord("b1", brokers=[1]).encode())
        self.assertIsNone(self.done(read_batch(self.tool, self.loader, [0])).brokers)
        self.assertIsNotNone(self.done(read_batch(self.tool, self.loader, [0, 1])).brokers)
