"""The Python that a local Spark starts its workers with. Touches the file system: one temporary directory.

Spark gives the process of a stream's reader 10 s to connect, and no setting changes that. The process
connects after it has imported PySpark, and Spark puts ``pyspark.zip`` first on its ``PYTHONPATH``, so that
each process compiles PySpark from source. That takes 1.3 s of CPU time, which may be more than a busy machine
gives a process in 10 s.

The script made here starts the same Python with the driver's own PySpark, which is compiled, ahead of the zip
file (0.3 s), and has :mod:`kafkatx.spark.worker_start` connect before anything is imported.
"""

from __future__ import annotations

import os
import shlex
import sys
from functools import cache

from kafkatx.scratch import Scratch
from kafkatx.spark import worker_start

SCRIPT = """\
#!/bin/sh
export PYTHONPATH={folder}${{PYTHONPATH:+:$PYTHONPATH}}
if [ "$1" = -m ] && [ -n "$PYTHON_WORKER_FACTORY_PORT" ] && [ -n "$PYTHON_WORKER_FACTORY_SECRET" ]; then
    shift
    exec {python} {start} "$@"
fi
exec {python} "$@"
"""


def worker_python() -> str:
    """Return the path of a local Spark's ``PYSPARK_PYTHON`` and ``PYSPARK_DRIVER_PYTHON``.

    It is a script in a directory that lasts as long as this process, as its JVM does; or ``sys.executable``
    where a script cannot help: PySpark is in a zip file, or the temporary directory allows no scripts.
    """
    package = _pyspark_folder()
    if package is None or not os.access("/bin/sh", os.X_OK):
        return sys.executable
    script = write_script(_process_scratch().path, package)
    return script if os.access(script, os.X_OK) else sys.executable  # False where /tmp is mounted noexec


@cache
def _process_scratch() -> Scratch:
    """Return the directory of this process; it is removed when the process ends."""
    return Scratch()


def _pyspark_folder() -> str | None:
    """Return the directory of the PySpark that this process imports.

    None if it is in a zip file, or connects by another function than the one that is replaced.
    """
    import pyspark.util

    folder = os.path.dirname(pyspark.__file__)
    known = hasattr(pyspark.util, "local_connect_and_auth")
    return folder if known and os.path.isdir(folder) else None


def write_script(folder: str, package: str) -> str:
    """Write the script ``python`` and a link to the *package* into *folder*; return the script's path.

    :raises OSError: the folder cannot be written to.
    """
    script = os.path.join(folder, "python")
    if not os.path.exists(script):
        modules = os.path.join(folder, "modules")
        os.mkdir(modules)
        os.symlink(package, os.path.join(modules, os.path.basename(package)))
        with open(script, "w", encoding="utf-8") as file:
            file.write(
                SCRIPT.format(
                    folder=shlex.quote(modules),
                    python=shlex.quote(sys.executable),
                    start=shlex.quote(worker_start.__file__),
                )
            )
        os.chmod(script, 0o700)
    return script
