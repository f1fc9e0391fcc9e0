"""Broker CPU seconds for the same load, kafkatx beside the least that a Twisted broker can do.

    python -m benchmarks.against_floor FLOOR.py LOAD.py [ROUNDS]

FLOOR.py takes a port; LOAD.py takes ``produce N SIZE`` or ``consume N`` and librdkafka properties. Both
brokers get each load in each round, in turn, and what counts is the ratio within a round.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile

from benchmarks.broker_process import Measured, free_port, kafkatx_command

SINGLE = ["linger.ms=0", "batch.num.messages=1"]
LOADS = {
    "produce 2 M x 200 B, batched": ["produce", "2000000", "200", "linger.ms=5"],
    "consume 2 M x 200 B": ["consume", "2000000"],
    "produce 200 k x 200 B, 1 a batch, acks=1": ["produce", "200000", "200", *SINGLE, "acks=1"],
    "produce 200 k x 200 B, 1 a batch, acks=0": ["produce", "200000", "200", *SINGLE, "acks=0"],
}


def measure(command: list[str], port: int, load: str) -> dict[str, tuple[float, str]]:
    """For each load the broker's CPU seconds and what the client printed."""
    found = {}
    with Measured(command, port) as broker:
        broker.wait_until_listening()
        for name, arguments in LOADS.items():
            before = broker.cpu_s()
            client = [sys.executable, load, *arguments, f"bootstrap.servers=127.0.0.1:{port}"]
            printed = subprocess.run(client, capture_output=True, text=True, check=True, timeout=300).stdout
            found[name] = (broker.cpu_s() - before, printed.strip())
    return found


def main(floor: str, load: str, rounds: int) -> None:
    """Measure and print."""
    ratios: dict[str, list[float]] = {name: [] for name in LOADS}
    for _ in range(rounds):
        port = free_port()
        least = measure([sys.executable, floor, str(port)], port, load)
        with tempfile.TemporaryDirectory() as data_dir:
            port = free_port()
            ours = measure(kafkatx_command(data_dir, port), port, load)
        for name in LOADS:
            ratios[name].append(ours[name][0] / max(least[name][0], 0.01))
            for system, (cpu_s, printed) in (("floor", least[name]), ("kafkatx", ours[name])):
                print(f"{name}: {system} broker cpu {cpu_s:.2f} s; {printed}", flush=True)
    for name, values in ratios.items():
        print(
            f"{name}: kafkatx / floor CPU {statistics.median(values):.2f}"
            f" (min {min(values):.2f}, max {max(values):.2f}, {rounds} rounds)"
        )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 3)
