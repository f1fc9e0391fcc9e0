"""Runs the programs of clients that log in, and collects what they report."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.clients.features import (
    FAIL,
    NO_TOOLCHAIN,
    NOT_OFFERED,
    NOT_TRIED,
    PASS,
    TIMED_OUT,
    Outcome,
    Result,
)
from tests.clients.security.broker import SecuredBroker
from tests.clients.security.rows import Row
from tests.clients.security.ways import WAYS
from tests.clients.toolchains import ROOT, NoToolchain, prepare

RECORDS = 50
SESSION_MS = 15_000
TOKEN_S = 30
"""Seconds for which a token is valid where clients log in again; a third of it is between two new ones."""
RATE = 20.0
AGAIN = {"logs in again": "SCRAM-SHA-512", "with new tokens": "OAUTHBEARER"}
"""Columns of clients that produce for longer than a session, and how they log in."""
COLUMNS = (*WAYS, *AGAIN)


def try_row(row: Row, seconds: float) -> Outcome:
    """Try every column; whatever goes wrong is in the outcome.

    :param seconds: how long the client produces where it logs in again; 0: not at all.
    """
    outcome = Outcome(results={name: Result(NOT_TRIED) for name in COLUMNS})
    try:
        prepare(row.toolchain)
    except NoToolchain as missing:
        outcome.results = dict.fromkeys(COLUMNS, Result(NO_TOOLCHAIN, str(missing)))
        return outcome
    except AssertionError as error:  # not built: one row of the table, and the others go on
        outcome.results = dict.fromkeys(COLUMNS, Result(FAIL, str(error)))
        return outcome
    _try_ways(row, outcome)
    if row.steady and seconds:
        _try_again(row, seconds, outcome)
    return outcome


@contextmanager
def _broker(outcome: Outcome, session_ms: int) -> Iterator[SecuredBroker]:
    broker = SecuredBroker(session_ms)
    try:
        broker.start()
        yield broker
        outcome.log += broker.broker.output()
    finally:
        broker.close()


def _try_ways(row: Row, outcome: Outcome) -> None:
    with _broker(outcome, 0) as broker:
        broker.renew_token(3600)
        for way in WAYS:
            if way in row.lacks:
                outcome.results[way] = Result(NOT_OFFERED, row.lacks[way])
                continue
            topic = way.lower()
            broker.new_topic(topic)
            command = [*row.command(), "exchange", broker.file(way), topic, str(RECORDS)]
            try:
                told = _run(command, row.limit_s)
            except AssertionError as error:
                outcome.results[way] = Result(FAIL, str(error))
            else:
                outcome.version = told.get("version", outcome.version)
                outcome.results[way] = Result(PASS if told.get("read") == RECORDS else FAIL)


def _try_again(row: Row, seconds: float, outcome: Outcome) -> None:
    """Try all columns of logins again at the same time, each at a broker of its own."""
    threads = [
        threading.Thread(target=_again, args=(row, name, seconds, outcome))
        for name in AGAIN
        if name not in row.lacks
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in AGAIN.keys() & row.lacks.keys():
        outcome.results[name] = Result(NOT_OFFERED, row.lacks[name])


def _again(row: Row, name: str, seconds: float, outcome: Outcome) -> None:
    way = AGAIN[name]
    try:
        with _broker(outcome, SESSION_MS) as broker, _tokens(broker):
            broker.new_topic("again")
            command = [*row.command(), "produce", broker.file(way), "again", str(seconds), str(RATE)]
            told = _run(command, seconds + row.limit_s)
            outcome.results[name] = judge(told, broker.records("again"), broker.ended_sessions())
    except Exception as error:
        outcome.results[name] = Result(FAIL, f"{type(error).__name__}: {error}")


@contextmanager
def _tokens(broker: SecuredBroker) -> Iterator[None]:
    """Renew the token again and again."""
    stopped = threading.Event()

    def renew() -> None:
        while not stopped.wait(TOKEN_S / 3):
            broker.renew_token(TOKEN_S)

    broker.renew_token(TOKEN_S)
    thread = threading.Thread(target=renew)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def judge(told: dict[str, Any], stored: int, ended: int) -> Result:
    """Return the result of a client that has produced for longer than its sessions.

    :param stored: records in the topic.
    :param ended: connections that the broker has closed because their session had ended.
    """
    sent, acknowledged, errors = (told.get(name) for name in ("sent", "acknowledged", "errors"))
    detail = f"{sent} sent, {acknowledged} acknowledged, {stored} in the topic"
    if errors or not sent or sent != acknowledged or stored < sent:
        return Result(FAIL, f"{detail}; {ended} sessions ended; {errors}")
    if ended:
        return Result(PASS, f"connects again: it does not log in again by itself, and {ended} sessions ended")
    return Result(PASS)


def _run(command: list[str], limit_s: float) -> dict[str, Any]:
    """Run a program; return what its lines tell, together.

    :raises AssertionError: it failed, or took too long.
    """
    with tempfile.TemporaryFile("w+") as noise:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": ROOT},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=noise,
            text=True,
            start_new_session=True,
        )
        try:
            printed, why = process.communicate(timeout=limit_s)[0], f"it ended with {process.returncode}"
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            printed, why = process.communicate()[0], TIMED_OUT.format(limit_s)
        noise.seek(0)
        if process.returncode:
            raise AssertionError(f"{why}\n{noise.read()[-2000:]}")
    return collect(printed)


def collect(printed: str) -> dict[str, Any]:
    """Return what the lines of a program tell, together; a library may print, too."""
    told: dict[str, Any] = {}
    for line in printed.splitlines():
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if isinstance(said, dict):
            told |= said
    return told
