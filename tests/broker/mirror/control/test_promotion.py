"""The steps of a promotion: one after the other, and by chance in a model of a cluster."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.mirror.control import promotion
from kafkatx.broker.mirror.control.promotion import (
    ClampGroups,
    Done,
    RaiseProducerIds,
    Step,
    View,
    Wait,
    Wanted,
    Write,
    next_step,
)
from kafkatx.clientcore.admin.mirror_status import FIRST_DERIVED_PRODUCER_ID, MirrorStatus
from kafkatx.config.mirror_record import MirrorRecord, MirrorState
from tests.broker.mirror.control.promotion_model import Broken, World

RECORD = MirrorRecord("dc1", uuid.UUID(int=1))
PROMOTING = attrs.evolve(RECORD, state=MirrorState.PROMOTING, attempt=1)
ENDED = attrs.evolve(PROMOTING, ends=(10, 10))
PROMOTE = Wanted(promoted=True)
REPORT = MirrorStatus(
    "dc1",
    "t",
    0,
    "promoting",
    leader_epoch=5,
    stopped=True,
    attempt=1,
    log_end=10,
    high_watermark=10,
    max_producer_id=7,
)


def view(*changes: Mapping[str, Any]) -> View:
    """Return a view of two partitions with epoch 5, whose reports differ so from REPORT."""
    own = [dict(one) for one in changes] or [{}]
    reports = [attrs.evolve(REPORT, partition=number, **own[number % len(own)]) for number in range(2)]
    return View((5, 5), dict(enumerate(reports)))


def step(
    record: MirrorRecord,
    wanted: Wanted = PROMOTE,
    seen: View | None = None,
    done: Done = Done(),  # noqa: B008
) -> Step | None:
    """Return the next step."""
    return next_step(record, wanted, view() if seen is None else seen, done)


class StepTests(SynchronousTestCase):
    def test_pause(self) -> None:
        """Settings pause and resume a mirror; what is as wanted needs nothing."""
        paused = attrs.evolve(RECORD, state=MirrorState.PAUSED)
        self.assertIsNone(step(RECORD, Wanted()))
        self.assertEqual(step(RECORD, Wanted(paused=True)), Write(RECORD, paused))
        self.assertEqual(step(paused, Wanted()), Write(paused, RECORD))

    def test_failed(self) -> None:
        """A failed mirror stays as it is until it is promoted."""
        failed = attrs.evolve(RECORD, state=MirrorState.FAILED, reason="gone")
        self.assertIsNone(step(failed, Wanted(paused=True)))
        self.assertEqual(step(failed), Write(failed, PROMOTING))

    def test_whole_way(self) -> None:
        """A promotion goes through its steps in order."""
        self.assertEqual(step(RECORD), Write(RECORD, PROMOTING))
        self.assertEqual(step(PROMOTING), Write(PROMOTING, ENDED))
        self.assertEqual(step(ENDED), RaiseProducerIds(7))
        self.assertEqual(step(ENDED, done=Done(raised=True)), ClampGroups((10, 10)))
        promoted = attrs.evolve(ENDED, state=MirrorState.PROMOTED)
        self.assertEqual(step(ENDED, done=Done(True, True)), Write(ENDED, promoted))
        self.assertIsNone(step(promoted, Wanted(paused=True)))

    def test_next_attempt(self) -> None:
        """A promotion after one that was given up has the next number."""
        written = step(attrs.evolve(RECORD, attempt=3))
        assert isinstance(written, Write)
        self.assertEqual(written.after.attempt, 4)

    def test_waits_for_leaders(self) -> None:
        """Each leader must have stopped in this attempt, and lead by the cluster's state."""
        for change, why in (
            ({"leader_epoch": 4}, "does not answer"),
            ({"stopped": False}, "has not stopped"),
            ({"attempt": 0}, "has not stopped"),
            ({"high_watermark": 9}, "do not have all"),
        ):
            waiting = step(PROMOTING, seen=view({}, change))
            assert isinstance(waiting, Wait)
            self.assertIn(f"partition 1 {why}", waiting.why.replace("replicas of ", ""))
        for missing in (View((5, 5), {}), View((5, -1), view({}, {"leader_epoch": -1}).reports)):
            for record in (RECORD, PROMOTING, ENDED):
                self.assertIsInstance(step(record, seen=missing), Wait)

    def test_given_up(self) -> None:
        """A promotion can be given up until there are ends, and not after that."""
        self.assertEqual(step(PROMOTING, Wanted()), Write(PROMOTING, attrs.evolve(RECORD, attempt=1)))
        self.assertEqual(step(ENDED, Wanted()), RaiseProducerIds(7))

    def test_open_transaction(self) -> None:
        """Open transactions hinder nothing: leaders abort them after the promotion."""
        seen = view({"open_transaction": 3})
        self.assertEqual(step(RECORD, seen=seen), Write(RECORD, PROMOTING))
        self.assertEqual(step(PROMOTING, seen=seen), Write(PROMOTING, ENDED))

    def test_producer_ids(self) -> None:
        """Ids that no cluster hands out do not count, up to the greatest that there can be."""
        for unused in (FIRST_DERIVED_PRODUCER_ID, 2**63 - 1):
            self.assertEqual(step(ENDED, seen=view({}, {"max_producer_id": unused})), RaiseProducerIds(7))
        seen = view({"max_producer_id": -1}, {"max_producer_id": FIRST_DERIVED_PRODUCER_ID - 1})
        self.assertEqual(step(ENDED, seen=seen), RaiseProducerIds(FIRST_DERIVED_PRODUCER_ID - 1))
        self.assertEqual(step(ENDED, seen=view({"max_producer_id": 2**62})), RaiseProducerIds(-1))


SEEDS = 150
STEPS = 600
SHARP_SEEDS = (0, 6, 29, 308, 348)
"""Seeds that have found mutants before: they are tried first."""


def _skip(done: str) -> Callable[..., Any]:
    whole = promotion._finish

    def finish(record: MirrorRecord, ends: tuple[int, ...], seen: View, made: Done) -> Step:
        return whole(record, ends, seen, attrs.evolve(made, **{done: True}))

    return finish


def _begin_without_look(record: MirrorRecord, seen: View) -> Step:
    return Write(record, attrs.evolve(record, state=MirrorState.PROMOTING, reason="", attempt=record.attempt))


def _always(*_: object) -> bool:
    return True


MUTANTS: dict[str, Callable[..., Any]] = {
    "is_current": _always,
    "is_of_attempt": _always,
    "has_stopped": _always,
    "is_replicated": _always,
    "_finish": _skip("raised"),
    "_begin": _begin_without_look,
    "greatest_producer_id": lambda reports: max(0, *(one.max_producer_id for one in reports)) // 2,
}
"""Broken parts by their names."""


class ModelTests(SynchronousTestCase):
    def test_holds(self) -> None:
        """All that must hold does after each step; and in the end the topic is promoted."""
        for seed in range(SEEDS):
            World(seed).run(STEPS)

    def found(self) -> bool:
        """Return True if the model finds something that does not hold."""
        for seed in (*SHARP_SEEDS, *range(10 * SEEDS)):
            try:
                World(seed).run(STEPS)
            except Broken:
                return True
        return False

    def test_mutants(self) -> None:
        """The model finds each part that is broken on purpose."""
        for name, broken in MUTANTS.items():
            patch = self.patch(promotion, name, broken)
            self.assertTrue(self.found(), name)
            patch.restore()

    def test_mutant_without_clamp(self) -> None:
        """It finds a promotion that leaves groups behind the ends."""
        self.patch(promotion, "_finish", _skip("clamped"))
        self.assertTrue(self.found())

    def test_mutant_given_up(self) -> None:
        """It finds a promotion that is given up after there were ends."""
        whole = promotion.next_step

        def give_up(record: MirrorRecord, wanted: Wanted, seen: View, done: Done) -> Step | None:
            if record.ends is not None and not wanted.promoted:
                return Write(record, attrs.evolve(record, state=MirrorState.MIRRORING, ends=None))
            return whole(record, wanted, seen, done)

        self.patch(promotion, "next_step", give_up)
        self.assertTrue(self.found())
