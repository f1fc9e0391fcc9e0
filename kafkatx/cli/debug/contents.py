"""The contents of a debug bundle: what brokers tell, and the files of a broker of this machine.

Nothing of it has a record, or the bytes of a group's members. It asks brokers and reads files.
"""

from __future__ import annotations

import json
import os
import platform
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import attrs

from kafkatx import __version__
from kafkatx.config.listeners import bracketed, is_loopback
from kafkatx.machine.facts import HTTP_URL

if TYPE_CHECKING:
    from kafkatx.blocking import Cluster
    from kafkatx.cli.debug.archive import Archive
    from kafkatx.types import BrokerNode

LOG_BYTES = 6 << 20
"""Bytes of the end of a log file."""

METRICS_BYTES = 8 << 20
HTTP_S = 10.0
HISTORY = "kafkatx-history"
"""The file of a console's samples in the first log dir."""

PACKAGES = ("Twisted", "zope.interface", "attrs", "crc32c", "cramjam", "click", "cryptography", "pyOpenSSL")


def lines(objects: Iterable[object]) -> str:
    """Return one JSON object a line."""
    return "".join(json.dumps(one, default=str, sort_keys=True) + "\n" for one in objects)


def add_versions(archive: Archive) -> None:
    """Add the versions of this program and of what it uses."""
    found = {"kafkatx": __version__, "python": platform.python_version(), "system": platform.platform()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    archive.add("versions.txt", "".join(f"{name} {text}\n" for name, text in found.items()))


def add_cluster(archive: Archive, cluster: Cluster, uses_tls: bool = False) -> None:
    """Add what the brokers of a cluster tell."""
    from kafkatx.cli.doctor.examination import examine_cluster

    archive.gather("cluster/brokers.json", lambda: lines(_brokers(cluster)))
    archive.gather("cluster/topics.json", lambda: lines(_topics(cluster)))
    archive.gather("cluster/log-dirs.json", lambda: lines(_log_dirs(cluster)))
    archive.gather("cluster/groups.json", lambda: lines(_groups(cluster)))
    archive.gather("cluster/transactions.json", lambda: lines(_transactions(cluster)))
    archive.gather("cluster/quotas.json", lambda: lines(_quotas(cluster)))
    archive.gather("cluster/client-metrics.json", lambda: lines(_client_metrics(cluster)))
    archive.gather("cluster/mirrors.json", lambda: lines(_mirrors(cluster)))
    urls: dict[int, str] = {}
    archive.gather("brokers/facts.json", lambda: lines(_facts(cluster, urls)))
    archive.gather("doctor.json", lambda: lines(map(attrs.asdict, examine_cluster(cluster, uses_tls))))
    for node in _nodes(cluster):
        _add_broker(archive, cluster, node, urls.get(node.id))


def _add_broker(archive: Archive, cluster: Cluster, node: BrokerNode, url: str | None) -> None:
    archive.gather(f"brokers/{node.id}/settings.json", lambda: lines(_settings(cluster, node)))
    archive.gather(f"brokers/{node.id}/metrics.txt", lambda: _metrics(node, url))


def _nodes(cluster: Cluster) -> list[BrokerNode]:
    return sorted(cluster.metadata([]).brokers.values(), key=lambda node: node.id)


def _brokers(cluster: Cluster) -> Iterator[dict[str, object]]:
    found = cluster.metadata([])
    yield {"cluster_id": found.cluster_id, "controller": found.controller_id}
    for node in _nodes(cluster):
        yield {"broker": node.id, "host": node.host, "port": node.port, "rack": node.rack}


def _topics(cluster: Cluster) -> Iterator[dict[str, object]]:
    for name, topic in sorted(cluster.metadata(None).topics.items()):
        yield {
            "topic": name,
            "internal": topic.internal,
            "partitions": [attrs.asdict(one) for _, one in sorted(topic.partitions.items())],
        }


def _log_dirs(cluster: Cluster) -> Iterator[dict[str, object]]:
    from kafkatx.blocking import Admin

    for broker, each in Admin(cluster).describe_log_dirs().items():
        for one in each:
            yield {
                "broker": broker,
                "path": one.path,
                "error": one.error.name,
                "total_bytes": one.total_bytes,
                "usable_bytes": one.usable_bytes,
                "sizes": {f"{where.topic}-{where.partition}": size for where, size in one.sizes.items()},
            }


def _groups(cluster: Cluster) -> Iterator[dict[str, object]]:
    from kafkatx.blocking.admin.groups import Groups

    for one in Groups(cluster).listings():
        yield attrs.asdict(one)


def _transactions(cluster: Cluster) -> Iterator[dict[str, object]]:
    from kafkatx.blocking.admin.transactions import Transactions

    for one in Transactions(cluster).listings():
        yield one._asdict()


def _quotas(cluster: Cluster) -> Iterator[dict[str, object]]:
    from kafkatx.blocking.admin.quotas import Quotas

    for one in Quotas(cluster).describe():
        yield {"entity": one.entity, "values": dict(one.values)}


def _client_metrics(cluster: Cluster) -> Iterator[dict[str, object]]:
    from kafkatx.blocking.diagnosis.client_metrics import ClientMetrics
    from kafkatx.cli.client_metrics.show import described

    metrics = ClientMetrics(cluster)
    for name in metrics.subscriptions():
        yield {
            "subscription": name,
            **{config: entry.value for config, entry in metrics.describe(name).items()},
        }
    for pushed in metrics.values(None, None):
        for client in pushed.clients:
            yield described(pushed, client)


def _mirrors(cluster: Cluster) -> Iterator[dict[str, object]]:
    from kafkatx.blocking.admin.mirrors import Mirrors

    report = Mirrors(cluster).report()
    yield from map(attrs.asdict, report.links)
    yield from map(attrs.asdict, report.partitions)


def _facts(cluster: Cluster, urls: dict[int, str]) -> Iterator[dict[str, object]]:
    """Yield the facts that brokers tell; fill *urls* with the addresses of their HTTP listeners."""
    from kafkatx.cli.doctor.examination import broker_answers

    for broker, one in broker_answers(cluster).items():
        if HTTP_URL in one.facts:
            urls[broker] = one.facts[HTTP_URL]
        yield {"broker": broker, **attrs.asdict(one)}


def _settings(cluster: Cluster, node: BrokerNode) -> Iterator[dict[str, object]]:
    """Yield the settings that a broker shows; secrets have no value there."""
    from kafkatx.blocking.admin.configs import Configs
    from kafkatx.clientcore.admin.configs import Resource, ResourceType

    found = Configs(cluster).describe(Resource(ResourceType.BROKER, str(node.id)))
    for name, entry in found.items():
        if not entry.sensitive and entry.value is not None:
            yield {"name": name, "value": entry.value, "source": entry.source.name}


def _metrics(node: BrokerNode, url: str | None) -> str:
    """Return the page of metrics of a broker.

    :param url: the address that the broker tells, for programs on its machine.
    :raises OSError: it has no HTTP listener, or that does not answer.
    """
    if url is None:
        raise OSError("the broker has no HTTP listener, or does not tell where it is")
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_loopback(host):
        host = node.host  # the same unless the broker is on another machine
    page = f"{parts.scheme}://{bracketed(host)}:{parts.port}/metrics"
    with urllib.request.urlopen(page, timeout=HTTP_S) as answer:
        data: bytes = answer.read(METRICS_BYTES)
    return data.decode("utf-8", "replace")


def add_files(archive: Archive, settings: dict[str, str], directory: str | None) -> None:
    """Add what a broker of this machine has in its files.

    :param settings: those of its settings file; empty if that is not known.
    :param directory: its first log dir; None if it is not known.
    """
    if settings:
        archive.add_settings("files/server.properties", settings)
    if directory is None:
        return
    from kafkatx.daemon.process_file import LOG_FILE, read_note

    note = read_note(directory)
    log = os.path.join(directory, LOG_FILE) if note is None or note.log_file is None else note.log_file
    archive.gather("files/meta.properties", lambda: tail(os.path.join(directory, "meta.properties")))
    archive.gather("files/kafkatx.log", lambda: tail(log))
    archive.gather("files/log-dir.txt", lambda: _listing(directory))
    samples = os.path.join(directory, HISTORY)
    if os.path.exists(samples):
        archive.gather("files/history.json", lambda: _history(samples))
    if note is not None:
        for name in ("limits", "status"):
            archive.gather(f"process/{name}", _reader(f"/proc/{note.pid}/{name}"))


def _history(path: str) -> str:
    """Return the samples that a broker with a console keeps, a line for each of its three rings.

    :raises OSError: the file cannot be read.
    :raises ValueError: it is damaged.
    """
    from kafkatx.broker.history.codec import MOST_BYTES, decode

    with open(path, "rb") as file:
        history = decode(file.read(MOST_BYTES + 1))
    return lines(
        {
            "step_ms": ring.step_ms,
            "newest_slot": ring.last,
            "series": {
                name: [round(value, 3) if value == value else None for value in column]
                for name, column in ring.columns.items()
            },
        }
        for ring in history.rings
    )


def _reader(path: str) -> Callable[[], str]:
    return lambda: tail(path)


def tail(path: str, most: int = LOG_BYTES) -> str:
    """Return the end of a file.

    :raises OSError: it cannot be read.
    """
    with open(path, "rb") as file:
        data = file.read(most + 1) if path.startswith("/proc/") else _end(file.fileno(), most)
    return data.decode("utf-8", "replace")


def _end(descriptor: int, most: int) -> bytes:
    size = os.fstat(descriptor).st_size
    data = os.pread(descriptor, most, max(0, size - most))
    return data if size <= most else data[data.find(b"\n") + 1 :]


def _listing(directory: str) -> str:
    """Return names and sizes of the files in a log dir, and the names of the directories."""
    found = []
    with os.scandir(directory) as entries:
        for one in entries:
            size = "directory" if one.is_dir() else str(one.stat().st_size)
            found.append(f"{one.name}\t{size}\n")
    return "".join(sorted(found))
