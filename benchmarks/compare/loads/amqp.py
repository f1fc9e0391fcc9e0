"""The C program ``amqp.c``: RabbitMQ's C client (librabbitmq) at full speed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache

from benchmarks.compare.loads.build import BUILT, HERE, built


@lru_cache(maxsize=1)
def program() -> str:
    """The path of the program, built if it is not newer than its source.

    :raises NotBuilt: a compiler or librabbitmq is not installed.
    """
    source, target = os.path.join(HERE, "amqp.c"), os.path.join(BUILT, "amqp")
    return built(source, target, ["cc", "-O2", "-o", target, source, "-lrabbitmq"], "gcc librabbitmq-dev")


def command(port: int, arguments: Sequence[object]) -> list[str]:
    """The command of a load.

    :param arguments: the mode, the queue, counts: as ``amqp.c`` says.
    :raises NotBuilt: as :func:`program`.
    """
    return [program(), *map(str, arguments), f"port={port}"]
