"""The rules for a state that was put back, taken out of the code one by one; each is found by some seed.

Tests of parts prove two others, whose races are too short for that: that no broker leads or follows by a
state from before (``tests.broker.replica.test_topics``), and that the new leader epoch is above those of all
logs (``tests.metadata.controller.test_leaders``).
"""

from __future__ import annotations

from kafkatx.broker.producer_ids import ProducerIds
from kafkatx.broker.service import BrokerService
from kafkatx.metadata.controller import leaders
from kafkatx.metadata.layout import producer_ids
from tests.simulation.mutants import Edit, Mutant

MUTANTS = {
    "noticed": Mutant(
        "a broker notices that the state is older than what its log dirs and logs show",
        (Edit(BrokerService._seen, "return max(seen, now + 1)", "return 0"),),
    ),
    "noted": Mutant(
        "log dirs note the generation of the state: leader epochs alone do not show a longer in-sync set",
        (Edit(BrokerService._seen, "one.noted for one", "0 for one"),),
    ),
    "longest": Mutant(
        "the longest log leads",
        (
            Edit(
                leaders.elected_longest,
                "leader = max(ends, key=lambda broker: (ends[broker].epoch, ends[broker].offset))",
                "leader = next(iter(ends))",
            ),
        ),
    ),
    "all-told": Mutant(
        "all replicas have told where their logs end",
        (Edit(leaders.elected_longest, "not ends.keys() >= set(needed)", "False"),),
    ),
    "producer-ids": Mutant(
        "no producer id is handed out that may be in a log",
        (
            Edit(producer_ids.first_producer_id, "return int(now_s) * IDS_PER_S", "return 0"),
            Edit(ProducerIds.raise_above, "if used <= self._raised:", "if True:"),
            Edit(ProducerIds.next, "if ids.start <= highest:", "if False:"),
        ),
    ),
}
"""The mutants by name."""
