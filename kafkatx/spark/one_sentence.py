"""Errors of the data source as one sentence.

Spark shows an error of a Python worker with its traceback, unless the worker's environment says otherwise.
The message of a :class:`~kafkatx.errors.KafkaTXError` says all that its reader needs; other errors are bugs
and keep their traceback. Touches the environment of this process, if it is a worker: a worker ends with the
first error that it reports, so no other error is hidden.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from kafkatx.clientcore.errors import START_OR_NAME_A_BROKER, ConnectionFailed
from kafkatx.errors import KafkaTXError

HIDE_TRACEBACK = "SPARK_HIDE_TRACEBACK"
ADVICE = "start one, or name another in the option kafka.bootstrap.servers"
_OF_WORKERS = (
    "PYTHON_WORKER_FACTORY_SECRET",
    "PYTHON_WORKER_FACTORY_SOCK_DIR",
    "PYTHON_WORKER_FACTORY_SOCK_PATH",
)


@contextmanager
def one_sentence() -> Iterator[None]:
    """Make Spark show an error of kafkatx by its message alone. Also a decorator, but not of generators.

    :raises KafkaTXError: the error; its advice is for users of Spark.
    """
    try:
        yield
    except KafkaTXError as error:
        _hide_traceback()
        if START_OR_NAME_A_BROKER not in str(error):
            raise
        raise ConnectionFailed(str(error).replace(START_OR_NAME_A_BROKER, ADVICE)) from error


def _hide_traceback() -> None:
    if any(name in os.environ for name in _OF_WORKERS):
        os.environ[HIDE_TRACEBACK] = "1"
