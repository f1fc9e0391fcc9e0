"""Run the proof of exact mirrors.

    python -m tests.links [--source kafkatx|apache-4|apache-3.9] [--records N] [--minutes M] [--kills N]
        [--seed N]

It ends with exit status 0 and ``proof: everything is equal``, or with an error that says what is not.
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.links.run import Run


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(prog="python -m tests.links")
    parser.add_argument("--source", default="apache-4")
    parser.add_argument("--records", type=int, default=5_000_000)
    parser.add_argument("--minutes", type=float, default=6.0)
    parser.add_argument("--kills", type=int, default=10, help="kills of each end")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    begun_s = time.monotonic()

    def tell(line: str) -> None:
        sys.stdout.write(f"{time.monotonic() - begun_s:7.1f} s  {line}\n")
        sys.stdout.flush()

    Run(given.source, given.records, given.minutes, given.kills, given.seed, tell).run()
    tell("proof: everything is equal")
    return 0


if __name__ == "__main__":
    sys.exit(main())
