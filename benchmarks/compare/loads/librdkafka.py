"""The C program ``load.c``: librdkafka at full speed."""

from __future__ import annotations

import glob
import importlib.util
import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import lru_cache

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
BUILT = os.path.join(ROOT, ".interop", "bench")
MOST_S = 600


class NotBuilt(Exception):
    """The program cannot be built here."""


@lru_cache(maxsize=1)
def program() -> str:
    """The path of the program, built if it is not newer than its source.

    :raises NotBuilt: a compiler or librdkafka is not installed.
    """
    source, built = os.path.join(HERE, "load.c"), os.path.join(BUILT, "load")
    if os.path.exists(built) and os.path.getmtime(built) > os.path.getmtime(source):
        return built
    if shutil.which("cc") is None:
        raise NotBuilt("no C compiler; on Debian: apt-get install gcc librdkafka-dev")
    os.makedirs(BUILT, exist_ok=True)
    command = ["cc", "-O2", "-o", built, source, *_library(), "-lpthread"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise NotBuilt(
            f"{' '.join(command)}: {done.stderr[-500:]} (on Debian: apt-get install librdkafka-dev)"
        )
    return built


def _library() -> list[str]:
    """How to link librdkafka: the one inside of confluent-kafka, which is newer than most systems' own."""
    package = importlib.util.find_spec("confluent_kafka")
    for folder in (package.submodule_search_locations or ()) if package else ():
        for library in glob.glob(f"{folder}.libs/librdkafka*.so*"):
            return [library, f"-Wl,-rpath,{os.path.dirname(library)}", "-Wl,--allow-shlib-undefined"]
    return ["-lrdkafka"]


def begin(
    core: int | None, port: int, arguments: Sequence[object], properties: Mapping[str, object]
) -> subprocess.Popen[str]:
    """Start a load.

    :param arguments: the mode, the topic, counts: as ``load.c`` says.
    :param properties: librdkafka's, and ``load.c``'s own.
    """
    pinned = ["taskset", "--cpu-list", str(core)] if core is not None else []
    given = [f"{name}={value}" for name, value in properties.items()]
    command = [*pinned, program(), *map(str, arguments), f"bootstrap.servers=127.0.0.1:{port}", *given]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end(load: subprocess.Popen[str]) -> Mapping[str, float]:
    """What a load measured.

    :raises RuntimeError: it failed, or messages were lost.
    """
    try:
        printed, told = load.communicate(timeout=MOST_S)
    except subprocess.TimeoutExpired:
        load.kill()
        raise RuntimeError(f"a load did not end within {MOST_S} s") from None
    if load.returncode:
        raise RuntimeError(told.strip()[-500:])
    measured: dict[str, float] = json.loads(printed)
    if measured["errors"]:
        raise RuntimeError(f"{measured['errors']} messages were lost")
    return measured
