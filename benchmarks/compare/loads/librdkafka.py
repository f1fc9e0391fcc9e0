"""The C program ``load.c``: librdkafka at full speed."""

from __future__ import annotations

import glob
import importlib.util
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache

from benchmarks.compare.loads.building import BUILT, HERE, NotBuilt, built


@lru_cache(maxsize=1)
def program() -> str:
    """The path of the program, built if it is not newer than its source.

    :raises NotBuilt: a compiler or librdkafka is not installed.
    """
    source, target = os.path.join(HERE, "load.c"), os.path.join(BUILT, "load")
    command, packages = ["cc", "-O2", "-o", target, source], "gcc librdkafka-dev"
    try:
        return built(source, target, [*command, "-lrdkafka", "-lpthread"], packages)
    except NotBuilt:
        bundled = _bundled()
        if not bundled:
            raise
        return built(source, target, [*command, *bundled, "-lpthread"], packages)


def _bundled() -> list[str]:
    """How to link the librdkafka inside of confluent-kafka, which costs a tenth more than Debian's."""
    package = importlib.util.find_spec("confluent_kafka")
    for folder in (package.submodule_search_locations or ()) if package else ():
        for library in glob.glob(f"{folder}.libs/librdkafka*.so*"):
            return [library, f"-Wl,-rpath,{os.path.dirname(library)}", "-Wl,--allow-shlib-undefined"]
    return []


def command(port: int, arguments: Sequence[object], properties: Mapping[str, object]) -> list[str]:
    """The command of a load.

    :param arguments: the mode, the topic, counts: as ``load.c`` says.
    :param properties: librdkafka's, and ``load.c``'s own.
    :raises NotBuilt: as :func:`program`.
    """
    given = [f"{name}={value}" for name, value in properties.items()]
    return [program(), *map(str, arguments), f"bootstrap.servers=127.0.0.1:{port}", *given]
