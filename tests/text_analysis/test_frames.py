"""A short statement has a frame if its grammar says that it gives one value of one attribute."""

from mnemic.text_analysis.frames import Frame, read_frame


def frame(text: str) -> Frame:
    found = read_frame(text)
    assert found is not None, text
    return found


def replaces(older: str, newer: str, *, speakers: tuple[str | None, str | None] = (None, None)) -> bool:
    """Whether the second statement gives another value in the frame of the first."""
    first, second = read_frame(older), read_frame(newer)
    if first is None or second is None or first.key_of(speakers[0]) != second.key_of(speakers[1]):
        return False
    return second.gives_other_value(first)


def test_a_statement_is_split_into_frame_and_value() -> None:
    expected = {
        "The capital of Ruritania is Zenda.": (
            "the capital of ruritania is",
            "ruritania",
            "capital",
            "Zenda",
        ),
        "Omar's line manager is now Lena Roth": ("omar's line manager is", "omar", "manager", "Lena Roth"),
        "My favourite colour is green": ("my favourite colour is", "my", "colour", "green"),
        "The firm that built Pier 9 is Hale & Sons.": (
            "the firm that built pier 9 is (name)",
            "built pier 9",
            "firm",
            "Hale & Sons",
        ),
        "Ana plays the position of keeper": (
            "ana plays the position of",
            "ana",
            "plays the position of",
            "keeper",
        ),
        "Kiln Studio was founded in the city of Porto.": (
            "kiln studio was founded in the city of",
            "kiln studio",
            "founded in the city of",
            "Porto",
        ),
    }
    for text, parts in expected.items():
        assert frame(text) == Frame(*parts)


def test_another_value_in_the_same_frame_replaces_the_first() -> None:
    pairs = [
        ("The author of Tides is Ana Costa.", "The author of Tides is A. B. Moor."),
        ("Sense and Sorrow was written by Ana Costa", "Sense and Sorrow was written by The Owls"),
        ("Lena is married to Omar", "Lena is married to Jo Hale, Earl of Moor"),
        ("Lena works at Hale", "Lena currently works at Roth Brothers"),
        ("Jo reports to Lena", "Jo reports to Omar"),
        ("The deadline of the Hale report is 3 May", "The deadline of the Hale report is Friday"),
        ("Zelo is a citizen of Ruritania", "Zelo is a citizen of Graustark"),
        (
            "The university where Zelo was trained is Strelsau",
            "The university where Zelo was trained is Zenda",
        ),
        ("padel is associated with the sport of tennis", "padel is associated with the sport of squash"),
        ("- Jo's desk number is 12", "17. Jo's desk number is 40"),
        ("[3] Jo's desk number is 12", "Update 4: Jo's desk number is 40"),
        ("La capital de Ruritania es Zenda", "La capital de Ruritania es Strelsau"),
        ("Die Hauptstadt von Ruritanien ist Zenda", "Die Hauptstadt von Ruritanien ist Strelsau"),
    ]
    for older, newer in pairs:
        assert replaces(older, newer), (older, newer)
        assert not replaces(newer, newer)


def test_statements_that_can_both_hold_do_not_replace_each_other() -> None:
    pairs = [
        ("The capital of Ruritania is Zenda", "The capital of Graustark is Strelsau"),
        ("The firm that built Pier 9 is Hale", "The firm that built Pier 12 is Roth"),
        ("Lena was born in Zenda", "Lena was born in 1980"),
        ("Lena works in Zenda", "Lena works in finance"),
        ("Lena is a nurse", "Lena is a mother"),
        ("Omar's friend is Lena", "Omar's friend is Jo"),
        ("Omar's daughter is Lena", "Omar's daughter is Jo"),
        ("Omar's car is red", "Omar's car is fast"),
        ("Omar speaks French", "Omar speaks German"),
        ("Omar visited the city of Zenda", "Omar visited the city of Strelsau"),
        ("Omar was married to Lena", "Omar was married to Jo"),
        ("Omar's manager is Lena", "Omar's manager is Lena Roth"),
        ("The meeting is scheduled for Monday", "The meeting is scheduled for Friday"),
        ("Omar is a member of the choir", "Omar is a member of the chess club"),
    ]
    for older, newer in pairs:
        assert not replaces(older, newer), (older, newer)


def test_denials_the_past_clauses_and_pronouns_have_no_frame() -> None:
    texts = [
        "Lena does not work at Hale",
        "Lena no longer lives in Zenda",
        "Lena used to work at Hale",
        "Maybe Lena works at Hale",
        "If Lena works at Hale, call her",
        "She works at Hale",
        "Her manager is Omar",
        "Lena works at Hale because Omar lives in Zenda",
        "Is the capital of Ruritania Zenda?",
        "The capital of Ruritania is Zenda. Goats climb trees.",
        "word " * 100,
        "",
        "…",
    ]
    for text in texts:
        assert read_frame(text) is None, text


def test_i_and_my_mean_the_speaker() -> None:
    for older, newer in (("My manager is Lena", "My manager is Omar"), ("I live in Zenda", "I live in Moor")):
        assert replaces(older, newer, speakers=("Jo", "Jo"))
        assert not replaces(older, newer, speakers=("Jo", "Ana"))
