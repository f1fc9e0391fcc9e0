"""The table client x feature, for a terminal and as ``docs/clients.md``, and the results it is made from."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from types import MappingProxyType

from tests.clients.features import (
    FAIL,
    FEATURES,
    MEMBERS,
    NO_TOOLCHAIN,
    NOT_OFFERED,
    NOT_TRIED,
    PASS,
    Outcome,
    Result,
)
from tests.clients.leader_dies import LOCAL, TREES, ZOOKEEPER, Death
from tests.clients.leader_rows import ROWS
from tests.clients.matrix import CLIENTS
from tests.clients.security import results as security
from tests.clients.tables import lines
from tests.clients.toolchains import HERE, ROOT

PAGE = os.path.join(ROOT, "docs", "clients.md")
RESULTS = os.path.join(HERE, "results")
_LEADER = {LOCAL: "leader.json", ZOOKEEPER: "leader_zookeeper.json"}

CLUSTER = "kafkatx-3"
"""The name under which results with three brokers are kept."""

Results = Mapping[str, Result]
Kept = dict[str, Outcome]

_HEAD = """\
# Clients

Unmodified clients against this broker, each asked for every feature in its own way. `make clients` runs the
scenarios, in `tests/clients`, and writes this page; the Python clients and kcat are also among the tests.
The column "three brokers" tells how the same scenarios went in a cluster, with three copies of each topic;
"control" tells how they went with Apache Kafka: a scenario that fails there is wrong.

"""


_DEATHS = """
## Three brokers, and a leader dies

`make clients BROKERS=3` runs these. A client sends numbered records to a topic with three copies, 100 in a
second (`min.insync.replicas` 2, acks=all, idempotent), while two members of a group read and commit. Amid
that the broker is killed that leads most partitions, and comes back fifteen seconds later. It passes when
each record was acknowledged and is in the topic once, in the order of its partition; when the group has
read each and its commits are the ends; when no client has reported an error; and when `kafkatx log dump` of
the three replicas is the same up to the high watermark. What Spark and `kafkatx ingest` read was sent by
librdkafka; each record is in their Parquet files once. A stream of Spark also copies the topic to another,
at least once.

"gap" is the longest time between two acknowledgements of the same partition, from the kill on; "run" is the
time that the row takes, with the starts of brokers and clients. Both depend on the machine. `ZOOKEEPER=1`
runs the brokers with a ZooKeeper and sessions of 6 s, which end there at a multiple of 2 s. A client finds
the new leader when it asks for metadata again: franz-go does so at most every 5 s (`MetadataMinAge`).
"""


def table(found: Mapping[str, Results]) -> str:
    """A line per client, a column per feature, aligned."""
    return lines(["client", *FEATURES], [[name, *_cells(results)] for name, results in found.items()])


def _cells(results: Results) -> list[str]:
    return [results[name].result if name in results else NOT_TRIED for name in FEATURES]


def load(broker: str) -> Kept:
    """The results kept of ``kafkatx``, ``apache`` or a cluster; empty where there are none."""
    path = os.path.join(RESULTS, f"{broker}.json")
    if not os.path.exists(path):
        return {}
    with open(path) as file:
        kept = json.load(file)
    return {
        name: Outcome(
            row["version"], {feature: Result(*result) for feature, result in row["results"].items()}
        )
        for name, row in kept.items()
    }


def keep(broker: str, outcomes: Mapping[str, Outcome]) -> None:
    """Keep the results of these clients beside those of others, and of features that were not tried.

    A client without its toolchain changes nothing.
    """
    kept = load(broker)
    for name, outcome in outcomes.items():
        absent = any(result.result == NO_TOOLCHAIN for result in outcome.results.values())
        if name not in kept:
            kept[name] = outcome
        elif not absent:
            older = kept[name]
            kept[name] = Outcome(outcome.version or older.version, {**older.results, **outcome.results})
    rows = {
        client.name: {"version": kept[client.name].version, "results": _lasting(kept[client.name].results)}
        for client in CLIENTS
        if client.name in kept
    }
    os.makedirs(RESULTS, exist_ok=True)
    with open(os.path.join(RESULTS, f"{broker}.json"), "w") as file:
        json.dump(rows, file, indent=1)
        file.write("\n")


def _lasting(results: Results) -> dict[str, list[str]]:
    """Return what is kept: the first line of each detail, without figures, which differ from run to run."""
    return {
        name: [result, "" if name in MEMBERS and result == PASS else detail.partition("\n")[0]]
        for name, (result, detail) in sorted(results.items(), key=lambda item: list(FEATURES).index(item[0]))
    }


def load_deaths(tree: str) -> dict[str, Death]:
    """The results kept of :mod:`tests.clients.leader_dies` with a tree of its ``TREES``."""
    path = os.path.join(RESULTS, _LEADER[tree])
    if not os.path.exists(path):
        return {}
    with open(path) as file:
        return {
            name: Death(row["version"], Result(*row["result"]), row["gap_s"], row["took_s"])
            for name, row in json.load(file).items()
        }


def load_all_deaths() -> dict[str, dict[str, Death]]:
    """The results kept with each tree."""
    return {tree: load_deaths(tree) for tree in TREES}


def keep_deaths(tree: str, deaths: Mapping[str, Death]) -> None:
    """Keep the results of these rows beside those of others; one without its toolchain changes nothing."""
    kept = load_deaths(tree)
    for name, death in deaths.items():
        if name not in kept or death.result.result != NO_TOOLCHAIN:
            kept[name] = death
    rows = {
        row.name: {
            "version": kept[row.name].version,
            "result": [kept[row.name].result.result, kept[row.name].result.detail.partition("\n")[0]],
            "gap_s": round(kept[row.name].gap_s, 1),
            "took_s": round(kept[row.name].took_s),
        }
        for row in ROWS
        if row.name in kept
    }
    os.makedirs(RESULTS, exist_ok=True)
    with open(os.path.join(RESULTS, _LEADER[tree]), "w") as file:
        json.dump(rows, file, indent=1)
        file.write("\n")


def _deaths(kept: Mapping[str, Mapping[str, Death]]) -> str:
    """The section of leaders that die; empty if nothing is kept."""
    if not any(kept.values()):
        return ""
    head = ["client", "version", "a leader dies", "gap", "run", "what was counted"]
    parts = []
    for tree, deaths in kept.items():
        rows = [
            [
                name,
                death.version or "-",
                death.result.result,
                f"{death.gap_s:.1f} s",
                f"{death.took_s:.0f} s",
                death.result.detail,
            ]
            for name, death in deaths.items()
        ]
        if rows:
            parts.append(f"\nWith {TREES[tree]}:\n\n" + lines(head, rows))
    return _DEATHS + "".join(parts)


def page(
    ours: Kept,
    control: Kept,
    deaths: Mapping[str, Mapping[str, Death]] = MappingProxyType({}),
    logins: Mapping[str, Outcome] = MappingProxyType({}),
    cluster: Mapping[str, Outcome] = MappingProxyType({}),
) -> str:
    """The text of ``docs/clients.md``."""
    rows = [
        [
            name,
            outcome.version or "-",
            *_cells(outcome.results),
            _summary(cluster.get(name)),
            _summary(control.get(name)),
        ]
        for name, outcome in ours.items()
    ]
    meanings = [[f"{name}", meaning] for name, meaning in FEATURES.items()]
    return (
        _HEAD
        + lines(["client", "version", *FEATURES, "three brokers", "control"], rows)
        + "\n## What a feature is\n\n"
        + lines(["feature", "passes when"], meanings)
        + "\n## What failed, what is not offered, and what passed with a remark\n\n"
        + _reasons(ours)
        + security.section(logins)
        + _deaths(deaths)
    )


def _summary(outcome: Outcome | None) -> str:
    if outcome is None:
        return NOT_TRIED
    failed = [name for name, found in outcome.results.items() if found.result == FAIL]
    passed = sum(found.result == PASS for found in outcome.results.values())
    return f"fails: {', '.join(failed)}" if failed else f"{passed} pass"


def _reasons(kept: Kept) -> str:
    """A line for each reason, with the features of a client that it is the reason of."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for name, outcome in kept.items():
        for feature, (result, detail) in outcome.results.items():
            if result in (FAIL, NOT_OFFERED) or (result == PASS and detail):
                reasons.setdefault((name, f"{result}: {detail}"), []).append(feature)
    return "".join(f"* {name}: {', '.join(features)}: {why}\n" for (name, why), features in reasons.items())


def kept_page() -> str:
    """The page of all results that are kept."""
    logins = security.load(RESULTS)
    return page(load("kafkatx"), load("apache"), load_all_deaths(), logins, load(CLUSTER))


def write_page() -> None:
    """Write ``docs/clients.md`` from all results that are kept."""
    with open(PAGE, "w") as file:
        file.write(kept_page())
