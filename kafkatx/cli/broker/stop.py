"""``kafkatx stop``: stop the broker of a data directory.

No process is signalled that is not known to be that broker: see :mod:`kafkatx.cli.broker.lock_holder`.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable

import click

from kafkatx.cli.broker.lock_holder import Holder, find_holder, process_handle
from kafkatx.cli.broker.settings import data_directory
from kafkatx.cli.options.numbers import FiniteRange
from kafkatx.cli.output.terminal import show
from kafkatx.errors import KafkaTXError

DEFAULT_TIMEOUT_S = 60.0
STEP_S = 0.05
"""Seconds between two looks at a process where the system cannot be told to wait for its end."""


@click.command()
@click.option("--data", metavar="DIR", help="The broker's data directory.  [default: ./data]")
@click.option("--config", metavar="FILE", help="The broker's settings file, instead of --data.")
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=FiniteRange(min=0),
    default=DEFAULT_TIMEOUT_S,
    show_default=True,
    help="Time to wait for its end.",
)
def stop(data: str | None, config: str | None, timeout: float) -> None:
    """Stop the broker of a data directory, and wait until it has ended.

    It is found by the lock that it holds on the directory, however it was started.
    """
    directory = data_directory(data, config)
    began_s = time.monotonic()
    pid = running_broker(directory)
    end_process(pid, timeout, lambda: find_holder(directory).pid == pid)
    show(f"stopped process {pid} after {time.monotonic() - began_s:.1f} s")


def running_broker(directory: str) -> int:
    """Return the process id of the broker that has a data directory.

    :raises KafkaTXError: there is none, or the holder of the lock is not known to be a broker.
    """
    try:
        holder = find_holder(directory)
    except OSError as error:
        raise KafkaTXError(f"{directory}: cannot read its lock: {error.strerror}") from None
    if holder.pid is None:
        raise KafkaTXError(f"{directory}: {not_running(directory, holder)}")
    return holder.pid


def not_running(directory: str, holder: Holder) -> str:
    """Return why a data directory has no running broker."""
    if holder.problem is not None:
        return holder.problem
    if not os.path.isdir(directory):
        return "there is no such directory"
    if holder.stale_pid is None:
        return "no broker is running there"
    return f"no broker is running there; the last one was process {holder.stale_pid}"


def end_process(pid: int, timeout_s: float, is_broker: Callable[[], bool]) -> None:
    """Send SIGTERM to a broker and wait until its process has ended.

    :param is_broker: returns True if the process is still the broker; called before the signal is sent.
    :raises KafkaTXError: it belongs to another user, or has not ended in time.
    """
    try:
        with process_handle(pid) as handle:
            if not is_broker():
                return  # it has ended meanwhile
            if handle is None:
                os.kill(pid, signal.SIGTERM)
                ended = _poll_for_end(timeout_s, is_broker)
            else:
                signal.pidfd_send_signal(handle, signal.SIGTERM)
                ended = bool(select.select([handle], [], [], timeout_s)[0])
    except ProcessLookupError:
        return
    except PermissionError:
        raise KafkaTXError(
            f"process {pid} belongs to another user: only that user or root can stop it"
        ) from None
    if not ended:
        raise KafkaTXError(
            f"process {pid} has not ended after {timeout_s:g} s: it is writing its logs to the disk, and ends"
            " when that is done; kafkatx stop --timeout SECONDS waits longer"
        )


def _poll_for_end(timeout_s: float, is_broker: Callable[[], bool]) -> bool:
    end_s = time.monotonic() + timeout_s
    while is_broker():
        if time.monotonic() >= end_s:
            return False
        time.sleep(STEP_S)
    return True
