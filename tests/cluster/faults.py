"""The faults: each is a context that does harm when it is entered, and ends it when it is left.

A fault chooses its victims by chance among those that no other fault has in hand.
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import NamedTuple

from tests.cluster.network.places import CLIENT, Direction, both_ways
from tests.cluster.system import BROKERS, System

SHORT_S, LONG_S = 5.0, 40.0


class Begun(NamedTuple):
    """A fault that has begun.

    :ivar text: what was done to what.
    :ivar hold_s: how long it is to last.
    """

    text: str
    hold_s: float


class Victims:
    """The choice of victims.

    :param topics: topics with their numbers of partitions; *groups*: the names of groups.
    """

    def __init__(
        self, system: System, topics: Sequence[tuple[str, int]], groups: Sequence[str], chance: random.Random
    ) -> None:
        self.system, self.chance = system, chance
        self._topics, self._groups = topics, groups

    def broker(self) -> tuple[int, str]:
        """Return a broker and its role, by which it was chosen; -1 if other faults have all."""
        roles: list[Callable[[], tuple[int, str]]] = [
            self._leader,
            self._follower,
            self._controller,
            self._coordinator,
        ]
        broker_id, role = self.chance.choice(roles)()
        free = [one for one in BROKERS if one not in self.system.busy]
        if broker_id in free:
            return broker_id, role
        return (self.chance.choice(free), "any broker") if free else (-1, "")

    def partition(self) -> tuple[str, int]:
        """Return a topic and the number of a partition."""
        topic, count = self.chance.choice(self._topics)
        return topic, self.chance.randrange(count)

    def _leader(self) -> tuple[int, str]:
        topic, partition = self.partition()
        return self.system.leader(topic, partition), f"leader of {topic}-{partition}"

    def _follower(self) -> tuple[int, str]:
        topic, partition = self.partition()
        leader = self.system.leader(topic, partition)
        others = [one for one in BROKERS if one != leader]
        return self.chance.choice(others), f"follower of {topic}-{partition}"

    def _controller(self) -> tuple[int, str]:
        return self.system.controller(), "controller"

    def _coordinator(self) -> tuple[int, str]:
        group = self.chance.choice(self._groups)
        return self.system.coordinator(group), f"coordinator of {group}"


Fault = Callable[[Victims], AbstractContextManager[Begun]]
NOTHING = Begun("nothing: other faults have all brokers", 0.0)


def kill(victims: Victims) -> AbstractContextManager[Begun]:
    """Kill a broker with SIGKILL; start it again at once or later."""

    @contextmanager
    def fault() -> Iterator[Begun]:
        broker_id, role = victims.broker()
        if broker_id < 0:
            yield NOTHING
            return
        victims.system.busy.add(broker_id)
        victims.system.brokers[broker_id].kill()
        hold_s = victims.chance.choice([0.0, 2.0, 12.0, 25.0])
        yield Begun(f"kill -9 of broker {broker_id}, {role}, for {hold_s:.0f} s", hold_s)
        victims.system.start_later(broker_id)

    return fault()


def terminate(victims: Victims) -> AbstractContextManager[Begun]:
    """Stop a broker with SIGTERM; start it again at once or later."""

    @contextmanager
    def fault() -> Iterator[Begun]:
        broker_id, role = victims.broker()
        if broker_id < 0:
            yield NOTHING
            return
        victims.system.busy.add(broker_id)
        took_s = victims.system.terminate(broker_id)
        hold_s = victims.chance.choice([0.0, 2.0, 12.0])
        yield Begun(f"SIGTERM of broker {broker_id}, {role}, took {took_s:.1f} s, for {hold_s:.0f} s", hold_s)
        victims.system.start_later(broker_id)

    return fault()


def freeze(victims: Victims) -> AbstractContextManager[Begun]:
    """Stop a broker's process with SIGSTOP, for less than its session or for more."""

    @contextmanager
    def fault() -> Iterator[Begun]:
        broker_id, role = victims.broker()
        if broker_id < 0:
            yield NOTHING
            return
        hold_s = victims.chance.choice([1.0, SHORT_S, SHORT_S, LONG_S])
        with victims.system.hold(broker_id):
            victims.system.signal(broker_id, signal.SIGSTOP)
            try:
                yield Begun(f"SIGSTOP of broker {broker_id}, {role}, for {hold_s:.0f} s", hold_s)
            finally:
                victims.system.signal(broker_id, signal.SIGCONT)

    return fault()


def kill_all(victims: Victims) -> AbstractContextManager[Begun]:
    """Kill all brokers at once; start them in any order."""

    @contextmanager
    def fault() -> Iterator[Begun]:
        system = victims.system
        system.wait_for_starts()
        killed = [broker_id for broker_id in BROKERS if broker_id not in system.busy]
        system.busy.update(killed)
        for broker_id in killed:
            system.signal(broker_id, signal.SIGKILL)
        for broker_id in killed:
            system.brokers[broker_id].kill()
        yield Begun(f"kill -9 of brokers {killed} at once", victims.chance.choice([0.0, 3.0]))
        victims.chance.shuffle(killed)
        for broker_id in killed:
            system.start_later(broker_id)
            time.sleep(victims.chance.choice([0.0, 0.0, 2.0]))

    return fault()


def restart_each(victims: Victims) -> AbstractContextManager[Begun]:
    """Restart the brokers one after the other, each when the one before runs."""

    @contextmanager
    def fault() -> Iterator[Begun]:
        system = victims.system
        system.wait_for_starts()
        if system.busy:
            yield NOTHING
            return
        took = []
        for broker_id in BROKERS:
            system.busy.add(broker_id)
            took.append(f"{system.terminate(broker_id):.1f}")
            system.start_later(broker_id)
            system.wait_for_starts()
        yield Begun(f"rolling restart; SIGTERM took {', '.join(took)} s", 0.0)

    return fault()


def cut(
    victims: Victims, text: str, directions: Sequence[Direction], hold_s: float
) -> AbstractContextManager[Begun]:
    """Cut directions of the network."""

    @contextmanager
    def fault() -> Iterator[Begun]:
        network = victims.system.network
        reset = victims.chance.random() < 0.5
        network.cut(directions)
        try:
            yield Begun(f"{text}, for {hold_s:.0f} s", hold_s)
        finally:
            network.heal(directions, reset=reset)

    return fault()


def _hold_s(victims: Victims) -> float:
    return victims.chance.choice([2.0, SHORT_S, 15.0, 30.0])


def _one_way(victims: Victims, directions: list[Direction], text: str) -> tuple[list[Direction], str]:
    """Return all of the directions, or those of one way."""
    way = victims.chance.randrange(3)
    if way == 2:
        return directions, f"{text} in both directions"
    return directions[way::2], f"{text}, what goes {'to' if way == 0 else 'from'} the others"


def cut_brokers(victims: Victims) -> AbstractContextManager[Begun]:
    """Cut two brokers from each other, one way or both."""
    broker_id, role = victims.broker()
    broker_id = broker_id if broker_id > 0 else BROKERS[0]
    other = victims.chance.choice([one for one in BROKERS if one != broker_id])
    pairs = [(str(broker_id), str(other)), (str(other), str(broker_id))]
    directions, text = _one_way(victims, pairs, f"cut of broker {broker_id}, {role}, from broker {other}")
    return cut(victims, text, directions, _hold_s(victims))


def isolate(victims: Victims) -> AbstractContextManager[Begun]:
    """Cut a broker from both others, one way or both; ZooKeeper and clients still reach it."""
    broker_id, role = victims.broker()
    broker_id = broker_id if broker_id > 0 else BROKERS[0]
    others = [str(one) for one in BROKERS if one != broker_id]
    directions, text = _one_way(
        victims, both_ways(str(broker_id), *others), f"cut of broker {broker_id}, {role}, from all others"
    )
    return cut(victims, text, directions, _hold_s(victims))


def cut_zookeeper(victims: Victims) -> AbstractContextManager[Begun]:
    """Cut a broker from ZooKeeper, one way or both; brokers and clients still reach it."""
    broker_id, role = victims.broker()
    broker_id = broker_id if broker_id > 0 else BROKERS[0]
    directions, text = _one_way(
        victims,
        both_ways(str(broker_id), *victims.system.zookeepers),
        f"cut of broker {broker_id}, {role}, from ZooKeeper",
    )
    return cut(victims, text, directions, _hold_s(victims))


def cut_clients(victims: Victims) -> AbstractContextManager[Begun]:
    """Cut a broker from all clients, one way or both."""
    broker_id, role = victims.broker()
    broker_id = broker_id if broker_id > 0 else BROKERS[0]
    directions, text = _one_way(
        victims, both_ways(str(broker_id), CLIENT), f"cut of broker {broker_id}, {role}, from clients"
    )
    return cut(victims, text, directions, _hold_s(victims))


def cut_off(victims: Victims) -> AbstractContextManager[Begun]:
    """Cut a broker from the other brokers and ZooKeeper, but not from clients."""
    broker_id, role = victims.broker()
    broker_id = broker_id if broker_id > 0 else BROKERS[0]
    others = [str(one) for one in BROKERS if one != broker_id]
    directions = both_ways(str(broker_id), *others, *victims.system.zookeepers)
    text = f"cut of broker {broker_id}, {role}, from brokers and ZooKeeper"
    return cut(victims, text, directions, _hold_s(victims))


def harm_zookeeper(victims: Victims) -> AbstractContextManager[Begun]:
    """Kill or freeze ZooKeeper servers: a minority, a majority, or all."""

    @contextmanager
    def fault() -> Iterator[Begun]:
        servers = list(victims.system.zookeepers.items())
        chosen = dict(victims.chance.sample(servers, victims.chance.randint(1, len(servers))))
        freezes = victims.chance.random() < 0.5
        hold_s = victims.chance.choice([1.0, 3.0, 12.0])
        with ExitStack() as undo:
            for place, server in chosen.items():
                if freezes:
                    undo.callback(server.thaw)
                    server.freeze()
                else:
                    undo.callback(_start_inside, victims.system, place)
                    server.kill()
            what = "SIGSTOP" if freezes else "kill -9"
            yield Begun(f"{what} of ZooKeeper's {', '.join(sorted(chosen))}, for {hold_s:.0f} s", hold_s)

    return fault()


def _start_inside(system: System, place: str) -> None:
    with system.network.inside(place):
        system.zookeepers[place].start()


def fill_disk(victims: Victims) -> AbstractContextManager[Begun]:
    """Fill the disk of a broker; restart it when there is room again."""

    @contextmanager
    def fault() -> Iterator[Begun]:
        broker_id, role = victims.broker()
        if broker_id < 0:
            yield NOTHING
            return
        disk, hold_s = victims.system.disks[broker_id], victims.chance.choice([3.0, 15.0])
        with victims.system.hold(broker_id):
            disk.fill()
            try:
                yield Begun(f"full disk of broker {broker_id}, {role}, for {hold_s:.0f} s", hold_s)
            finally:
                disk.empty()
        _restart(victims.system, broker_id)

    return fault()


def protect_disk(victims: Victims) -> AbstractContextManager[Begun]:
    """Keep a broker from making, renaming and removing files; restart it afterwards."""

    @contextmanager
    def fault() -> Iterator[Begun]:
        broker_id, role = victims.broker()
        if broker_id < 0:
            yield NOTHING
            return
        disk = victims.system.disks[broker_id]
        with victims.system.hold(broker_id):
            try:
                done = disk.protect()
                yield Begun(f"read-only folders of broker {broker_id}, {role} ({done}), for 15 s", 15.0)
            finally:
                disk.release()
        _restart(victims.system, broker_id)

    return fault()


def _restart(system: System, broker_id: int) -> None:
    system.busy.add(broker_id)
    system.terminate(broker_id)
    system.start_later(broker_id)


def two_at_once(first: Fault, second: Fault) -> Fault:
    """Return a fault of two, which begin at the same time; what an operator does ends last."""

    def both(victims: Victims) -> AbstractContextManager[Begun]:
        @contextmanager
        def fault() -> Iterator[Begun]:
            with ExitStack() as last, ExitStack() as before:
                one, other = (
                    (before if kind in DISTURBANCES else last).enter_context(kind(victims))
                    for kind in (first, second)
                )
                shorter, longer = sorted((one.hold_s, other.hold_s))
                yield Begun(f"{one.text}; and {other.text}", min(longer, shorter + 10.0))

        return fault()

    return both


ALL: Sequence[tuple[Fault, int]] = (
    (kill, 5),
    (freeze, 5),
    (terminate, 4),
    (cut_brokers, 3),
    (isolate, 3),
    (cut_zookeeper, 3),
    (cut_off, 3),
    (cut_clients, 2),
    (harm_zookeeper, 3),
    (kill_all, 1),
    (restart_each, 1),
)
"""The faults that work everywhere, and how often each comes."""

DISKS: Sequence[tuple[Fault, int]] = ((fill_disk, 2), (protect_disk, 1))
"""Those for disks of their own."""

LONELY = {"kill_all", "restart_each", "restore_state"}
"""Names of those that concern all brokers, and come alone."""

DISTURBANCES = {fault for fault, _ in (*ALL, *DISKS)}


def choose(
    chance: random.Random, faults: Sequence[tuple[Fault, int]], *, alone: bool = False
) -> tuple[Fault, str]:
    """Return a fault by chance, or two of them in one of four cases; and its name.

    :param alone: never two.
    """
    chosen = chance.choices([fault for fault, _ in faults], [weight for _, weight in faults], k=2)
    together = chance.random() < 0.25 and not alone
    if together and all(fault.__name__ not in LONELY for fault in chosen):
        return two_at_once(*chosen), " and ".join(sorted(fault.__name__ for fault in chosen))
    return chosen[0], chosen[0].__name__


__all__ = ["ALL", "DISKS", "Begun", "Fault", "Victims", "choose"]
