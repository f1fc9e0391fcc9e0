"""Instructions that a request takes, counted by valgrind: the same number whatever else the machine does.

What N requests take is the difference between two runs, one with twice as many of them: starting up, and
what the other loads take, cancel each other out. Only what the process itself executes is counted, not the
kernel.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence

from benchmarks.guard.broker import blaming, check_tree, environment
from benchmarks.guard.loads import Load, filling, is_success

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "in_process.py")
# cachegrind counts as callgrind does, in half the time, and no caches are asked for
VALGRIND = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
COUNTED = re.compile(r"I\s+refs:\s+([\d,]+)")
MOST_S = 120

Counts = dict[str, dict[str, float]]
"""For each load and each tree's name the instructions that a request takes."""


def missing() -> str | None:
    """Return the reason why nothing can be counted here, or None."""
    return (
        None if shutil.which("valgrind") else "valgrind is not installed; on Debian: apt-get install valgrind"
    )


def counted(told: str) -> int:
    """The instructions of a run, as valgrind tells them.

    :raises RuntimeError: it does not.
    """
    found = COUNTED.search(told)
    if found is None:
        raise RuntimeError(f"valgrind counted nothing: {told.strip()[-500:]}")
    return int(found[1].replace(",", ""))


class Run:
    """A run of the broker without a reactor, of one tree's code, that goes on until :meth:`end`."""

    def __init__(
        self, tree: str, folder: str, prefix: Sequence[str], loads: Sequence[Load], doubled: str = ""
    ) -> None:
        os.makedirs(folder)
        arguments = []
        for number, load in enumerate(loads):
            with open(os.path.join(folder, str(number)), "wb") as file:
                file.write(load.request)
            sends = load.sends * 2 if load.name == doubled else load.sends
            arguments.append(f"{number}={load.a_send}x{sends}")
        self._tree, self._folder, self._loads = tree, folder, loads
        self._process = subprocess.Popen(
            [*prefix, sys.executable, PROGRAM, folder, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment(tree)},
            cwd=tree,
        )

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        shutil.rmtree(self._folder, ignore_errors=True)

    def end(self) -> str:
        """Wait for it, and see that it ran the tree's code and that all went well; gives what it was told of.

        :raises RuntimeError: it failed.
        :raises WrongTree: it ran other code.
        """
        try:
            printed, told = self._process.communicate(timeout=MOST_S)
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"it did not end within {MOST_S} s") from None
        if self._process.returncode:
            raise RuntimeError(told.strip()[-500:])
        document = json.loads(printed)
        check_tree(document["files"], self._tree)
        for number, load in enumerate(self._loads):
            if not is_success(load.request, bytes.fromhex(document["replies"][str(number)])):
                raise RuntimeError(f"{load.name}: answered with an error")
        return told


def measure(
    trees: Mapping[str, str], loads: Sequence[Load], folder: str, tell: Callable[[str], None]
) -> Counts:
    """Count for each load and tree; the trees at the same time, for it makes no difference.

    :raises CannotRun: a tree's broker cannot be run this way.
    :raises WrongTree: other code was run.
    """
    every = [filling(), *loads]
    _run(trees, folder, (), every)  # what this compiles and caches, the others find
    tell("instructions: of all loads")
    plain = _run(trees, folder, VALGRIND, every)
    counts: Counts = {}
    for load in loads:
        tell(f"instructions: {load.name}")
        twice = _run(trees, folder, VALGRIND, every, load.name)
        counts[load.name] = {
            name: (counted(twice[name]) - counted(plain[name])) / load.requests for name in trees
        }
    return counts


def _run(
    trees: Mapping[str, str], folder: str, prefix: Sequence[str], loads: Sequence[Load], doubled: str = ""
) -> dict[str, str]:
    """A run of each tree."""
    told: dict[str, str] = {}
    running: dict[str, Run] = {}
    try:
        for name, tree in trees.items():
            running[name] = Run(tree, os.path.join(folder, f"{name}-counted"), prefix, loads, doubled)
        for name, run in running.items():
            with blaming(name):
                told[name] = run.end()
    finally:
        for run in running.values():
            run.__exit__()
    return told
