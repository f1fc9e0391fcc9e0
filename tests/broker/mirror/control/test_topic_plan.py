"""The steps by which the topics of a link follow the source."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.mirror.control.topic_plan import (
    Configure,
    Create,
    Grow,
    Mark,
    Refused,
    SourceTopic,
    Step,
    is_mirrored,
    plan,
)
from kafkatx.config.links import LinkSettings
from kafkatx.config.mirror_record import KAFKATX_MIRROR, MirrorRecord, MirrorState
from kafkatx.types import PartitionState, Topic

ID, OTHER_ID = uuid.UUID(int=7), uuid.UUID(int=8)
LINK = LinkSettings("dc1", ("kafka:9092",), "t.*", ".*", None, "", "", {})
RECORD = MirrorRecord("dc1", ID)
FOUND = SourceTopic(ID, 2, {})


def topic(
    record: MirrorRecord | None = RECORD, partitions: int = 2, configs: Mapping[str, str] | None = None
) -> Topic:
    """Return the topic ``t``."""
    own = {} if record is None else {KAFKATX_MIRROR: record.text()}
    states = tuple(PartitionState(1, 0, (1,), (1,)) for _ in range(partitions))
    return Topic("t", uuid.UUID(int=1), states, {**(configs or {}), **own})


class PlanTests(SynchronousTestCase):
    def steps(self, found: SourceTopic | None, here: Topic | None, link: LinkSettings = LINK) -> list[Step]:
        """Return the steps for the topic ``t``."""
        source = {} if found is None else {"t": found}
        return list(plan(link, source, {} if here is None else {"t": here}))

    def mark(self, record: MirrorRecord, found: SourceTopic | None, partitions: int = 2) -> MirrorRecord:
        """Return the new record of a topic that is only marked."""
        (step,) = self.steps(found, topic(record, partitions))
        assert isinstance(step, Mark)
        self.assertEqual(step.before, record)
        return step.after

    def test_create(self) -> None:
        """A new topic gets the partitions and configs of the source, and its record."""
        found = attrs.evolve(FOUND, configs={"cleanup.policy": "compact"})
        configs = {"cleanup.policy": "compact", KAFKATX_MIRROR: RECORD.text()}
        self.assertEqual(self.steps(found, None), [Create("t", 2, configs)])

    def test_create_paused(self) -> None:
        """A topic that is to be paused begins so."""
        (step,) = self.steps(FOUND, None, attrs.evolve(LINK, paused="t"))
        assert isinstance(step, Create)
        self.assertIs(MirrorRecord.parse(step.configs[KAFKATX_MIRROR]).state, MirrorState.PAUSED)

    def test_not_created(self) -> None:
        """Nothing is created for an unknown config, or only to be promoted, or against the pattern."""
        self.assertEqual(self.steps(attrs.evolve(FOUND, configs=None), None), [])
        self.assertEqual(self.steps(FOUND, None, attrs.evolve(LINK, promoted=".*")), [])
        self.assertEqual(self.steps(FOUND, None, attrs.evolve(LINK, topics="x")), [])
        self.assertEqual(self.steps(FOUND, None, attrs.evolve(LINK, topics="")), [])

    def test_internal(self) -> None:
        """Topics of a cluster's own, and names that a caller excludes, are never mirrored."""
        for name in (
            "__consumer_offsets",
            "__transaction_state",
            "__x",
            "mm2-offsets.dc1.internal",
            "a-internal",
        ):
            self.assertFalse(is_mirrored(name, ".*"))
        self.assertTrue(is_mirrored("_schemas", ".*"))
        self.assertFalse(is_mirrored("_schemas", ".*", ["_schemas"]))

    def test_others(self) -> None:
        """A topic of that name that is not the link's is refused and left alone."""
        (step,) = self.steps(attrs.evolve(FOUND, partitions=9), topic(None))
        assert isinstance(step, Refused)
        self.assertIn("delete it, or leave it out", step.why)
        (step,) = self.steps(attrs.evolve(FOUND, partitions=9), topic(attrs.evolve(RECORD, link="dc2")))
        self.assertEqual(step, Refused("t", "the topic is mirrored by the link dc2"))

    def test_up_to_date(self) -> None:
        """A topic like its source needs nothing, whatever other configs it has here."""
        self.assertEqual(self.steps(FOUND, topic(configs={"min.insync.replicas": "2"})), [])

    def test_growth(self) -> None:
        """Partitions are followed, also where the settings do not choose the topic any more."""
        found = attrs.evolve(FOUND, partitions=5)
        for link in (LINK, attrs.evolve(LINK, topics="")):
            self.assertEqual(self.steps(found, topic(), link), [Grow("t", 2, 3)])

    def test_configs(self) -> None:
        """Changed and removed configs are followed; unknown ones change nothing."""
        found = attrs.evolve(FOUND, configs={"retention.ms": "5"})
        here = topic(configs={"segment.ms": "6", "min.insync.replicas": "2"})
        self.assertEqual(self.steps(found, here), [Configure("t", {"retention.ms": "5"})])
        self.assertEqual(self.steps(attrs.evolve(FOUND, configs=None), here), [])

    def test_deleted(self) -> None:
        """A topic that the source does not have fails, once, and nothing is deleted here."""
        failed = self.mark(RECORD, None)
        self.assertIs(failed.state, MirrorState.FAILED)
        self.assertIn("promote it to keep and write to what is here, or delete it", failed.reason)
        self.assertEqual(self.steps(None, topic(failed)), [])

    def test_made_anew(self) -> None:
        """A topic with another id at the source fails; it is not grown, nor configured."""
        found = SourceTopic(OTHER_ID, 9, {"retention.ms": "5"})
        failed = self.mark(RECORD, found)
        self.assertIs(failed.state, MirrorState.FAILED)
        self.assertIn("made anew: delete it here, and it is mirrored from the beginning", failed.reason)
        self.assertEqual(self.steps(found, topic(failed)), [])

    def test_fewer_partitions(self) -> None:
        """A topic with more partitions here than there fails."""
        failed = self.mark(RECORD, attrs.evolve(FOUND, partitions=1))
        self.assertIn("2 partitions here and 1 at the source", failed.reason)

    def test_recovers(self) -> None:
        """A failed topic whose source is as its record says goes on, or is paused."""
        failed = attrs.evolve(RECORD, state=MirrorState.FAILED, reason="gone")
        self.assertEqual(self.mark(failed, FOUND), RECORD)
        (step,) = self.steps(FOUND, topic(failed), attrs.evolve(LINK, paused="t"))
        self.assertEqual(step, Mark("t", failed, attrs.evolve(RECORD, state=MirrorState.PAUSED)))

    def test_promoted(self) -> None:
        """A topic that is promoted, or about to be, follows the source no more, whatever happens there."""
        for state in (MirrorState.PROMOTED, MirrorState.PROMOTING):
            here = topic(attrs.evolve(RECORD, state=state))
            for found in (None, SourceTopic(OTHER_ID, 9, {"retention.ms": "5"})):
                self.assertEqual(self.steps(found, here), [])

    def test_other_links(self) -> None:
        """Mirrors of another link are left alone when their source is not this one."""
        here = topic(attrs.evolve(RECORD, link="dc2"))
        self.assertEqual(self.steps(None, here), [])
