"""The process that makes inspections: ``python -m kafkatx.registry.inspector_process``.

Its standard input has an inspection a line, and is closed when the broker dies or needs it no more. Its
standard output has the answer to each, a line, in order. It knows no Twisted. An inspection that needs more
than :data:`MOST_BYTES` of memory is refused, or ends the process: then the next one starts another.
"""

from __future__ import annotations

import contextlib
import sys

from kafkatx.errors import KafkaTXError
from kafkatx.registry.inspection import Inspected, decode_inspection, encode_inspected, inspect
from kafkatx.schemas.engines import engine
from kafkatx.schemas.types import InvalidSchema

MOST_BYTES = 2 << 30
"""The address space that the process may use."""


def answer(line: bytes) -> bytes:
    """Return the answer to an inspection; no schema can make this fail, as far as Python can help it."""
    try:
        found: Inspected | KafkaTXError = inspect(decode_inspection(line), engine)
    except KafkaTXError as error:
        found = error
    except RecursionError:
        found = InvalidSchema("the schema is nested too deeply")
    except MemoryError:
        found = InvalidSchema("the schema needs too much memory")
    except Exception as error:
        found = InvalidSchema(f"the schema cannot be understood: {type(error).__name__}: {error}")
    return encode_inspected(found)


def _limit_memory() -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource  # not everywhere

        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    """Answer inspections until standard input ends."""
    _limit_memory()
    out = sys.stdout.buffer
    for line in sys.stdin.buffer:
        out.write(answer(line))
        out.flush()


if __name__ == "__main__":
    main()
