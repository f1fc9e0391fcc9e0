"""Run the proof of exactly-once counts.

    python -m tests.streams [--minutes M] [--kills N] [--rate LINES] [--seed N] [--version KAFKA]
        [--broker kafkatx|apache-4] [--guarantee exactly_once_v2|at_least_once]

It ends with exit status 0 and ``proof: every word was counted exactly once``, or with an error that says
which was not: ``--guarantee at_least_once`` shows that it can.
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.streams.instance import Application
from tests.streams.run import Run


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(prog="python -m tests.streams")
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--kills", type=int, default=5, help="kills of instances, and as many of the broker")
    parser.add_argument("--rate", type=float, default=200.0, help="lines a second")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--version", default="4.3.1", help="version of Kafka Streams")
    parser.add_argument("--broker", default="kafkatx")
    parser.add_argument("--guarantee", default="exactly_once_v2", help="processing.guarantee")
    given = parser.parse_args()
    begun_s = time.monotonic()

    def tell(line: str) -> None:
        sys.stdout.write(f"{time.monotonic() - begun_s:7.1f} s  {line}\n")
        sys.stdout.flush()

    application = Application(given.version, given.guarantee)
    Run(given.broker, application, given.minutes, given.kills, given.rate, given.seed, tell).run()
    tell("proof: every word was counted exactly once")
    return 0


if __name__ == "__main__":
    sys.exit(main())
