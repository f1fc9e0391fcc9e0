"""The fault that ZooKeeper's data are put back to an older copy, while nothing runs."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from tests.cluster.faults import NOTHING, Begun, Fault, Victims
from tests.cluster.system import BROKERS, SESSION_MS, System

NOTED_S = 3.0
"""Seconds after which all brokers have noted a change of the cluster's state."""


def restore_state(victims: Victims) -> AbstractContextManager[Begun]:
    """Copy ZooKeeper's data; let leaders change; kill everything, put the copy back, and start again."""

    @contextmanager
    def fault() -> Iterator[Begun]:
        system, chance = victims.system, victims.chance
        system.wait_for_starts()
        if system.busy:
            yield NOTHING
            return
        system.busy.update(BROKERS)
        _without_servers(system, _copy)
        time.sleep(NOTED_S)
        changed = chance.choice(BROKERS)
        system.brokers[changed].kill()
        time.sleep(SESSION_MS / 1000 + NOTED_S)
        stays_dead = chance.random() < 0.5
        if not stays_dead:
            system.start_later(changed)
            system.wait_for_starts()
            system.busy.add(changed)
            time.sleep(NOTED_S)
        for broker_id in BROKERS:
            if system.brokers[broker_id].running:
                system.signal(broker_id, signal.SIGKILL)
        for broker_id in BROKERS:
            system.brokers[broker_id].kill()
        _without_servers(system, _put_back)
        yield Begun(f"ZooKeeper's data put back to before broker {changed} was killed", 0.0)
        order = list(BROKERS)
        chance.shuffle(order)
        for broker_id in order:
            system.start_later(broker_id)
            time.sleep(chance.choice([0.0, 0.0, 4.0]))

    return fault()


RESTORATIONS: Sequence[tuple[Fault, int]] = ((restore_state, 1),)
"""The fault, and how often it comes."""


def _without_servers(system: System, work: Callable[[System], None]) -> None:
    """Do something while no ZooKeeper server runs."""
    for server in system.zookeepers.values():
        server.kill()
    work(system)
    for place, server in system.zookeepers.items():
        with system.network.inside(place):
            server.start()
    for server in system.zookeepers.values():
        server.wait()


def _copy(system: System) -> None:
    for server in system.zookeepers.values():
        shutil.rmtree(server.folder / "copy", ignore_errors=True)
        shutil.copytree(server.folder / "data", server.folder / "copy")


def _put_back(system: System) -> None:
    for server in system.zookeepers.values():
        shutil.rmtree(server.folder / "data")
        (server.folder / "copy").rename(server.folder / "data")
