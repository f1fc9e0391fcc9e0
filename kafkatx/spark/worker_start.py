"""The start of a Spark worker: connect to the JVM first, then import PySpark and run the worker's module.

Run as a program by the script of :mod:`kafkatx.spark.worker_python`; imports nothing but the standard library
before it has connected. The JVM gives a process 10 s to connect and 10 s more to send the secret. Both are
done within milliseconds here; PySpark itself connects after its imports, which take longer on a busy machine.

The exchange is that of Spark's SocketAuthHelper: the secret from the worker, then ``ok`` from the JVM, each
after its length as four bytes, big-endian.
"""

from __future__ import annotations

import os
import runpy
import socket
import struct
import sys
from collections.abc import Callable
from io import BufferedRWPair

TIMEOUT_S = 120.0

Connection = tuple[BufferedRWPair, socket.socket]
Connect = Callable[["int | str | None", "str | None"], Connection]


def main() -> None:
    """Connect, then run the module that the command line names as ``python -m`` does."""
    module = sys.argv.pop(1)
    sys.path[0] = os.getcwd()
    connected = connect(
        int(os.environ["PYTHON_WORKER_FACTORY_PORT"]), os.environ["PYTHON_WORKER_FACTORY_SECRET"]
    )
    import pyspark.util

    pyspark.util.local_connect_and_auth = reusing(connected, pyspark.util.local_connect_and_auth)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def connect(port: int, secret: str) -> Connection:
    """Connect to the JVM and send the secret; its answer is not awaited.

    :raises OSError: the JVM does not listen any more.
    """
    host = "::1" if os.environ.get("SPARK_PREFER_IPV6", "false").lower() == "true" else "127.0.0.1"
    connection = socket.create_connection((host, port), TIMEOUT_S)
    encoded = secret.encode()
    connection.sendall(struct.pack("!i", len(encoded)) + encoded)
    return connection.makefile("rwb"), connection


def reusing(connected: Connection, connect_anew: Connect) -> Connect:
    """Return a replacement for PySpark's function that returns *connected* the first time.

    :param connect_anew: PySpark's own, for further calls.
    """
    unused = [connected]

    def local_connect_and_auth(where: int | str | None, secret: str | None) -> Connection:
        """Return a connection to the JVM that has accepted the secret.

        :raises ConnectionError: the JVM has refused it.
        """
        if not unused:
            return connect_anew(where, secret)
        file, connection = unused.pop()
        (length,) = struct.unpack("!i", file.read(4))
        answer = file.read(length)
        if answer != b"ok":
            raise ConnectionError(f"the JVM answers {answer!r} to the worker's secret, not ok")
        return file, connection

    return local_connect_and_auth


if __name__ == "__main__":
    main()
