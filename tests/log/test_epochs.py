"""Leader epochs and where they start and end."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.log.epochs import LeaderEpochs


class LeaderEpochsTests(SynchronousTestCase):
    """LeaderEpochs."""

    def test_assign(self) -> None:
        """Only a newer epoch starts anything; one that starts where the last did takes its place."""
        epochs = LeaderEpochs([(1, 0)])
        self.assertEqual(epochs.version, 0)
        epochs.assign(1, 5)
        epochs.assign(0, 5)
        self.assertEqual((epochs.entries, epochs.version), ([(1, 0)], 0))
        epochs.assign(2, 10)
        epochs.assign(4, 10)
        self.assertEqual((epochs.entries, epochs.latest), ([(1, 0), (4, 10)], 4))

    def test_end_of(self) -> None:
        """An epoch ends where the next one starts; the latest at the log's end."""
        epochs = LeaderEpochs([(2, 5), (4, 10)])
        table = {-1: (-1, -1), 1: (1, 5), 2: (2, 10), 3: (2, 10), 4: (4, 30), 5: (4, 30)}
        self.assertEqual({epoch: epochs.end_of(epoch, 30) for epoch in table}, table)
        self.assertEqual(LeaderEpochs().end_of(0, 30), (-1, -1))

    def test_at(self) -> None:
        """The epoch of an offset is that which started at or before it."""
        epochs = LeaderEpochs([(2, 5), (4, 10)])
        self.assertEqual([epochs.at(offset) for offset in (4, 5, 9, 10, 99)], [-1, 2, 2, 4, 4])

    def test_cut_end(self) -> None:
        """Epochs that start at the cut or beyond are forgotten."""
        for offset, left in ((11, [(2, 5), (4, 10)]), (10, [(2, 5)]), (5, [])):
            epochs = LeaderEpochs([(2, 5), (4, 10)])
            epochs.cut_end(offset)
            self.assertEqual((epochs.entries, epochs.version), (left, int(len(left) < 2)))

    def test_cut_start(self) -> None:
        """Epochs that end below the new start are forgotten; the one that holds it starts there."""
        table = {4: [(2, 5), (4, 10)], 7: [(2, 7), (4, 10)], 10: [(4, 10)], 12: [(4, 12)]}
        for offset, left in table.items():
            epochs = LeaderEpochs([(2, 5), (4, 10)])
            epochs.cut_start(offset)
            self.assertEqual(epochs.entries, left)
