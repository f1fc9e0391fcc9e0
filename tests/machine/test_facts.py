"""Facts about a process and its machine, against what the system says by other ways."""

from __future__ import annotations

import os
import resource
import sys

from twisted.trial.unittest import SkipTest, SynchronousTestCase

from kafkatx.machine import facts as machine


class MachineTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Skip elsewhere than on Linux."""
        if not sys.platform.startswith("linux"):
            raise SkipTest("there is no /proc")

    def test_process(self) -> None:
        """Limit and number of open files are those of this process, also when it is named."""
        limit = str(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        own = machine.process_facts()
        before = int(own[machine.OPEN_FILES])
        with open(os.devnull, encoding="ascii"):
            self.assertEqual(int(machine.process_facts()[machine.OPEN_FILES]), before + 1)
        other = machine.process_facts(os.getpid())
        for facts in (own, other):
            self.assertEqual(facts[machine.OPEN_FILES_LIMIT], limit)
            self.assertGreater(int(facts[machine.RESIDENT_BYTES]), 1 << 20)

    def test_no_process(self) -> None:
        """A process that does not exist has no facts."""
        self.assertEqual(machine.process_facts(2**22 + 1), {})

    def test_machine(self) -> None:
        """Memory and processors are those of the machine."""
        facts = machine.machine_facts()
        pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        self.assertEqual(int(facts[machine.MEMORY_BYTES]), pages)
        self.assertEqual(facts["processors"], str(os.cpu_count()))

    def test_volumes(self) -> None:
        """The room of a directory is told under its path, whatever that has; a missing one is left out."""
        path = os.path.abspath(self.mktemp()) + ".free.bytes"
        os.makedirs(path)
        facts = machine.volume_facts([path, "/no/such/dir"])
        found = machine.volumes({**facts, "volume.x.free.bytes": "many", "other": "1"})
        self.assertEqual(list(found), [path])
        volume = os.statvfs(path)
        self.assertEqual(found[path][machine.ALL_BYTES], volume.f_blocks * volume.f_frsize)
        self.assertEqual(found[path][machine.ALL_INODES], volume.f_files)
