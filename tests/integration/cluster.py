"""A Spark cluster on this machine whose workers do not have kafkatx: a master, two workers, an executor each.

``local-cluster[2,1,1024]`` is Spark's own test mode: executors are processes, started by a master and workers
that are real but for being in the driver's JVM. Their Python has all that kafkatx needs but kafkatx itself,
which comes to them as ``--py-files`` would bring it. On the driver it is in ``PYTHONPATH``, as
``docs/spark-cluster.md`` has it.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import sys
import tempfile
import venv
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyspark

from kafkatx.spark import KafkaSource
from kafkatx.spark.session import spark_session

ROOT = Path(__file__).resolve().parent.parent.parent
MASTER = "local-cluster[2,1,1024]"
# The executors live for seconds: what the JVM's second compiler would do for them it would not finish.
_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": _JAVA,
    "spark.executor.memory": "512m",
    "spark.executorEnv.PYTHONPATH": "",  # that of the driver's machine, as it would be elsewhere
    "spark.executor.extraJavaOptions": _JAVA,
}


@lru_cache(maxsize=1)
def shared_cluster() -> Any:
    """The session, started by the first who asks and stopped when the tests end."""
    stack = ExitStack()
    atexit.register(stack.close)
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kafkatx-cluster-")))
    os.environ["PYSPARK_PYTHON"] = str(python_without_kafkatx(folder / "python"))
    os.environ["PYTHONPATH"] = archive = str(zipped(folder / "kafkatx.zip"))
    settings = {**_SETTINGS, "spark.submit.pyFiles": archive}
    applications: list[str] = []
    stack.callback(_forget_work, applications)
    session = stack.enter_context(spark_session(str(folder / "spark.log"), MASTER, "cluster", settings))
    applications.append(session.sparkContext.applicationId)
    session.dataSource.register(KafkaSource)
    return session


def zipped(path: Path) -> Path:
    """kafkatx as one file: what a wheel has in it."""
    with zipfile.ZipFile(path, "w") as archive:
        for package in ("kafkatx", "pyspark_kafkatx"):
            for file in sorted((ROOT / package).rglob("*.py")):
                archive.write(file, file.relative_to(ROOT))
    return path


def python_without_kafkatx(folder: Path) -> Path:
    """A Python that has the packages of this one but those that are installed as a link, as kafkatx is."""
    venv.create(folder, symlinks=True, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    # A path file in a folder that comes from a path file is not read.
    paths = [path for path in sys.path if Path(path).name == "site-packages"]
    (packages / "others.pth").write_text("\n".join(paths))
    return folder / "bin" / "python"


def executors() -> list[int]:
    """The pids of the executors' JVMs."""
    return [pid for pid in _below(os.getpid()) if "CoarseGrainedExecutorBackend" in _command(pid)]


def python_workers(executor: int) -> list[int]:
    """The pids of an executor's Python workers: children of its Python daemon, which waits for orders."""
    return [worker for daemon in _children(executor) for worker in _children(daemon)]


def kill(pid: int) -> None:
    """Kill it with ``kill -9`` if it has not ended yet."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _below(pid: int) -> Iterator[int]:
    """The descendants of a process."""
    for child in _children(pid):
        yield child
        yield from _below(child)


def _children(pid: int) -> list[int]:
    """Those of all threads of a process; none if it has ended."""
    found: list[int] = []
    for file in Path("/proc", str(pid), "task").glob("*/children"):
        with suppress(OSError):
            found += map(int, file.read_text().split())
    return found


def _command(pid: int) -> str:
    try:
        return Path("/proc", str(pid), "cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def _forget_work(applications: list[str]) -> None:
    """Remove what the executors have left in Spark's own folder, where this mode lets them work."""
    work = Path(pyspark.__file__).parent / "work"
    for application in applications:
        shutil.rmtree(work / application, ignore_errors=True)
    if work.is_dir() and not any(work.iterdir()):
        work.rmdir()
