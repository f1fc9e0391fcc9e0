"""Faults of a broker's data: a second process with a copy of them, and a new, empty disk."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress

from kafkatx.testing.errors import BrokerDidNotStart
from tests.cluster.faults import NOTHING, Begun, Fault, Victims
from tests.cluster.system import System


def twin(victims: Victims) -> AbstractContextManager[Begun]:
    """Start a process with a copy of a running broker's data; in one of two cases stop the original then."""

    @contextmanager
    def fault() -> Iterator[Begun]:
        system = victims.system
        broker_id, role = victims.broker()
        if broker_id < 0:
            yield NOTHING
            return
        copy = system.folder / f"copy-{broker_id}"
        with system.hold(broker_id):
            subprocess.run(["cp", "-a", str(system.disks[broker_id].folder), str(copy)], capture_output=True)
            second = system.twin(broker_id, str(copy))
            refused = _is_refused(second.start)
            alone = victims.chance.random() < 0.5
            try:
                if alone:
                    system.terminate(broker_id)
                    refused = _is_refused(second.start) if refused else False
                text = "then alone, " if alone else ""
                said = "refused" if refused else "started"
                yield Begun(f"a copy of broker {broker_id}, {role}, {text}{said}", 10.0 if alone else 1.0)
            finally:
                second.kill()
                shutil.rmtree(copy, ignore_errors=True)
        if alone:
            system.start_later(broker_id)

    return fault()


def _is_refused(start: Callable[[], object]) -> bool:
    try:
        start()
    except BrokerDidNotStart:
        return True
    return False


def empty_disk(victims: Victims) -> AbstractContextManager[Begun]:
    """Give a broker an empty disk, if no other replica lacks anything: else it could have the only one."""

    @contextmanager
    def fault() -> Iterator[Begun]:
        system = victims.system
        broker_id, role = victims.broker()
        if broker_id < 0 or not _is_whole(system):
            yield NOTHING
            return
        system.busy.add(broker_id)
        kills = victims.chance.random() < 0.5
        if kills:
            system.brokers[broker_id].kill()
        else:
            system.terminate(broker_id)
        _empty(system, broker_id)
        yield Begun(f"empty disk of broker {broker_id}, {role}, {'killed' if kills else 'stopped'}", 0.0)
        system.start_later(broker_id)

    return fault()


def _is_whole(system: System) -> bool:
    placements = system.sample().placements
    return bool(placements) and all(placement.whole for placement in placements)


def _empty(system: System, broker_id: int) -> None:
    for path in system.disks[broker_id].folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            with suppress(FileNotFoundError):
                path.unlink()


COPIES: Sequence[tuple[Fault, int]] = ((twin, 2), (empty_disk, 2))
"""The faults of data, and how often each comes."""
