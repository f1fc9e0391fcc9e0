"""Ports that tests reserve."""

from __future__ import annotations

import subprocess
import sys
from unittest.mock import patch

from twisted.trial.unittest import SynchronousTestCase

from tests import ports

ASK = """
import sys
from unittest.mock import patch
from tests import ports
first, *_ = given = [*map(int, sys.argv[1:])]
with patch("random.randrange", side_effect=[*given, *range(first + 1, first + 1000)]):
    print(ports.free_port())
"""


class PortsTests(SynchronousTestCase):
    def test_reserved(self) -> None:
        """A port that nothing listens at yet is given neither to this process again nor to another one."""
        given = [ports.free_port(), ports.free_port()]
        with patch("random.randrange", side_effect=[*given, *range(given[0] + 1, given[0] + 1000)]):
            given.append(ports.free_port())
        self.assertEqual(len(set(given)), 3)
        command = [sys.executable, "-c", ASK, *map(str, given)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        self.assertNotIn(int(done.stdout), given)
