"""The guard: its requests, its verdicts, and which commit it compares with."""

from __future__ import annotations

import io
import os
import signal
import sys
from contextlib import nullcontext
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from benchmarks.guard import __main__ as guard
from benchmarks.guard import base, instructions, loads
from benchmarks.guard.broker import CannotRun, WrongTree, blaming, check_tree
from benchmarks.guard.verdict import Compared, of_counts, of_rounds, table
from kafkatx.net.requests import ExclusiveReply, Staged
from kafkatx.wire import codec
from kafkatx.wire.headers import encode_response_header
from kafkatx.wire.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from tests.broker.running import BrokerTestCase, joined

FAST, SLOW = of_counts("l", 100, 101), of_counts("l", 100, 120)
TOLD = "==7== Cachegrind, a cache profiler\n==7== \n==7== I   refs:      2,976,529,943\n"


class VerdictTests(SynchronousTestCase):
    def test_rounds(self) -> None:
        """The ratio is the median of the rounds': what slows both down, or one once, does not count."""
        compared = of_rounds("l", [10.0, 20.0, 10.0, 10.0, 30.0], [10.4, 20.8, 90.0, 10.4, 31.2])
        self.assertAlmostEqual(compared.ratio, 1.04)
        self.assertEqual((compared.base, compared.tree), (10.0, 20.8))
        self.assertFalse(compared.is_slower)

    def test_slower(self) -> None:
        """Beyond 10% the tree is slower; up to it, or faster, it is not."""
        found = [of_counts("l", 1000, tree).is_slower for tree in (500, 1099, 1100, 1101)]
        self.assertEqual(found, [False, False, False, True])

    def test_table(self) -> None:
        """A line for each load, with its verdict."""
        rows = [of_counts("produce", 77_473, 100_000), Compared("fetch", "us of CPU", 7.5, 7.6, 1.0133)]
        _, produce, fetch = table(rows).splitlines()
        self.assertEqual(produce.split(), ["produce", "instructions", "77,473", "100,000", "1.291", "SLOWER"])
        self.assertEqual(fetch.split(), ["fetch", "us", "of", "CPU", "7.50", "7.60", "1.013", "ok"])


class CommandTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Keep what is told."""
        self.told: list[str] = []

    def measured(self, instructions_of: Any, cpu_of: Any) -> list[Compared]:
        """Each other measure has its result, its error, or the reason why it is missing."""

        def way(outcome: Any) -> tuple[str, Any, Any]:
            def measure(*_: object) -> Any:
                if isinstance(outcome, Exception):
                    raise outcome
                return outcome

            return "figures", lambda: outcome if isinstance(outcome, str) else None, measure

        self.patch(guard, "WAYS", (way(instructions_of), way(cpu_of)))
        return guard._measured({}, "", self.told.append)

    def test_all(self) -> None:
        """Both ways' figures."""
        self.assertEqual(self.measured([FAST], [SLOW]), [FAST, SLOW])
        self.assertEqual(self.told, [])

    def test_left_out(self) -> None:
        """Measures that this machine or the base cannot make are left out, and said."""
        self.assertEqual(self.measured("no valgrind", [FAST]), [FAST])
        self.assertEqual(self.measured([FAST], CannotRun("base", "Traceback\nNameError: x\n")), [FAST])
        no_valgrind, too_old = self.told
        self.assertIn("no valgrind", no_valgrind)
        self.assertIn("NameError: x", too_old)

    def test_tree_that_fails(self) -> None:
        """A tree that does not run is no reason to go on."""
        self.assertRaises(CannotRun, self.measured, CannotRun("tree", "x"), [FAST])

    def test_exit_status(self) -> None:
        """0: as fast; 1: slower; 2: nothing was compared."""
        self.patch(guard, "choose", lambda asked: ("HEAD", "0" * 40))
        self.patch(guard, "checked_out", lambda commit: nullcontext("base"))
        self.patch(signal, "signal", lambda number, action: None)
        self.patch(sys, "argv", ["guard"])
        for rows, status in (([FAST], 0), ([FAST, SLOW], 1), ([], 2)):
            self.patch(guard, "_measured", lambda *_, rows=rows: rows)
            self.patch(sys, "stdout", io.StringIO())
            self.assertEqual(guard.main(), status)

    def test_exit_status_of_errors(self) -> None:
        """2 if the tree does not run, or there is no such commit; the reason goes to the standard error."""
        self.patch(signal, "signal", lambda number, action: None)
        self.patch(sys, "argv", ["guard", "v9"])
        for error in (base.NoBase("no commit v9"), CannotRun("tree", "no commit v9")):

            def fail(asked: str, error: Exception = error) -> None:
                raise error

            self.patch(guard, "choose", fail)
            printed = io.StringIO()
            self.patch(sys, "stderr", printed)
            self.assertEqual(guard.main(), 2)
            self.assertIn("no commit v9", printed.getvalue())


class BaseTests(SynchronousTestCase):
    def test_default(self) -> None:
        """The main branch if its code is another, else what is not committed yet, else the last commit."""
        self.assertEqual(base.default_base(True, True), "origin/main")
        self.assertEqual(base.default_base(False, True), "HEAD")
        self.assertEqual(base.default_base(False, False), "HEAD~1")

    def test_checked_out(self) -> None:
        """The commit's files are there, whatever the tree has; they go in the end, also after an error."""
        self.make_repository()
        self.assertEqual(base.choose("")[0], "HEAD")
        self.commit()
        name, commit = base.choose("")
        self.assertEqual(name, "HEAD~1")

        def fail() -> None:
            with base.checked_out(commit) as tree:
                self.tree = tree
                with open(os.path.join(tree, "kafkatx", "a.py")) as file:
                    self.assertEqual(file.read(), "old")
                raise KeyboardInterrupt

        self.assertRaises(KeyboardInterrupt, fail)
        self.assertFalse(os.path.exists(os.path.dirname(self.tree)))
        self.assertEqual(len(base.git("worktree", "list").splitlines()), 1)

    def test_differs(self) -> None:
        """Changed code differs, and new code; other files and what git ignores do not."""
        self.make_repository()
        self.assertTrue(base.differs("HEAD"))
        self.write("kafkatx/a.py", "old")
        self.assertFalse(base.differs("HEAD"))
        self.write("README", "new")
        self.write("notes", "new")
        self.write("kafkatx/a.pyc", "new")
        self.assertFalse(base.differs("HEAD"))
        self.write("kafkatx/b.py", "new")
        self.assertTrue(base.differs("HEAD"))

    def test_no_such_commit(self) -> None:
        """A name that is not there, or a history that is too short, is said."""
        self.make_repository()
        self.assertIn("v9", str(self.assertRaises(base.NoBase, base.choose, "v9")))
        self.write("kafkatx/a.py", "old")
        self.assertIn("HEAD~1", str(self.assertRaises(base.NoBase, base.choose, "")))

    def make_repository(self) -> None:
        """A repository in place of ours: one commit, and one file that has changed since."""
        self.root = os.path.abspath(self.mktemp())
        self.write("kafkatx/a.py", "old")
        self.write("twisted/plugin.py", "old")
        self.write(".gitignore", "*.pyc")
        self.write("README", "old")
        self.patch(base, "ROOT", self.root)
        base.git("init", "--quiet")
        self.commit()
        self.write("kafkatx/a.py", "new")

    def commit(self) -> None:
        """Commit all there is."""
        base.git("add", ".")
        base.git("-c", "user.name=t", "-c", "user.email=t@t", "commit", "--quiet", "--message", "a commit")

    def write(self, name: str, text: str) -> None:
        """Write a file of the repository."""
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)


class TreeTests(SynchronousTestCase):
    def test_other_code(self) -> None:
        """Code from outside of the tree is refused, also from a folder whose name only begins alike."""
        check_tree(["/a/tree/kafkatx/tap.py"], "/a/tree")
        for paths in (["/a/tree/kafkatx/tap.py", "/a/tree2/kafkatx/tap.py"], ["/b/x.py"], []):
            self.assertRaises(WrongTree, check_tree, paths, "/a/tree")

    def test_blame(self) -> None:
        """An error of a broker is reported with its name."""

        def fail() -> None:
            with blaming("base"):
                raise RuntimeError("not serving")

        error = self.assertRaises(CannotRun, fail)
        self.assertEqual((error.name, str(error)), ("base", "base: not serving"))


class LoadTests(BrokerTestCase):
    def ask_load(self, load: loads.Load) -> bytes | None:
        """The broker's reply to a load's request, without its size."""
        answer = self.dispatch.answer(memoryview(load.request)[4:], self.peer)
        if isinstance(answer, Staged):
            answer = answer.finish(self.broker.write_staged())
        assert not isinstance(answer, (Deferred, ExclusiveReply))
        reply = joined(answer)
        return None if reply is None else reply[4:]

    def test_requests(self) -> None:
        """Every request is answered without an error, or, where it says so, not at all."""
        self.now_ms = 1 << 42
        for topic in (loads.PRODUCED, loads.FETCHED):
            self.make_topic(topic)
        for load in [loads.filling(), *loads.cpu_loads(), *loads.instruction_loads()]:
            reply = self.ask_load(load)
            if load.answered:
                assert reply is not None
                self.assertTrue(loads.is_success(load.request, reply), load.name)
            else:
                self.assertIsNone(reply)

    def test_errors(self) -> None:
        """An error is no success: here the topics are missing."""
        for load in loads.instruction_loads():
            reply = self.ask_load(load)
            assert reply is not None
            self.assertFalse(loads.is_success(load.request, reply), load.name)

    def test_nothing_fetched(self) -> None:
        """A fetch that brings nothing is no success."""
        *_, load = loads.instruction_loads()
        for records, success in ((b"", False), (b"x", True)):
            partition = PartitionData(0, 0, 1, records=records)
            response = FetchResponse(responses=[FetchableTopicResponse("fetched", partitions=[partition])])
            reply = encode_response_header(1, 12, 0) + codec.encode(response, 12)
            self.assertEqual(loads.is_success(load.request, reply), success)


class InstructionsTests(SynchronousTestCase):
    def test_counted(self) -> None:
        """The output of valgrind is read; without a number it is shown."""
        self.assertEqual(instructions.counted(TOLD), 2_976_529_943)
        error = self.assertRaises(RuntimeError, instructions.counted, "valgrind: cannot run")
        self.assertIn("cannot run", str(error))

    def test_without_a_reactor(self) -> None:
        """The broker whose instructions are counted answers each load, with this tree's code."""
        every = [load._replace(sends=2) for load in (loads.filling(), *loads.instruction_loads())]
        with self.run_of(base.ROOT, (), every) as run:
            run.end()

    def test_other_tree(self) -> None:
        """A tree that has no broker would run what is installed, and that is refused."""
        tree = os.path.abspath(self.mktemp())
        os.makedirs(tree)
        with self.run_of(tree, (), [loads.filling()]) as run:
            self.assertRaises(WrongTree, run.end)

    def test_errors(self) -> None:
        """A load that is answered with errors does not count."""
        load = loads.Load("no such topic", loads.produce("missing", 1, 1), 1, 1)
        with self.run_of(base.ROOT, (), [load]) as run:
            self.assertIn(load.name, str(self.assertRaises(RuntimeError, run.end)))

    def test_broker_that_fails(self) -> None:
        """The last output is reported with its owner."""
        prefix = (sys.executable, "-c", "import sys; sys.exit('too old')")
        with self.run_of(base.ROOT, prefix, []) as run:
            self.assertIn("too old", str(self.assertRaises(RuntimeError, run.end)))

    def run_of(self, tree: str, prefix: tuple[str, ...], every: list[loads.Load]) -> instructions.Run:
        """A run in a folder of its own."""
        return instructions.Run(tree, os.path.abspath(self.mktemp()), prefix, every)
