"""Leader epochs and where they start and end."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.log.leader_epochs import EpochEvidence, LeaderEpochCache


class LeaderEpochsTests(SynchronousTestCase):
    """Tests of the cache of leader epochs."""

    def test_assign(self) -> None:
        """Only a newer epoch is added; one with the start of the last replaces it."""
        epochs = LeaderEpochCache([(1, 0)])
        self.assertEqual(epochs.version, 0)
        epochs.assign(1, 5)
        epochs.assign(0, 5)
        self.assertEqual((epochs.entries, epochs.version), ([(1, 0)], 0))
        epochs.assign(2, 10)
        epochs.assign(4, 10)
        self.assertEqual((epochs.entries, epochs.latest), ([(1, 0), (4, 10)], 4))

    def test_end_of(self) -> None:
        """An epoch ends where the next one starts; the latest at the log's end."""
        epochs = LeaderEpochCache([(2, 5), (4, 10)])
        table = {-1: (-1, -1), 1: (1, 5), 2: (2, 10), 3: (2, 10), 4: (4, 30), 5: (4, 30)}
        self.assertEqual({epoch: epochs.end_of(epoch, 30) for epoch in table}, table)
        self.assertEqual(LeaderEpochCache().end_of(0, 30), (-1, -1))

    def test_at(self) -> None:
        """The epoch of an offset is that which started at or before it."""
        epochs = LeaderEpochCache([(2, 5), (4, 10)])
        self.assertEqual([epochs.at(offset) for offset in (4, 5, 9, 10, 99)], [-1, 2, 2, 4, 4])

    def test_cut_end(self) -> None:
        """Epochs that start at the cut or beyond are forgotten."""
        for offset, left in ((11, [(2, 5), (4, 10)]), (10, [(2, 5)]), (5, [])):
            epochs = LeaderEpochCache([(2, 5), (4, 10)])
            epochs.cut_end(offset)
            self.assertEqual((epochs.entries, epochs.version), (left, int(len(left) < 2)))

    def test_cut_start(self) -> None:
        """Epochs that end below the new start are forgotten; the one that holds it starts there."""
        table = {4: [(2, 5), (4, 10)], 7: [(2, 7), (4, 10)], 10: [(4, 10)], 12: [(4, 12)]}
        for offset, left in table.items():
            epochs = LeaderEpochCache([(2, 5), (4, 10)])
            epochs.cut_start(offset)
            self.assertEqual(epochs.entries, left)


class EpochEvidenceTests(SynchronousTestCase):
    def entries(
        self, epochs: str, checkpoint: str = "", latest: int = -1, may_be_old: bool = False
    ) -> list[tuple[int, int]]:
        """Return the entries of batches of these epochs, one per offset; the checkpoint is written alike."""
        evidence, known = EpochEvidence(), LeaderEpochCache()
        for offset, digit in enumerate(epochs):
            evidence.note(int(digit), offset)
        for offset, digit in enumerate(checkpoint):
            known.assign(int(digit), offset)
        return evidence.entries(known, latest, may_be_old)

    def test_table(self) -> None:
        """Neighbours first, then the checkpoint where it fits between them, then the batch itself."""
        for batches, checkpoint, expected in (
            ("001122", "", [(0, 0), (1, 2), (2, 4)]),
            ("001122", "777777", [(0, 0), (1, 2), (2, 4)]),
            ("441455", "444455", [(4, 0), (5, 4)]),
            ("441455", "", [(4, 0), (5, 4)]),
            ("449455", "444455", [(4, 0), (5, 4)]),
            ("449455", "", [(4, 0), (5, 4)]),
            ("445255", "445555", [(4, 0), (5, 2)]),
            ("44577", "44477", [(4, 0), (7, 3)]),
            ("44577", "", [(4, 0), (5, 2), (7, 3)]),
            ("44449", "44444", [(4, 0)]),
            ("44445", "", [(4, 0), (5, 4)]),
            ("01234", "01234", [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]),
        ):
            self.assertEqual(self.entries(batches, checkpoint), expected, (batches, checkpoint))

    def test_older_checkpoint(self) -> None:
        """After a crash a single batch is believed that is later than all that the checkpoint knows."""
        for batches, checkpoint, expected in (
            ("4445", "4444", [(4, 0), (5, 3)]),
            ("4457", "4444", [(4, 0), (5, 2), (7, 3)]),
            ("4457", "4446", [(4, 0), (5, 2), (7, 3)]),  # 6 was cut off, and that was lost
            ("447", "446", [(4, 0), (7, 2)]),
            ("44944", "44444", [(4, 0)]),
            ("44144", "44444", [(4, 0)]),
            ("4442", "4444", [(4, 0)]),
            ("44577", "44477", [(4, 0), (7, 3)]),  # the checkpoint has 7, so it is not older
            ("44577", "44777", [(4, 0), (7, 2)]),
        ):
            found = self.entries(batches, checkpoint, may_be_old=True)
            self.assertEqual(found, expected, (batches, checkpoint))
        self.assertEqual(self.entries("4", "6", latest=4, may_be_old=True), [])

    def test_contradicts(self) -> None:
        """Two batches in a row outvote the checkpoint; one does not, nor does what it has forgotten."""
        for batches, told, expected in (
            ("0011", [(0, 0), (1, 2)], False),
            ("0011", [(0, 0), (1, 3)], True),
            ("0001", [(0, 0)], False),
            ("0011", [(1, 2)], False),
            ("0011", [(7, 0)], True),
        ):
            evidence = EpochEvidence()
            for offset, digit in enumerate(batches):
                evidence.note(int(digit), offset)
            self.assertIs(evidence.contradicts(LeaderEpochCache(told)), expected, (batches, told))
