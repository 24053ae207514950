"""The extra with a local model for many languages."""

from importlib.util import find_spec

import numpy as np
import pytest

from mnemic.errors import ConfigurationError
from mnemic.models import multilingual
from mnemic.models.embedding import open_embedder


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multilingual, "_PACKAGE", "no_such_package")
    with pytest.raises(ConfigurationError, match=r"mnemic\[multilingual\]"):
        open_embedder("multilingual")


@pytest.mark.skipif(find_spec("nanoranker") is None, reason="the extra `multilingual` takes 100 MB")
async def test_texts_with_the_same_meaning_are_near_in_all_languages() -> None:
    embedder = open_embedder("multilingual")
    try:
        vectors = await embedder.embed_documents(
            ["Where does my sister work?", "¿Dónde trabaja mi hermana?", "The boiler shows an error"]
        )
    finally:
        await embedder.aclose()
    assert embedder.name == "local:universal-sentence-encoder-multilingual"
    cosines = vectors @ vectors.T
    assert np.allclose(np.diag(cosines), 1, atol=1e-3)
    assert cosines[0, 1] > 0.6 > 0.4 > cosines[0, 2]
