"""Many partitions on four brokers and a real ZooKeeper: the times of a failover and of the start of a broker.

    python -m benchmarks.cluster_failover [--partitions N] [--brokers N] [--session-ms MS]

The brokers run on this machine, beside a ZooKeeper from the jars inside pyspark. The broker that is the
controller is killed (``kill -9``) and started again later. The times are those that ZooKeeper has noted of
its nodes (milliseconds): of the new controller, of the last state without a leader, of the broker's
registration and of the last state that it leads again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from benchmarks.broker_process import free_port
from kafkatx.metadata.layout import paths
from kafkatx.testing.zookeeper import ZooKeeperServer

PER_TOPIC = 500
CHROOT = "/failover"
WAIT_S = 300.0
State = tuple[int, int]
"""The leader, and the time of the last change in milliseconds."""


class Brokers:
    """Broker processes of one cluster."""

    def __init__(self, folder: Path, zookeeper: str, session_ms: int) -> None:
        self._folder = folder
        self._zookeeper = zookeeper
        self._session_ms = session_ms
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self.ports: dict[int, int] = {}

    def start(self, broker_id: int) -> float:
        """Start a broker; return the time of day in ms."""
        port = self.ports.setdefault(broker_id, free_port())
        command = [sys.executable, "-m", "kafkatx", "up", "--port", str(port), "--log-level", "info"]
        command += ["--data", str(self._folder / f"data-{broker_id}"), "--zookeeper", self._zookeeper]
        command += ["--set", f"broker.id={broker_id}"]
        command += ["--set", f"zookeeper.session.timeout.ms={self._session_ms}"]
        with open(self._folder / f"broker-{broker_id}.log", "ab") as log:
            now_ms = time.time() * 1000
            self._processes[broker_id] = subprocess.Popen(command, stdout=log, stderr=log)
        return now_ms

    def kill(self, broker_id: int) -> float:
        """Kill a broker; return the time of day in ms."""
        now_ms = time.time() * 1000
        self._processes[broker_id].kill()
        self._processes[broker_id].wait()
        return now_ms

    def stop(self) -> None:
        """Kill all brokers."""
        for process in self._processes.values():
            process.kill()
            process.wait()


def read_states(client: KazooClient, topics: Sequence[str]) -> dict[str, State | None]:
    """Return the leader of each partition, and the time of its last change; None without a state."""
    found: dict[str, State | None] = {}
    for topic in topics:
        asked = {
            path: client.get_async(path)
            for path in (paths.state(topic, number) for number in range(PER_TOPIC))
        }
        for path, answer in asked.items():
            try:
                data, stat = answer.get(timeout=60)
                found[path] = json.loads(data)["leader"], stat.mtime
            except NoNodeError:
                found[path] = None
    return found


def wait(what: str, condition: Callable[[], bool]) -> None:
    """Wait for a condition.

    :raises TimeoutError: it does not hold in time.
    """
    deadline_s = time.monotonic() + WAIT_S
    while not condition():
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"{what} took more than {WAIT_S:.0f} s")
        time.sleep(0.5)


def measure(partitions: int, brokers: int, session_ms: int) -> dict[str, float]:
    """Return the measured times in seconds."""
    topics = [f"t{number}" for number in range(partitions // PER_TOPIC)]
    with tempfile.TemporaryDirectory(prefix="kafkatx-failover-") as name:
        folder = Path(name)
        zookeeper = ZooKeeperServer(folder / "zookeeper", free_port(), heap_mb=256)
        cluster = Brokers(folder, f"127.0.0.1:{zookeeper.port}{CHROOT}", session_ms)
        client = KazooClient(f"127.0.0.1:{zookeeper.port}{CHROOT}")
        try:
            zookeeper.start()
            zookeeper.wait()
            root = KazooClient(f"127.0.0.1:{zookeeper.port}")
            root.start()
            root.create(CHROOT)
            root.stop()
            client.start()
            for broker_id in range(1, brokers + 1):
                cluster.start(broker_id)
            wait("the start", lambda: _count(client, paths.BROKER_IDS) == brokers)
            begin_s = time.monotonic()
            for topic in topics:
                subprocess.run(
                    [sys.executable, "-m", "kafkatx", "topics", "create", topic, "-p", str(PER_TOPIC), "-b",
                     f"127.0.0.1:{cluster.ports[1]}", "--timeout", "120"],
                    check=True,
                    stdout=subprocess.DEVNULL,
                )  # fmt: skip
            times = {"creation": time.monotonic() - begin_s}
            return times | _fail_over(client, cluster, topics)
        except BaseException:
            for path in sorted(folder.glob("broker-*.log")):
                sys.stderr.write(f"{path.name}: {path.read_text()[-2000:]}\n")
            raise
        finally:
            cluster.stop()
            client.stop()
            zookeeper.kill()


def _count(client: KazooClient, path: str) -> int:
    try:
        return len(client.get_children(path))
    except NoNodeError:
        return 0


def _fail_over(client: KazooClient, cluster: Brokers, topics: Sequence[str]) -> dict[str, float]:
    """Kill the controller, and start it again."""
    before = read_states(client, topics)
    victim = json.loads(client.get(paths.CONTROLLER)[0])["brokerid"]
    led = [path for path, state in before.items() if state is not None and state[0] == victim]
    killed_ms = cluster.kill(victim)
    wait("the failover", lambda: all(json.loads(client.get(path)[0])["leader"] != victim for path in led))
    elected_ms = client.get(paths.CONTROLLER)[1].ctime
    after = read_states(client, topics)
    left_ms = max(state[1] for path, state in after.items() if state is not None and path in set(led))
    started_ms = cluster.start(victim)
    wait("the start", lambda: all(json.loads(client.get(path)[0])["leader"] == victim for path in led))
    again = read_states(client, topics)
    led_ms = max(state[1] for path, state in again.items() if state is not None and path in set(led))
    registered_ms = client.get(paths.broker(victim))[1].ctime
    return {
        "partitions of the killed broker": len(led),
        "kill to the election of a controller": (elected_ms - killed_ms) / 1000,
        "election to the last state": (left_ms - elected_ms) / 1000,
        "start to the registration": (registered_ms - started_ms) / 1000,
        "registration to the last state": (led_ms - registered_ms) / 1000,
    }


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster_failover")
    parser.add_argument("--partitions", type=int, default=10_000, help=f"a multiple of {PER_TOPIC}")
    parser.add_argument("--brokers", type=int, default=4)
    parser.add_argument("--session-ms", type=int, default=6000, help="zookeeper.session.timeout.ms")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    times = measure(options.partitions, options.brokers, options.session_ms)
    print(f"{options.partitions} partitions, {options.brokers} brokers, sessions of {options.session_ms} ms")
    print(f"load of the machine before: {load:.1f} on {os.cpu_count()} cores")
    for name, value in times.items():
        print(f"{name:40} {value:8.2f}")


if __name__ == "__main__":
    main()
