"""Moves of logs between the log dirs of one store, one at a time, in the order of the requests."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

import attrs
from twisted.internet.defer import CancelledError, Deferred, DeferredLock
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces import Workers
from kafkatx.log.files import Files
from kafkatx.log.segment.descriptors import Descriptors
from kafkatx.log.store.log_dir import LogDir
from kafkatx.log.store.moves.relocation import (
    HELD_ROUNDS,
    MOVED_FROM,
    Copy,
    Shape,
    SourceFailed,
    Stopped,
    copy_round,
)
from kafkatx.types import TopicPartition

if TYPE_CHECKING:
    from kafkatx.log.partition.file_log import FileLog

Arrived = Callable[[TopicPartition], None]

RETRY_S = 1.0
"""Delay before the next attempt to switch a log that grew too fast."""


class Entry(Protocol):
    """An open log and its log dir, in the store."""

    log: FileLog
    log_dir: LogDir


@attrs.define(eq=False)
class Move:
    """The move of one log; see ``ILogDir.incoming``."""

    name: TopicPartition
    entries: Mapping[TopicPartition, Entry]
    entry: Entry
    log: FileLog
    source: LogDir
    target: LogDir
    copied_offset: int
    size_bytes: int = 0
    stopped: bool = False
    waiting: Deferred[None] | None = None
    """Fires when the next attempt is due."""

    @property
    def offset_lag(self) -> int:
        """The number of offsets that the copy lacks."""
        return max(self.log.log_end_offset - max(self.copied_offset, self.log.log_start_offset), 0)


class Mover:
    """Runs moves one after the other.

    :ivar moves: under way or waiting, by partition.
    :ivar arrived: called when a log is in its new dir and synced there; the store sets it.
    :param changing: held while logs are made, deleted, or change their dir.
    """

    log = Logger()
    arrived: Arrived

    def __init__(
        self,
        files: Files,
        workers: Workers,
        clock: IReactorTime,
        changing: DeferredLock,
        descriptors: Descriptors,
    ) -> None:
        self._files = files
        self._workers = workers
        self._worker = workers("relocation")
        self._clock = clock
        self._changing = changing
        self._descriptors = descriptors
        self.moves: dict[TopicPartition, Move] = {}
        self._turn = DeferredLock()
        self._running: set[Deferred[None]] = set()

    def relocate(
        self,
        entries: Mapping[TopicPartition, Entry],
        name: TopicPartition,
        log_dirs: Sequence[LogDir],
        path: str,
    ) -> None:
        """Move a log; see ILogStore.

        :param entries: the open logs.
        :raises RequestError: LOG_DIR_NOT_FOUND, KAFKA_STORAGE_ERROR, REPLICA_NOT_AVAILABLE.
        """
        target = next((log_dir for log_dir in log_dirs if log_dir.path == path), None)
        if target is None:
            raise RequestError(ErrorCode.LOG_DIR_NOT_FOUND, f"{path} is none of log.dirs")
        if target.error is not None:
            raise RequestError(ErrorCode.KAFKA_STORAGE_ERROR, f"{path} is offline")
        entry = entries.get(name)
        if entry is None:
            raise RequestError(ErrorCode.REPLICA_NOT_AVAILABLE, f"{name} is in no dir that is online")
        under_way = self.moves.get(name)
        if under_way is not None and under_way.target is target:
            return
        self.stop(name)
        if entry.log_dir is target:
            return
        move = Move(name, entries, entry, entry.log, entry.log_dir, target, entry.log.log_start_offset)
        self.moves[name] = target.incoming[name] = move
        running = Deferred.fromCoroutine(self._run(move))
        self._running.add(running)
        running.addErrback(self._broken, move).addBoth(lambda _: self._running.discard(running))

    def stop(self, name: TopicPartition) -> None:
        """Cancel a move, if there is one; its copy is removed."""
        move = self.moves.pop(name, None)
        if move is not None:
            move.stopped = True
            self._forget(move)
            if move.waiting is not None:
                move.waiting.cancel()

    async def stop_all(self) -> None:
        """Cancel all moves; return when all have ended."""
        for name in list(self.moves):
            self.stop(name)
        for running in list(self._running):
            waiting: Deferred[None] = Deferred()
            running.addBoth(partial(_fire, waiting))
            await waiting

    def _forget(self, move: Move) -> None:
        if move.target.incoming.get(move.name) is move:
            del move.target.incoming[move.name]
        if self.moves.get(move.name) is move:
            del self.moves[move.name]

    def _broken(self, failure: Failure, move: Move) -> None:
        self.log.failure("moving {name} to {path} failed", failure, name=move.name, path=move.target.path)

    def _check(self, move: Move) -> None:
        """Check that the move is to continue.

        :raises Stopped: it was cancelled.
        """
        if move.stopped or move.source.error is not None or move.target.error is not None:
            raise Stopped
        if move.entries.get(move.name) is not move.entry:
            raise Stopped

    async def _run(self, move: Move) -> None:
        await self._turn.acquire()
        copy = Copy(self._files, move.log.directory, move.target.path)
        try:
            self._check(move)
            await self._move(move, copy)
        except Stopped:
            await self._remove(move, copy)
        except OSError as error:
            if isinstance(error, SourceFailed):
                move.source.report(error, f"copying {move.name} from")
            elif not isinstance(error, (FileNotFoundError, FileExistsError)):
                move.target.report(error, f"copying {move.name} to")
            await self._remove(move, copy)
            self.log.error(
                "{name} stays in {source}: copying it to {target} failed: {error}",
                name=move.name,
                source=move.source.path,
                target=move.target.path,
                error=error,
            )
        finally:
            self._forget(move)
            self._turn.release()

    async def _remove(self, move: Move, copy: Copy) -> None:
        if move.source.error is not None:
            self.log.warn("what was copied of {name} is in {path}", name=move.name, path=copy.directory)
        elif move.target.error is None:
            try:
                await self._worker(copy.remove)
            except OSError as error:
                self.log.warn("{path} cannot be removed: {error}", path=copy.directory, error=error)

    async def _move(self, move: Move, copy: Copy) -> None:
        note = os.path.join(move.log.directory, MOVED_FROM)
        await move.source.run(partial(self._forget_note, note), f"moving {move.name} from")
        await self._worker(copy.make)
        self.log.info("moving {name} to {path}", name=move.name, path=move.target.path)
        await self._round(move, copy)
        while not await self._take_over(move, copy):
            await self._pause(move)
            await self._round(move, copy)

    async def _pause(self, move: Move) -> None:
        move.waiting = deferLater(self._clock, RETRY_S)
        try:
            await move.waiting
        except CancelledError:
            raise Stopped from None
        finally:
            move.waiting = None

    def _forget_note(self, note: str) -> None:
        """Remove the note of an earlier move of this log, which could mislead a start. In the worker."""
        if self._files.exists(note):
            self._files.unlink(note)
            self._files.sync_dir(os.path.dirname(note))

    async def _round(self, move: Move, copy: Copy) -> Shape:
        """Copy until the log's files do not change during one round."""
        while True:
            self._check(move)
            shape = Shape.of(move.log)
            try:
                await copy_round(copy, shape, self._worker, partial(self._check, move))
            except FileNotFoundError:
                if move.log.cuts == shape.cuts and tuple(move.log.segments) == shape.segments:
                    raise
                copy.forget()
                continue
            if move.log.cuts != shape.cuts:
                copy.forget()
                continue
            move.size_bytes, move.copied_offset = copy.size_bytes, shape.end_offset
            return shape

    async def _take_over(self, move: Move, copy: Copy) -> bool:
        """Switch the log to the copy; return False if the log grows too fast."""
        changing = self._changing
        await changing.acquire()
        try:
            self._check(move)
            await move.log.hold_flushes()
            try:
                switched = await self._switch(move, copy)
            finally:
                move.log.release_flushes()
            if switched:
                await self._settle(move)
            return switched
        finally:
            move.target.arriving.pop(move.name, None)
            changing.release()

    async def _switch(self, move: Move, copy: Copy) -> bool:
        log, target = move.log, move.target
        target.arriving[move.name] = (
            log  # checkpoints in the target have it before the directory gets its name
        )
        await target.save_offsets()
        for _ in range(HELD_ROUNDS):
            shape = await self._round(move, copy)
            self._check(move)
            if copy.fits(shape, log):
                copy.add_tail(log)
                copy.take_name()
                log.move_to(copy.final, target.worker, target.report)
                reader = self._workers(f"read-ahead {target.path}")
                log.attach(reader, self._descriptors, target.was_cut)
                move.source.logs.pop(move.name, None)
                move.entry.log_dir = target
                target.logs[move.name] = log
                return True
        return False

    async def _settle(self, move: Move) -> None:
        """Sync the log in its new log dir, then put the old directory aside."""
        self._forget(move)
        try:
            await move.log.flush()
            await move.target.save_offsets()
        except OSError:
            return  # the log dir is offline by now; the next start sees by the note which directory is newer
        self.arrived(move.name)
        try:
            doomed = await move.source.run(
                partial(move.source.files.set_moved, move.name), f"putting {move.name} aside in"
            )
        except OSError as error:
            self.log.warn(
                "{name} is in {path} now, but its old directory in {old} cannot be renamed: {error}",
                name=move.name,
                path=move.target.path,
                old=move.source.path,
                error=error,
            )
            return
        move.source.remove_later(doomed, move.log.config.file_delete_delay_ms / 1000)
        note = os.path.join(move.log.directory, MOVED_FROM)
        await move.target.run(partial(self._forget_note, note), f"moving {move.name} to")
        self.log.info("{name} is in {path} now", name=move.name, path=move.target.path)


def _fire(waiting: Deferred[None], _: object) -> None:
    waiting.callback(None)
