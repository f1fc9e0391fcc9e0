"""Turns of work: fair by key, dropped with its caller, refused when too much waits; also by chance."""

from __future__ import annotations

from functools import partial
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.internet.defer import CancelledError, Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.net import fair_turns
from kafkatx.net.fair_turns import FairTurns, TooManyWaiting

FEW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


class FairTurnsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make turns of which one is taken."""
        self.turns = FairTurns(1, 3, 5)
        self.begun: list[str] = []
        self.working: list[Deferred[str]] = []
        self.first = self.run_work("a", "first")

    def run_work(self, key: str, name: str, user: str = "") -> Deferred[str]:
        """Ask for a turn; the work goes on until :meth:`end`."""

        def work() -> Deferred[str]:
            self.begun.append(name)
            self.working.append(Deferred())
            return self.working[-1]

        return self.turns.run(key, work, user)

    def end(self) -> None:
        """End the oldest work."""
        self.working.pop(0).callback("done")

    def end_all(self) -> list[str]:
        """End all work; return the names in the order in which it began."""
        while self.working:
            self.end()
        return self.begun

    def test_order(self) -> None:
        """Keys have turns one after the other, whatever one of them asked for before."""
        waiting = [self.run_work("a", name) for name in ("a1", "a2", "a3")]
        waiting += [self.run_work("b", "b1"), self.run_work("c", "c1")]
        self.assertEqual((len(self.turns), self.turns.running), (5, 1))
        self.assertEqual(self.end_all(), ["first", "a1", "b1", "c1", "a2", "a3"])
        self.assertEqual([self.successResultOf(one) for one in waiting], ["done"] * 5)
        self.assertEqual((len(self.turns), self.turns.running), (0, 0))

    def test_behind(self) -> None:
        """Keys that were put behind have every second turn at most while others wait."""
        for key in ("b", "c"):
            self.turns.put_behind(key, True)
        for key, name in (("b", "b1"), ("c", "c1"), ("d", "d1"), ("d", "d2"), ("e", "e1")):
            self.run_work(key, name)
        self.assertEqual(self.end_all(), ["first", "b1", "d1", "c1", "e1", "d2"])

    def test_behind_no_more(self) -> None:
        """A key goes behind others until it is let go again, or is one of too many."""
        self.patch(fair_turns, "MOST_BEHIND", 1)
        for key, behind in (("b", True), ("c", True), ("c", True), ("d", True), ("d", False)):
            self.turns.put_behind(key, behind)
        for key in ("b", "c", "d", "e"):
            self.run_work(key, key)
        self.assertEqual(self.end_all(), ["first", "b", "c", "d", "e"])

    def test_left(self) -> None:
        """Work whose caller has gone is never begun; what has begun keeps its turn."""
        gone, other = self.run_work("a", "gone"), self.run_work("a", "other")
        gone.cancel()
        self.failureResultOf(gone, CancelledError)
        self.first.cancel()
        self.failureResultOf(self.first, CancelledError)
        self.assertEqual(self.begun, ["first"])
        self.assertEqual(self.end_all(), ["first", "other"])
        self.successResultOf(other)

    def test_cancelled(self) -> None:
        """Work that can be cancelled is, and passes its turn on."""
        turns = FairTurns(1, 3, cancels=True)
        working: Deferred[None] = Deferred()
        first, second = turns.run("a", lambda: working), turns.run("a", lambda: "second")
        first.cancel()
        self.failureResultOf(first, CancelledError)
        self.assertEqual(self.successResultOf(second), "second")

    def test_kept(self) -> None:
        """One key alone does not get the turns that are kept for others."""
        self.turns = FairTurns(2, 10, kept=1)
        self.working.clear()
        self.begun.clear()
        for key, name in (("a", "a1"), ("a", "a2"), ("b", "b1"), ("c", "c1")):
            self.run_work(key, name)
        self.assertEqual(self.begun, ["a1", "b1"])
        self.working.pop(1).callback("done")
        self.assertEqual(self.begun, ["a1", "b1", "c1"])
        self.assertEqual(self.end_all(), ["a1", "b1", "c1", "a2"])

    def test_failure(self) -> None:
        """An error passes the turn on, also one of a caller that has gone."""
        failing = [self.turns.run("a", partial(divmod, 1, 0)) for _ in range(2)]
        failing[1].addErrback(lambda failure: failure.trap(ZeroDivisionError))
        last = self.run_work("a", "last")
        self.first.addErrback(lambda failure: None).cancel()
        self.working.pop(0).errback(ZeroDivisionError())
        self.failureResultOf(failing[0], ZeroDivisionError)
        self.end()
        self.successResultOf(last)
        self.flushLoggedErrors()

    def test_too_many(self) -> None:
        """A key with too much that waits is refused at once, and has places again when some has ended."""
        waiting = [self.run_work("a", name, "eve") for name in "123"]
        self.failureResultOf(self.run_work("a", "4", "eve"), TooManyWaiting)
        self.end()
        self.end()
        self.run_work("a", "5", "eve")
        self.assertEqual(self.end_all(), ["first", "1", "2", "3", "5"])
        self.successResultOf(waiting[2])

    def test_users_of_a_key(self) -> None:
        """Within a key the places are fair by user: one who has none takes the last of another."""
        waiting = [self.run_work("a", name, "eve") for name in "123"]
        ann = self.run_work("a", "ann", "ann")
        self.failureResultOf(waiting[2], TooManyWaiting)
        self.assertEqual(self.end_all(), ["first", "1", "2", "ann"])
        self.successResultOf(ann)

    def test_too_many_in_all(self) -> None:
        """The key with most gives a place to one with less if too much waits in all."""
        waiting = [self.run_work("a", name) for name in "123"] + [self.run_work("b", name) for name in "45"]
        self.run_work("c", "6").addErrback(lambda failure: None)
        self.failureResultOf(waiting[2], TooManyWaiting)
        self.assertEqual(self.end_all(), ["first", "1", "4", "6", "2", "5"])

    def test_work_that_ends_at_once(self) -> None:
        """Any number of turns of work that ends at once does not nest."""
        turns = FairTurns(1, 5000, 5000)
        gate: Deferred[None] = Deferred()
        turns.run("a", lambda: gate)
        results = [turns.run("a", partial(int, number)) for number in range(3000)]
        gate.callback(None)
        self.assertEqual([self.successResultOf(one) for one in results], list(range(3000)))

    @FEW
    @given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["run", "run", "cancel", "end"]))))
    def test_by_chance(self, steps: list[tuple[str, str]]) -> None:
        """While N keys wait, each has at least every Nth turn, and work that was cancelled is never done."""
        turns, begun, working = FairTurns(1, 1000, 1000), [], []  # type: ignore[var-annotated]
        waiting: list[tuple[str, int, Deferred[None]]] = []
        passed: dict[str, list[str]] = {}
        cancelled = set()

        def work(key: str, number: int) -> Any:
            begun.append((key, number))
            working.append(Deferred())
            return working[-1]

        for number, (key, step) in enumerate(steps):
            before = len(begun)
            if step == "run":
                waiting.append((key, number, turns.run(key, partial(work, key, number))))
                passed.setdefault(key, [])
            elif step == "cancel" and waiting:
                _, gone, done = waiting.pop(0)
                done.addErrback(lambda failure: None).cancel()
                cancelled.add(gone)
            elif step == "end" and working:
                working.pop(0).callback(None)
            for served, _ in begun[before:]:
                for others in passed.values():
                    others.append(served)
                passed[served] = []
            waiting = [one for one in waiting if (one[0], one[1]) not in begun]
            passed = {
                each: others for each, others in passed.items() if any(one[0] == each for one in waiting)
            }
            for others in passed.values():
                self.assertEqual(len(others), len(set(others)))
        self.assertFalse(cancelled & {number for _, number in begun})
