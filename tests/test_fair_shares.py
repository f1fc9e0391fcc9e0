"""Fair shares of turns and places, by chance: what each key gets beside any number of greedy ones."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.fair_shares import FairPlaces, FairQueue

KEYS = st.sampled_from("abcde")
STEPS = st.lists(st.one_of(st.tuples(st.just("push"), KEYS), st.just(("pop", "")), st.just(("leave", ""))))

FEW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


class FairQueueTests(SynchronousTestCase):
    def test_order(self) -> None:
        """Keys have turns one after the other, and the items of a key come in their order."""
        queue: FairQueue[int] = FairQueue()
        for key, item in (("a", 1), ("a", 2), ("a", 3), ("b", 4), ("c", 5), ("b", 6)):
            queue.push(key, item)
        self.assertEqual([queue.pop() for _ in range(len(queue))], [1, 4, 5, 2, 6, 3])
        self.assertEqual(len(queue), 0)

    def test_leave(self) -> None:
        """An item that has left has no turn, and costs the others none."""
        queue: FairQueue[int] = FairQueue()
        for key, item in (("a", 1), ("b", 2), ("a", 3)):
            queue.push(key, item)
        self.assertEqual((queue.remove(1), queue.remove(1), queue.count("a")), (True, False, 1))
        self.assertEqual((3 in queue, 1 in queue), (True, False))
        self.assertEqual([queue.pop(), queue.pop()], [3, 2])
        self.assertRaises(StopIteration, queue.pop)

    @FEW
    @given(STEPS)
    def test_by_chance(self, steps: list[tuple[str, str]]) -> None:
        """Each key that waits has a turn before any other key has two."""
        queue: FairQueue[int] = FairQueue()
        waiting: list[tuple[str, int]] = []
        since: dict[str, list[str]] = {}  # the turns of others while a key waits
        for number, (step, key) in enumerate(steps):
            if step == "push":
                queue.push(key, number)
                waiting.append((key, number))
                since.setdefault(key, [])
            elif not waiting:
                continue
            elif step == "leave":
                _, item = waiting.pop(number % len(waiting))
                queue.remove(item)
            else:
                item = queue.pop()
                served = next(one for one in waiting if one[1] == item)
                self.assertEqual(served, next(one for one in waiting if one[0] == served[0]))  # in order
                waiting.remove(served)
                for turns in since.values():
                    turns.append(served[0])
                since[served[0]] = []
            since = {key: turns for key, turns in since.items() if any(one[0] == key for one in waiting)}
            for turns in since.values():
                self.assertEqual(len(turns), len(set(turns)), "another key had two turns")
        self.assertEqual(len(queue), len(waiting))


class FairPlacesTests(SynchronousTestCase):
    def test_crowded(self) -> None:
        """While all places are taken, a key with less takes one of the key that has most."""
        places: FairPlaces[int] = FairPlaces(4)
        for holder in (1, 2, 3):
            self.assertEqual(places.crowded("a"), ())
            places.add("a", holder)
        places.add("b", 4)
        self.assertEqual((places.crowded("c"), places.crowded("b")), ((1, 2, 3), (1, 2, 3)))
        self.assertEqual(places.crowded("a"), (1, 2, 3))  # its own
        self.assertEqual((places.of("a"), places.of("b"), places.of("c")), ((1, 2, 3), (4,), ()))
        self.assertEqual(
            (places.remove(2), places.remove(2), 2 in places, len(places)), (True, False, False, 3)
        )
        places.add("b", 5)
        self.assertEqual(places.crowded("b"), (4, 5))  # no other has more

    @FEW
    @given(st.lists(KEYS, max_size=40), st.integers(1, 12))
    def test_by_chance(self, arrivals: list[str], most: int) -> None:
        """Each of N keys has the Nth part of the places, rounded down, or all that it asked for."""
        places: FairPlaces[int] = FairPlaces(most)
        for number, key in enumerate(arrivals):
            crowd = places.crowded(key)
            if crowd:
                places.remove(crowd[0])
            places.add(key, number)
        self.assertEqual(len(places), min(most, len(arrivals)))
        keys = set(arrivals)
        for key in keys:
            fair = min(arrivals.count(key), most // len(keys))
            self.assertGreaterEqual(len(places.of(key)), fair)
