"""The search for a seed that finds each mutant, within a time that the mutants share.

It touches nothing but what it is given: the run of a seed, a clock, and where lines are printed. First the
known seeds of all mutants are run. Then each mutant that is left gets an equal share of the time that is
left: so one that is hard to find does not take the time of those after it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from attrs import define, field

PROGRESS_S = 10.0
"""Seconds after which it is said how far the search for a mutant is."""


@define
class Search:
    """Finds mutants.

    :ivar attempt: runs a seed with a mutant; returns the violation, or None if there is none.
    :ivar now_s: returns a time.
    :ivar say: prints a line.
    :ivar found: the seeds by the mutants that they have found.
    """

    attempt: Callable[[str, int], str | None]
    now_s: Callable[[], float]
    say: Callable[[str], None]
    found: dict[str, int] = field(factory=dict)

    def find(
        self, mutants: Collection[str], known: Mapping[str, int], seeds: Sequence[int], seconds: float
    ) -> None:
        """Run seeds for each mutant until one finds it. No run begins after the seconds.

        :param known: the seeds by mutants that are run first.
        :param seeds: the seeds that are run for each of the other mutants, in this order.
        """
        end_s = self.now_s() + seconds
        for name in mutants:
            if name in known and self.now_s() < end_s and not self._finds(name, known[name]):
                self.say(f"{name}: its known seed {known[name]} does not find it any more")
        left = [name for name in mutants if name not in self.found]
        for number, name in enumerate(left):
            share_s = max(0.0, end_s - self.now_s()) / (len(left) - number)
            self._find_one(name, seeds, share_s)

    def _find_one(self, name: str, seeds: Sequence[int], seconds: float) -> None:
        began_s = said_s = self.now_s()
        tried = 0
        for seed in seeds:
            now_s = self.now_s()
            if now_s - began_s >= seconds:
                break
            if now_s - said_s >= PROGRESS_S:
                said_s = now_s
                self.say(
                    f"{name}: not found by {tried} seeds up to {seed - 1};"
                    f" {now_s - began_s:.0f} s of {seconds:.0f} s"
                )
            if self._finds(name, seed):
                return
            tried += 1
        self.say(f"{name}: NOT FOUND by {tried} seeds in {self.now_s() - began_s:.0f} s")

    def _finds(self, name: str, seed: int) -> bool:
        violation = self.attempt(name, seed)
        if violation is None:
            return False
        self.found[name] = seed
        self.say(f"{name}: seed {seed}: {violation}")
        return True


def table(mutants: Collection[str], found: Mapping[str, int], proved: Mapping[str, str]) -> list[str]:
    """Return a line for each mutant: its seed, the test that proves its rule, or that it was not found."""
    width = max(map(len, mutants), default=0)
    lines = []
    for name in mutants:
        how = f"seed {found[name]}" if name in found else "NOT FOUND"
        lines.append(f"{name:{width}}  {proved.get(name, how)}")
    return lines
