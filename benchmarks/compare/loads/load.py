"""A load as it runs: a program that prints what it measured as a line of JSON."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence

MOST_S = 600


def begin(core: int | None, command: Sequence[str]) -> subprocess.Popen[str]:
    """Start a load.

    :param core: what it runs on; None: wherever.
    """
    pinned = ["taskset", "--cpu-list", str(core)] if core is not None else []
    return subprocess.Popen([*pinned, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end(load: subprocess.Popen[str]) -> Mapping[str, float]:
    """Wait for a load and return its figures by the names that ``load.c`` prints.

    :raises RuntimeError: it failed, or messages were lost.
    """
    try:
        printed, told = load.communicate(timeout=MOST_S)
    except subprocess.TimeoutExpired:
        load.kill()
        load.communicate()
        raise RuntimeError(f"a load did not end within {MOST_S} s") from None
    if load.returncode:
        raise RuntimeError(told.strip()[-500:])
    measured: dict[str, float] = json.loads(printed)
    if measured["errors"]:
        raise RuntimeError(f"{measured['errors']} messages were lost")
    return measured
