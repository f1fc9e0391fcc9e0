"""``python -m tests.cluster``: a cluster under faults for some minutes, and the check of what clients saw."""

from __future__ import annotations

import argparse
import random
import signal
import sys
from collections.abc import Sequence

from tests.cluster.copies import COPIES
from tests.cluster.faults import ALL, DISKS
from tests.cluster.network.namespaces import NamespaceNetwork
from tests.cluster.network.proxies import ProxyNetwork
from tests.cluster.operations import OPERATIONS
from tests.cluster.revocation import SECURE
from tests.cluster.run import Run, clients_errors, report
from tests.cluster.workload import RATE


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; print progress and a report; return 0 if nothing was found."""
    known = {fault.__name__: fault for fault, _ in (*ALL, *OPERATIONS, *COPIES, *DISKS, *SECURE)}
    parser = argparse.ArgumentParser("python -m tests.cluster", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="minutes of faults (default: 60)")
    parser.add_argument("--seed", type=int, default=None, help="seed of the faults (default: a new one)")
    parser.add_argument("--zookeepers", type=int, default=3, help="number of ZooKeeper servers (default: 3)")
    parser.add_argument("--copies", type=int, default=3, help="replicas of a partition (default: 3)")
    parser.add_argument("--faults", default="", help=f"kinds, with commas between: {', '.join(known)}")
    parser.add_argument(
        "--namespaces",
        action="store_true",
        help="use network namespaces and blackhole routes rather than proxies (root)",
    )
    parser.add_argument("--secure", action="store_true", help="use TLS and logins everywhere")
    parser.add_argument("--alone", action="store_true", help="do one fault at a time")
    parser.add_argument("--rate", type=float, default=RATE, help=f"records/s of each producer ({RATE:g})")
    options = parser.parse_args(arguments)
    seed = random.randrange(1_000_000) if options.seed is None else options.seed
    wanted = [(known[name], 1) for name in options.faults.split(",") if name] or None

    def say(text: str) -> None:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # brokers and ZooKeeper are stopped then
    say(f"seed {seed}, {options.minutes:g} minutes")
    run = Run(
        NamespaceNetwork() if options.namespaces else ProxyNetwork(),
        options.minutes * 60,
        seed,
        say,
        zookeepers=options.zookeepers,
        copies=options.copies,
        faults=wanted,
        alone=options.alone,
        rate=options.rate,
        secure=options.secure,
    )
    outcome = run.run()
    for line in report(outcome, clients_errors(run)):
        say(line)
    return 0 if outcome.clean else 1


if __name__ == "__main__":
    sys.exit(main())
