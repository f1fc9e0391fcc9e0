"""``kafkatx status``: show whether a broker serves clients, and its answers about itself."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import attrs
import click

from kafkatx.cli.broker.cluster_status import ClusterStatus, LogDirStatus, NodeStatus, ask_broker
from kafkatx.cli.broker.lock_holder import find_broker, find_holder, uptime_s
from kafkatx.cli.broker.settings import data_directory
from kafkatx.cli.broker.stop import running_broker
from kafkatx.cli.options.cluster import DEFAULT_BOOTSTRAP, bootstrap_given, command_config_option
from kafkatx.cli.options.numbers import FiniteRange
from kafkatx.cli.output.terminal import interactive, print_rows, say, show, show_json
from kafkatx.daemon.process_file import ProcessNote, read_note
from kafkatx.errors import KafkaTXError
from kafkatx.names import counted

if TYPE_CHECKING:
    from kafkatx.cli.broker.lock_holder import Holder

DEFAULT_TIMEOUT_S = 10.0
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


@attrs.frozen
class LocalProcess:
    """The process of a broker on this machine.

    :ivar note: the content of its process file; None if it has not written one yet.
    """

    pid: int
    note: ProcessNote | None


@click.command()
@click.option(
    "-b",
    "--bootstrap-server",
    "bootstrap",
    metavar="HOST:PORT",
    envvar="KAFKATX_BOOTSTRAP",
    show_envvar=True,
    callback=bootstrap_given,
    help="Ask the broker at this address.",
)
@command_config_option()
@click.option("--data", metavar="DIR", help="Ask the broker of this data directory.")
@click.option("--config", metavar="FILE", help="Ask the broker of this settings file's data directory.")
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=FiniteRange(min=0, min_open=True),
    default=DEFAULT_TIMEOUT_S,
    show_default=True,
    help="Time to wait for a connection, and for each reply.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def status(bootstrap: str | None, data: str | None, config: str | None, timeout: float, as_json: bool) -> int:
    """Show whether a broker is ready, its version, process, listeners and log dirs.

    In a cluster of several brokers it shows all of them. The exit status is 0 if the broker serves clients
    and 1 if not. Without -b, --data, --config and bootstrap.servers in the file of --command-config it is the
    broker of ./data, if one runs there, or else the one at 127.0.0.1:9092.
    """
    try:
        process, found = _find(bootstrap, data, config, timeout)
    except KafkaTXError as error:
        if as_json:
            show_json({"ready": False, "problem": str(error)})
        else:
            say(f"kafkatx: {error}")
        return 1
    if process is None:
        process = _local_process(found.cluster_id, found.log_dirs)
    if as_json:
        show_json(_fields(process, found))
    elif interactive(sys.stdout):
        rows = [*_rows(process, found)]
        width = max(len(name) for name, _ in rows)
        for name, text in rows:
            show(f"{name:<{width}}  {text}")
    else:
        print_rows(_rows(process, found))
    return 0


def _find(
    bootstrap: str | None, data: str | None, config: str | None, timeout_s: float
) -> tuple[LocalProcess | None, ClusterStatus]:
    """Find the broker that the options mean, and ask it.

    :raises KafkaTXError: there is none, or it does not answer.
    """
    chosen = data is not None or config is not None
    if chosen and bootstrap is not None and not _from_environment():
        raise click.UsageError("-b and --data or --config each name a broker: give one of them")
    if not chosen and bootstrap is not None:
        return None, ask_broker(bootstrap, timeout_s)
    directory = data_directory(data, config)
    if not chosen and _holder(directory).pid is None:
        return None, ask_broker(DEFAULT_BOOTSTRAP, timeout_s)
    pid = running_broker(directory)
    note = _note_of(directory, pid)
    if note is None:
        raise KafkaTXError(
            f"{directory}: process {pid} is starting or stopping, or has not said where it listens: use -b"
        )
    return LocalProcess(pid, note), ask_broker(note.bootstrap, timeout_s)


def _from_environment() -> bool:
    """Return True if the command line has no -b, before or after the command."""
    return "kafkatx.bootstrap" not in click.get_current_context().meta


def _holder(directory: str) -> Holder:
    try:
        return find_holder(directory)
    except OSError as error:
        raise KafkaTXError(f"{directory}: cannot read its lock: {error.strerror}") from None


def _note_of(directory: str, pid: int) -> ProcessNote | None:
    note = read_note(directory)
    return note if note is not None and note.pid == pid else None


def _local_process(cluster_id: str | None, log_dirs: Iterable[LogDirStatus]) -> LocalProcess | None:
    """Find the process of a broker that was asked by its address, if its log dirs are on this machine.

    A dir of that name may be on this machine by chance, so that it must say the same cluster id.
    """
    for log_dir in log_dirs:
        try:
            holder = find_broker(log_dir.path)
        except OSError:
            continue
        if holder.pid is not None and _cluster_id(log_dir.path) == cluster_id:
            return LocalProcess(holder.pid, _note_of(log_dir.path, holder.pid))
    return None


def _cluster_id(directory: str) -> str | None:
    from kafkatx.log.checkpoint import META_PROPERTIES, CheckpointDamaged, decode_meta_properties

    try:
        with open(os.path.join(directory, META_PROPERTIES), "rb") as file:
            return decode_meta_properties(file.read()).get("cluster.id")
    except (OSError, CheckpointDamaged):
        return None


def _fields(process: LocalProcess | None, found: ClusterStatus) -> dict[str, object]:
    note = None if process is None else process.note
    return {
        "ready": True,
        "version": None if note is None else note.version,
        "pid": None if process is None else process.pid,
        "uptime_s": None if process is None else uptime_s(process.pid),
        "log_file": None if note is None else note.log_file,
        **attrs.asdict(found),
        "nodes": [
            {**attrs.asdict(node), **_process_fields(_local_process(found.cluster_id, node.log_dirs))}
            for node in found.nodes
        ],
    }


def _process_fields(process: LocalProcess | None) -> dict[str, object]:
    """Return what is known of the process of one of several brokers."""
    if process is None:
        return {"pid": None, "uptime_s": None}
    return {"pid": process.pid, "uptime_s": uptime_s(process.pid)}


def _rows(process: LocalProcess | None, found: ClusterStatus) -> Iterator[tuple[str, str]]:
    note = None if process is None else process.note
    yield "state", "ready"
    hidden = found.missing_rights and not found.log_dirs
    why = "log dirs are not shown" if hidden else "it runs on another machine or in memory"
    yield "version", f"unknown: {why}" if note is None else note.version
    if process is not None:
        yield "process", str(process.pid)
        running_s = uptime_s(process.pid)
        if running_s is not None:
            yield "uptime", duration(running_s)
    if not found.nodes or found.node_id >= 0:
        yield "node id", str(found.node_id)
    yield "cluster id", found.cluster_id or "none"
    yield "controller", str(found.controller_id)
    yield "brokers", str(found.brokers)
    if not found.nodes or found.listeners:
        yield "listeners", ", ".join(found.listeners) or "unknown"
    yield "advertised" if not found.nodes or found.node_id >= 0 else "bootstrap", found.advertised
    without = f", {found.without_leader} without a leader" if found.without_leader else ""
    yield "topics", f"{found.topics} ({counted(found.partitions, 'partition')}{without})"
    if found.nodes:
        for node in found.nodes:
            yield f"broker {node.id}", _node(node, _local_process(found.cluster_id, node.log_dirs))
            for log_dir in node.log_dirs:
                yield f"log dir of {node.id}", _log_dir(log_dir)
    else:
        for log_dir in found.log_dirs:
            yield "log dir", _log_dir(log_dir)
    if found.missing_rights:
        yield "not shown", f"{'; '.join(found.missing_rights)}; topics need Describe on each"
    if note is not None and note.log_file is not None:
        yield "log", note.log_file


def _node(node: NodeStatus, process: LocalProcess | None) -> str:
    """Describe one of several brokers in a line."""
    parts = [node.advertised]
    if node.rack is not None:
        parts.append(f"rack {node.rack}")
    parts.append(f"leads {counted(node.leads, 'partition')}")
    if process is not None:
        parts.append(f"process {process.pid}")
    if node.problem is not None:
        parts.append(f"does not answer: {node.problem}")
    return ", ".join(parts)


def _log_dir(log_dir: LogDirStatus) -> str:
    if log_dir.error is not None:
        return f"{log_dir.path}: {log_dir.error}"
    free = "" if log_dir.free_bytes is None else f", {size(log_dir.free_bytes)} free"
    return f"{log_dir.path}: {size(log_dir.size_bytes)} in {counted(log_dir.partitions, 'partition')}{free}"


def size(number: int) -> str:
    """Return a number of bytes for people: ``1.5 GiB``."""
    shown = float(number)
    for unit in _UNITS[:-1]:
        if shown < 1024:
            return f"{shown:.0f} {unit}" if unit == _UNITS[0] else f"{shown:.1f} {unit}"
        shown /= 1024
    return f"{shown:.1f} {_UNITS[-1]}"


def duration(seconds: float) -> str:
    """Return a duration for people: ``2 d 3 h``, ``3 h 5 min``, ``5 min 7 s``, ``7 s``."""
    whole = int(seconds)
    parts = [(whole // 86400, "d"), (whole // 3600 % 24, "h"), (whole // 60 % 60, "min"), (whole % 60, "s")]
    while len(parts) > 1 and not parts[0][0]:
        parts.pop(0)
    return " ".join(f"{number} {unit}" for number, unit in parts[:2])
