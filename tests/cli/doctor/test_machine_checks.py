"""Checks of process and machine, at their thresholds and below."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.doctor.machine_checks import check_machine
from kafkatx.cli.doctor.result import Level
from kafkatx.machine import facts as m

GOOD = {
    m.OPEN_FILES_LIMIT: "100000",
    m.OPEN_FILES: "79999",
    m.SWAPPED_BYTES: "0",
    m.SWAP_BYTES: "1000",
    m.SWAPPINESS: "10",
    m.DIRTY_RATIO: "40",
    m.HUGE_PAGES: "always [madvise] never",
    "volume./a.free.bytes": "15",
    "volume./a.total.bytes": "100",
    "volume./a.free.inodes": "5",
    "volume./a.total.inodes": "100",
}


class MachineChecksTests(SynchronousTestCase):
    def found(self, **changes: str) -> dict[str, Level]:
        """Return the levels of what is not in order, by check; ``__`` in names stands for ``.``."""
        facts = {**GOOD, **{name.replace("__", "."): value for name, value in changes.items()}}
        return {one.check: one.level for one in check_machine(facts, "broker 1") if one.level is not Level.OK}

    def test_in_order(self) -> None:
        """Facts at their thresholds are in order; facts that are missing are not looked at."""
        self.assertEqual(self.found(), {})
        self.assertEqual([*check_machine({}, "broker 1")], [])

    def test_open_files(self) -> None:
        """Few open files are a hint; most of them in use are a fault."""
        self.assertEqual(self.found(open__files="80000"), {"open-files": Level.WRONG})
        changes = {"open__files": "1", "open__files__limit": "9999"}
        self.assertEqual(self.found(**changes), {"open-files": Level.HINT})

    def test_volumes(self) -> None:
        """A volume that becomes full is a hint, a full one a fault, also for inodes."""
        self.assertEqual(self.found(**{"volume./a.free.bytes": "14"}), {"disk": Level.HINT})
        self.assertEqual(self.found(**{"volume./a.free.bytes": "4"}), {"disk": Level.WRONG})
        self.assertEqual(self.found(**{"volume./a.free.inodes": "4"}), {"inodes": Level.WRONG})
        self.assertEqual(self.found(**{"volume./a.free.inodes": "0", "volume./a.total.inodes": "0"}), {})

    def test_memory(self) -> None:
        """A broker that is swapped out is a fault; what the kernel might do is a hint."""
        self.assertEqual(self.found(process__swapped__bytes="5000000"), {"swap": Level.WRONG})
        self.assertEqual(self.found(**{m.SWAPPINESS: "11"}), {"swap": Level.HINT})
        self.assertEqual(self.found(**{m.SWAPPINESS: "60", m.SWAP_BYTES: "0"}), {})
        self.assertEqual(self.found(**{m.DIRTY_RATIO: "41"}), {"dirty-ratio": Level.HINT})
        self.assertEqual(self.found(transparent_hugepage="[always] never"), {"huge-pages": Level.HINT})
