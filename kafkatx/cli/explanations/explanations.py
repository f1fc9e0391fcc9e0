"""``kafkatx explain-lag`` and ``kafkatx explain-client``: why a group or a client is slow."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from kafkatx.cli.options.cluster import cluster_options, connect
from kafkatx.cli.options.list_format import json_option
from kafkatx.cli.output.terminal import interactive, print_rows, show_folded, show_json

if TYPE_CHECKING:
    from kafkatx.blocking.diagnosis.explanations import BrokerExplanations
    from kafkatx.wire.messages.describe_explanations import ExplanationEntry

WORDS = ("note", "hint", "problem")
PROBLEM, PROBLEMS = 2, 1


@click.command(
    "explain-lag",
    epilog="""\b
Examples:
  kafkatx explain-lag billing
  kafkatx explain-lag billing --json
""",
)
@click.argument("group", metavar="GROUP")
@json_option
@cluster_options
def explain_lag(group: str, as_json: bool, bootstrap: str, timeout: float) -> int:
    """Tell why a consumer group is behind.

    The group's coordinator looks for two seconds at members, offsets, transactions, quotas, disk and load,
    and at what the clients push (see kafkatx client-metrics). Exit code 1: it has found a problem.

    \b
    Into a pipe, a line for each sentence, tabs between fields:
      broker severity rule sentence advice
    """
    from kafkatx.blocking.diagnosis.explanations import Explanations

    with connect(bootstrap, timeout) as cluster:
        found = [Explanations(cluster).of_group(group)]
    return _print(found, as_json)


@click.command("explain-client", epilog="Example: kafkatx explain-client billing-1")
@click.argument("client_id", metavar="CLIENT-ID")
@json_option
@cluster_options
def explain_client(client_id: str, as_json: bool, bootstrap: str, timeout: float) -> int:
    """Tell why a client is slow.

    Each broker looks for two seconds at the client's quotas, at what it pushes, and at its own load. Exit
    code 1: one has found a problem.

    \b
    Into a pipe, a line for each sentence, tabs between fields:
      broker severity rule sentence advice
    """
    from kafkatx.blocking.diagnosis.explanations import Explanations

    with connect(bootstrap, timeout) as cluster:
        found = Explanations(cluster).of_client(client_id)
    return _print(found, as_json)


def _print(found: Iterable[BrokerExplanations], as_json: bool) -> int:
    every = [(said.broker, one) for said in found for one in said.entries]
    every.sort(key=lambda pair: -pair[1].severity)
    if as_json:
        for broker, one in every:
            show_json(_object(broker, one))
    elif interactive(sys.stdout):
        for _, one in every:
            show_folded(f"{_word(one)}: {one.sentence}{' ' if one.advice else ''}{one.advice}")
    else:
        print_rows([(broker, _word(one), one.rule, one.sentence, one.advice) for broker, one in every])
    return PROBLEMS if any(one.severity >= PROBLEM for _, one in every) else 0


def _word(one: ExplanationEntry) -> str:
    return WORDS[min(max(one.severity, 0), PROBLEM)]


def _object(broker: int, one: ExplanationEntry) -> dict[str, object]:
    return {
        "broker": broker,
        "severity": _word(one),
        "rule": one.rule,
        "sentence": one.sentence,
        "advice": one.advice,
        "evidence": {each.name: each.value for each in one.evidence},
    }
