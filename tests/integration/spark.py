"""One Spark for all integration tests: a process can have only one JVM, and it takes seconds to start."""

from __future__ import annotations

import atexit
import os
import tempfile
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from typing import Any

from kafkatx.spark.session import spark_session

ROOT = Path(__file__).resolve().parent.parent.parent


@lru_cache(maxsize=1)
def shared_spark() -> Any:
    """The session, started by the first who asks and stopped when the tests end. It finds this very tree."""
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    stack = ExitStack()
    session = stack.enter_context(spark_session(str(spark_log())))
    atexit.register(stack.close)
    return session


@lru_cache(maxsize=1)
def spark_log() -> Path:
    """The file that Spark and its Python workers write to, warnings of the source among it."""
    folder = tempfile.TemporaryDirectory(prefix="kafkatx-spark-")
    atexit.register(folder.cleanup)
    return Path(folder.name) / "spark.log"
