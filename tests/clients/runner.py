"""Runs the scenario of a client against a fresh broker, and collects what it reports."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence

from tests.clients import groups
from tests.clients.brokers import ApacheBroker, Broker, OurBroker, OurCluster, offered
from tests.clients.features import (
    FAIL,
    FEATURES,
    MEMBERS,
    NO_TOOLCHAIN,
    NOT_OFFERED,
    NOT_TRIED,
    PASS,
    TIMED_OUT,
    Outcome,
    Result,
)
from tests.clients.matrix import Client
from tests.clients.toolchains import ROOT, NoToolchain, prepare

_TRANSACTIONS = {24, 26}
"""AddPartitionsToTxn and EndTxn: a broker without these has no transactions."""


def try_client(
    client: Client, broker_kind: str = "kafkatx", brokers: int = 1, features: Sequence[str] = tuple(FEATURES)
) -> Outcome:
    """Run a client's scenario against a broker of its own; whatever goes wrong is in the outcome.

    :param brokers: number of brokers of the cluster, if it is kafkatx.
    :param features: those that are tried.
    """
    try:
        prepare(client.toolchain)
        if broker_kind == "apache":
            prepare(f"java-{client.control}")
        return _try_with_broker(client, _make_broker(client, broker_kind, brokers), features)
    except NoToolchain as missing:
        return Outcome(results={name: Result(NO_TOOLCHAIN, str(missing)) for name in features})
    except Exception as error:  # not built, no broker: one row of the table, and the others go on
        return Outcome(results={name: Result(FAIL, f"{type(error).__name__}: {error}") for name in features})


def _make_broker(client: Client, broker_kind: str, brokers: int) -> Broker:
    if broker_kind == "apache":
        return ApacheBroker(client.control)
    return OurBroker() if brokers == 1 else OurCluster(brokers)


def _try_with_broker(client: Client, broker: Broker, features: Sequence[str]) -> Outcome:
    try:
        broker.start()
        outcome = try_features(client, broker, features)
        outcome.log = broker.output()
        return outcome
    finally:
        broker.close()


def try_features(client: Client, broker: Broker, features: Sequence[str]) -> Outcome:
    """Run some features of a client, as far as client and broker have them; tell of what they have not."""
    lacks = dict(client.lacks)
    if not offered(broker.bootstrap) >= _TRANSACTIONS:
        lacks.setdefault("transactions", "the broker has none")
    untried = [] if client.restart else ["restart"]
    asked = [name for name in features if name not in lacks and name not in untried]
    outcome = _run_scenario(client, broker.bootstrap, [name for name in asked if name not in MEMBERS])
    for name in MEMBERS:
        if name in asked:
            outcome.results[name] = _try_members(name, client, broker)
    outcome.results |= {name: Result(NOT_TRIED) for name in untried if name in features}
    outcome.results |= {name: Result(NOT_OFFERED, lacks[name]) for name in features if name in lacks}
    return outcome


def _try_members(feature: str, client: Client, broker: Broker) -> Result:
    try:
        return Result(PASS, getattr(groups, feature)(client.command(), broker))
    except Exception as error:  # whatever it was, it is this feature's result
        return Result(FAIL, f"{type(error).__name__}: {error}")


def _run_scenario(client: Client, bootstrap: str, features: Sequence[str]) -> Outcome:
    """Run the program and read its lines. What it did not report has failed."""
    command = [*client.command(), "scenario", bootstrap, *features]
    with tempfile.TemporaryFile("w+") as noise:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=noise,
            text=True,
            start_new_session=True,
        )
        try:
            printed, why = (
                process.communicate(timeout=client.limit_s)[0],
                f"it ended with {process.returncode}",
            )
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            printed, why = process.communicate()[0], TIMED_OUT.format(client.limit_s)
        noise.seek(0)
        silent = Result(FAIL, f"{why}\n{noise.read()[-2000:]}")
    outcome = Outcome(results=dict.fromkeys(features, silent))
    _collect(printed, outcome)
    return outcome


def _collect(printed: str, outcome: Outcome) -> None:
    for line in printed.splitlines():
        try:
            said = json.loads(line)
        except ValueError:
            continue  # something that a library has printed
        outcome.version = said.get("version", outcome.version)
        if "feature" in said:
            outcome.results[said["feature"]] = Result(said["result"], said.get("detail", ""))
