"""The language of a text, by its function words."""

import pytest

from mnemic.text_analysis.languages import detect_language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Where does my sister work?", "english"),
        ("¿Dónde trabaja mi hermana?", "spanish"),
        ("donde trabaja mi hermana", "spanish"),
        ("Wo arbeitet meine Schwester jetzt?", "german"),
        ("Où travaille ma sœur ?", "french"),
        ("Dove lavora mia sorella?", "italian"),
        ("Onde é que a minha irmã trabalha?", "portuguese"),
        ("Waar werkt mijn zus nu?", "dutch"),
        ("Var arbetar min syster och vad heter hon?", "swedish"),
        ("Где работает моя сестра?", "russian"),
        ("Kız kardeşim nerede çalışıyor ve ne zaman döner?", "turkish"),
        ("Missä minun siskoni on töissä?", "finnish"),
        ("Hol dolgozik a nővérem és mit csinál?", "hungarian"),
    ],
)
def test_a_sentence_has_a_language(text: str, language: str) -> None:
    assert detect_language(text) == language


@pytest.mark.parametrize(
    "text", ["", "E55", "passport number", "Lotte's passport number", "Ebru Yıldız", "我妹妹在哪里工作", "?!"]
)
def test_a_text_without_function_words_has_no_known_language(text: str) -> None:
    assert detect_language(text) is None
