"""Tests of kafkatx.cli.main: signals and streams of the process around a command."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli import main, root
from kafkatx.cli.process import streams


class ProcessTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Keep the handler of SIGINT, and let the streams be as they are."""
        self.addCleanup(signal.signal, signal.SIGINT, signal.getsignal(signal.SIGINT))
        self.patch(streams, "open_closed", list)
        self.patch(streams, "flush", lambda code: code)

    def run_with(self, outcome: int | BaseException) -> int:
        """Return the exit code if the command line ends so."""
        signal.signal(signal.SIGINT, signal.default_int_handler)

        def run(arguments: Sequence[str] | None, closed: Sequence[str] = ()) -> int:
            self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome

        self.patch(root, "run", run)
        return main.main()

    def test_codes(self) -> None:
        """The command's exit code; 130 after Ctrl-C, 1 if an error could not even be printed."""
        for outcome, code in ((0, 0), (2, 2), (KeyboardInterrupt(), 130), (OSError(), 1)):
            self.assertEqual(self.run_with(outcome), code)

    def test_sigint_at_the_end(self) -> None:
        """After the command Ctrl-C ends the process silently."""
        self.run_with(0)
        self.assertIs(signal.getsignal(signal.SIGINT), signal.SIG_DFL)

    def test_arguments(self) -> None:
        """With arguments the process's streams and signals are left alone."""
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self.patch(root, "run", lambda arguments: 7)
        self.assertEqual(main.main(["topics"]), 7)
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
        self.assertIsNotNone(sys.stdout)
