"""Fill a data folder with a little of everything, for the fixture of a version (make_version_fixture.py).

python tools/version_contents.py DATA_DIR

Runs with the sources of that version, so it uses only calls that every version since the first fixture has.
`tests/db/test_earlier_versions.py` expects these contents.
"""

import os
import sys

from mnemic import Memory

JOB_FILE = "notes.md"
JOB_TEXT = "# Orchard\n\nThe quince tree by the gate bears fruit in October."
TURNS = [
    {"role": "user", "content": "I moved from Lisbon to Bergen."},
    {"role": "assistant", "content": "How is the weather in Bergen?"},
]


def fill(memory: Memory) -> None:
    """Contents of the owner alice, one memory of bob, and a document whose ingestion waits in the queue."""
    memory.retain(["Alice plays the cello.", "Alice's dentist is called Dr. Okafor."])
    memory.retain("Bob breeds bees.", owner="bob")
    memory.retain(TURNS, conversation="moving")
    (fact,) = memory.retain("Alice works at the harbour.").memory_ids
    memory.memories.update(fact, content="Alice works at the lighthouse.", reason="she said so")
    (wrong,) = memory.retain("Alice is allergic to walnuts.").memory_ids
    memory.memories.forget(wrong, reason="it was somebody else")
    memory.entities.upsert("person", "Dr. Okafor", facts={"profession": "dentist"})
    memory.triples.add("Alice", "plays", "cello")
    memory.state.set("plan", {"step": 3})
    memory.journal.append(evaluated="the plan", acted="nothing yet")
    memory.schedules.set("weekly", "acme.report", every_s=604_800, owner="alice")
    memory.shares.grant("bob", reason="they share a house")
    memory.shares.revoke(memory.shares.grant("carol").grant_id)
    memory.documents.ingest(JOB_FILE, JOB_TEXT)
    assert memory.recall("Which instrument does Alice play?").hits


def main(data_dir: str) -> None:
    """Fill two tenants of a new data folder."""
    os.environ["MNEMIC_WORKER"] = "false"  # So that the job still waits.
    for tenant in ("default", "acme"):
        with Memory(data_dir=data_dir, tenant=tenant, owner="alice", embedder="test") as memory:
            fill(memory)


if __name__ == "__main__":
    main(*sys.argv[1:])
