"""Building the programs that load: when they are first needed, into a folder that git ignores."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
BUILT = os.path.join(ROOT, ".interop", "bench")


class NotBuilt(Exception):
    """A program cannot be built here."""


def built(source: str, target: str, command: Sequence[str], packages: str) -> str:
    """The path of what a command makes, made if it is not newer than its source.

    :param packages: what Debian calls that which is needed.
    :raises NotBuilt: a compiler or a library is not installed.
    """
    if os.path.exists(target) and os.path.getmtime(target) > os.path.getmtime(source):
        return target
    hint = f"on Debian: apt-get install {packages}"
    if shutil.which(command[0]) is None:
        raise NotBuilt(f"there is no {command[0]}; {hint}")
    os.makedirs(BUILT, exist_ok=True)
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        told = " ".join(done.stderr.split())[-500:]
        raise NotBuilt(f"{hint}; {' '.join(command)}: {told}")
    return target
