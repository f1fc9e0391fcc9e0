"""Run the proof of exactly-once copies.

    python -m tests.copiers [--clients "NAME..."] [--minutes 10] [--brokers 1|3] [--members 2] [--rate 30]
        [--seed 1]

It ends with exit status 0 and ``proof: every record was copied once``, or with 1 and what is wrong.
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.copiers.brokers import OneBroker, ThreeBrokers
from tests.copiers.rows import ROWS
from tests.copiers.run import Run


def main() -> int:
    """Run it."""
    known = {row.name: row for row in ROWS}
    parser = argparse.ArgumentParser(prog="python -m tests.copiers")
    parser.add_argument("--clients", default="", help=f"names with blanks between: {' '.join(known)}")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--brokers", type=int, choices=(1, 3), default=1)
    parser.add_argument(
        "--members", type=int, default=2, help="copiers of a group, where the client allows it"
    )
    parser.add_argument("--rate", type=float, default=30.0, help="records per second of each input")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    unknown = set(given.clients.split()) - known.keys()
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    begun_s = time.monotonic()

    def tell(line: str) -> None:
        sys.stdout.write(f"{time.monotonic() - begun_s:7.1f} s  {line}\n")
        sys.stdout.flush()

    rows = [known[name] for name in given.clients.split()] or ROWS
    brokers = OneBroker() if given.brokers == 1 else ThreeBrokers()
    names = " ".join(row.name for row in rows)
    tell(f"{given.brokers} brokers, {given.minutes:g} minutes, seed {given.seed}: {names}")
    if not Run(rows, brokers, given.minutes, given.rate, given.members, given.seed, tell).run():
        return 1
    tell("proof: every record was copied once")
    return 0


if __name__ == "__main__":
    sys.exit(main())
