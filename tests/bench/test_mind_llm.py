"""bench-mind with a language model, on tiny data and with a scripted model."""

import json
from pathlib import Path
from typing import Any

from bench.mind_halumem import read_halumem
from bench.mind_llm import measure, report_lines
from bench.report import as_json
from tests.extraction.facts_model import Document, FactsModel, fact
from tests.prepared_folder import copy_prepared

SESSION = {
    "dialogue": [
        {"role": "user", "content": "I live in Oslo.", "timestamp": "Mar 01, 2026, 10:00:00"},
        {"role": "assistant", "content": "You live in Bergen.", "timestamp": "Mar 01, 2026, 10:01:00"},
    ],
    "memory_points": [
        {"memory_content": "Ana Lee lives in Oslo", "memory_source": "primary", "is_update": "False"},
        {
            "memory_content": "Ana Lee lives in Bergen",
            "memory_source": "interference",
            "is_update": "False",
            "reference_memory_content": "Ana Lee lives in Oslo",
        },
    ],
}


def gullible(document: Document) -> list[dict[str, Any]]:
    """Takes every turn for a fact about the user."""
    return [
        fact(
            turn["number"], turn["text"], subject="Ana Lee", statement=f"Ana Lee lives in {turn['text'][-7:]}"
        )
        for turn in document["turns"]
    ]


async def test_a_model_is_measured_through_the_public_api(tmp_path: Path, memory_dir: Path) -> None:
    empty = {"dialogue": SESSION["dialogue"], "memory_points": []}
    users = [{"persona_info": "Name: Ana Lee; Age: 40", "sessions": [empty, SESSION, SESSION]}]
    (tmp_path / "halumem_tiny.json").write_text(json.dumps(users), "utf-8")
    (user,) = read_halumem(tmp_path, sessions_max=1)
    assert (len(user.items), len(user.gold), len(user.planted)) == (2, 1, 1)
    model = FactsModel(gullible)
    copy_prepared(memory_dir / "bench-model")
    run = await measure(memory_dir / "bench-model", model, [user], embedder="test")
    assert (run.halumem.planted_stored, run.halumem.stored_again_count) == (0, 0)
    assert run.halumem.gold_covered == 1
    assert run.call_count == len(model.documents) == 1, "the second pass has nothing to read"
    assert (run.stored_count, run.verbatim_count, run.by_rules_count) == (1, 1, 0)
    assert run.rejected == {"speaker may not testify": 1}
    assert (run.rules.statement_count, run.rules.gold_covered) == (1, 1)
    assert json.loads(as_json(run.measured(), report_lines(run)))["verbatim_count"] == 1
    missed = [line.what for line in report_lines(run) if line.met is False]
    assert missed == ["turns per call"], "there are only two turns"
