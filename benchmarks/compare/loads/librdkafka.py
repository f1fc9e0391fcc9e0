"""The C program ``load.c``: librdkafka at full speed."""

from __future__ import annotations

import glob
import importlib.util
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache

from benchmarks.compare.loads.build import BUILT, HERE, NotBuilt, built

COMPILER, PACKAGES = "cc", "gcc librdkafka-dev"


@lru_cache(maxsize=1)
def program() -> str:
    """The path of the program, built if it is not newer than its source; with Debian's librdkafka, if there.

    :raises NotBuilt: a compiler or librdkafka is not installed.
    """
    try:
        return _linked("load", ["-lrdkafka"])
    except NotBuilt:
        if not _bundled():
            raise
        return bundled_program()


@lru_cache(maxsize=1)
def bundled_program() -> str:
    """The same with the librdkafka inside of confluent-kafka: newer, and somewhat dearer.

    :raises NotBuilt: a compiler or confluent-kafka is not installed.
    """
    return _linked("load-bundled", _bundled() or ["-lrdkafka"])


def _linked(name: str, library: Sequence[str]) -> str:
    source, target = os.path.join(HERE, "load.c"), os.path.join(BUILT, name)
    return built(source, target, [COMPILER, "-O2", "-o", target, source, *library, "-lpthread"], PACKAGES)


def _bundled() -> list[str]:
    package = importlib.util.find_spec("confluent_kafka")
    for folder in (package.submodule_search_locations or ()) if package else ():
        for library in glob.glob(f"{folder}.libs/librdkafka*.so*"):
            return [library, f"-Wl,-rpath,{os.path.dirname(library)}", "-Wl,--allow-shlib-undefined"]
    return []


def command(
    port: int, arguments: Sequence[object], properties: Mapping[str, object], bundled: bool = False
) -> list[str]:
    """The command of a load.

    :param arguments: the mode, the topic, counts: as ``load.c`` says.
    :param properties: librdkafka's, and ``load.c``'s own.
    :param bundled: take confluent-kafka's librdkafka.
    :raises NotBuilt: as :func:`program`.
    """
    given = [f"{name}={value}" for name, value in properties.items()]
    path = bundled_program() if bundled else program()
    return [path, *map(str, arguments), f"bootstrap.servers=127.0.0.1:{port}", *given]
