"""A store's cleaner, made before the first pass, so that a start does not import it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from kafkatx.interfaces import Workers
from kafkatx.log.files import Files

if TYPE_CHECKING:
    from kafkatx.log.cleaner.log_cleaner import LogCleaner
    from kafkatx.log.cleaner.passes import Memory, Run
    from kafkatx.log.partition.file_log import FileLog


class StoreSettings(Protocol):
    """The settings of a store; ``kafkatx.config.BrokerConfig`` is one."""

    def get(self, name: str) -> Any:
        """Return the value of a setting by its name."""


class LazyCleaner:
    """Compacts one log after the other.

    :param run_pass: makes the passes; None: a separate process does.
    """

    def __init__(self, config: StoreSettings, workers: Workers, files: Files, run_pass: Run | None) -> None:
        self._config = config
        self._workers = workers
        self._files = files
        self._run_pass = run_pass
        self._cleaner: LogCleaner | None = None

    def reconfigure(self, config: StoreSettings) -> None:
        """Use the memory settings of *config* for the next pass."""
        self._config = config
        if self._cleaner is not None:
            self._cleaner.memory = self._memory()

    async def clean_one(self, logs: Sequence[FileLog], now_ms: int) -> FileLog | None:
        """Compact the log that needs it most; return it, None if no log needs it."""
        if self._cleaner is None:
            self._cleaner = self._make_cleaner()
        return await self._cleaner.clean_one(logs, now_ms)

    async def stop(self) -> None:
        """Stop the pass that is under way."""
        if self._cleaner is not None:
            await self._cleaner.stop()

    def _make_cleaner(self) -> LogCleaner:
        from kafkatx.log.cleaner.log_cleaner import LogCleaner
        from kafkatx.log.cleaner.process import CleanerProcess

        process = CleanerProcess()
        run = self._run_pass or process.run
        return LogCleaner(self._files, self._workers("cleaner"), self._memory(), run, process.stop)

    def _memory(self) -> Memory:
        from kafkatx.log.cleaner.passes import Memory

        return Memory(
            self._config.get("log.cleaner.dedupe.buffer.size"),
            self._config.get("log.cleaner.io.buffer.load.factor"),
        )
