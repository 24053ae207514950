"""Counting tokens: exact with rs-bpe, estimated without."""

import sys
from collections.abc import Iterator
from pathlib import Path
from time import thread_time

import pytest

from mnemic.models import tokens
from mnemic.models.tokens import EstimatingCounter, ExactCounter, TokenCounter, count_tokens, token_counter

SOURCE = Path(tokens.__file__).resolve().parents[1]

ENGLISH = """\
Caroline: Hey Mel! Good to see you! How have you been? I went to a support group yesterday and it was so
powerful. The stories were inspiring, and I felt happy and thankful for all the support.
Melanie: Wow, that's cool, Caroline! What happened that was so awesome? Did you hear any inspiring stories?
I'm swamped with the kids and work, and we are planning a camping trip to the mountains in early July. We
moved to Portland in March 2024 because my husband found a job there, and the children like their school."""

GERMAN = """\
Anna wohnt seit März 2024 in Berlin und arbeitet dort als Ärztin in einem Krankenhaus. Am Wochenende fährt sie
gern mit dem Fahrrad an den See, und im Sommer möchte sie mit ihrer Schwester nach Norwegen reisen. Sie mag
keinen Kaffee, trinkt aber jeden Morgen grünen Tee."""

CHINESE = """\
爱丽丝三月份搬到了柏林，现在在一家医院当医生。周末她喜欢骑自行车去湖边，夏天想和妹妹一起去挪威旅行。她不喝咖啡，
但是每天早上都喝绿茶。昨天我们讨论了她的新项目，她说下个月要去上海出差，希望能见到以前的同学。"""

JAPANESE = """\
アリスは三月にベルリンへ引っ越して、今は病院で医者として働いています。週末は自転車で湖に行くのが好きで、
夏には妹と一緒にノルウェーへ旅行したいと言っていました。コーヒーは飲みませんが、毎朝緑茶を飲みます。"""

KOREAN = """\
앨리스는 삼월에 베를린으로 이사했고 지금은 병원에서 의사로 일하고 있습니다.
주말에는 자전거를 타고 호수에 가는 것을 좋아하고, 여름에는 여동생과 함께 노르웨이로 여행을 가고 싶어 합니다.
커피는 마시지 않지만 매일 아침 녹차를 마십니다."""

EMOJI = """\
Happy birthday!! 🎉🎉 Hope you have the best day ever 😍 Miss you so much 😭 Thanks a lot ❤️ can't wait for
the trip 🔥 See you soon 👍 That was so funny 😂😂😂 Good luck with the exam tomorrow 🙏 Love the
new photo ✨ 💪"""


@pytest.fixture
def _no_cache() -> Iterator[None]:
    """Clear the cached counter before and after a test."""
    token_counter.cache_clear()
    yield
    token_counter.cache_clear()


@pytest.fixture
def exact() -> ExactCounter:
    pytest.importorskip("rs_bpe", reason="rs-bpe has no wheels for this Python")
    return ExactCounter()


def test_the_exact_count_is_that_of_o200k(exact: ExactCounter) -> None:
    assert exact.count("Hello world") == 2
    assert exact.count("antidisestablishmentarianism") == 6
    assert exact.count("<|endoftext|>") > 1, "a control token in a text is text"


@pytest.mark.usefixtures("_no_cache")
def test_the_exact_counter_is_used_if_installed(exact: ExactCounter) -> None:
    assert token_counter().name == "o200k"
    assert count_tokens(ENGLISH) == exact.count(ENGLISH)


@pytest.mark.usefixtures("_no_cache")
def test_without_rs_bpe_the_count_is_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rs_bpe", None)
    monkeypatch.setitem(sys.modules, "rs_bpe.bpe", None)
    assert token_counter().name == "o200k-estimate"
    assert count_tokens(ENGLISH) == EstimatingCounter().count(ENGLISH)


@pytest.mark.parametrize(
    "text",
    [
        ENGLISH,
        GERMAN,
        CHINESE,
        JAPANESE,
        KOREAN,
        EMOJI,
        (SOURCE / "models" / "embedding.py").read_text("utf-8"),
        (SOURCE / "sql" / "migrations" / "0006_tiers.sql").read_text("utf-8"),
    ],
    ids=["English", "German", "Chinese", "Japanese", "Korean", "emoji", "Python", "SQL"],
)
def test_the_estimate_is_close(exact: ExactCounter, text: str) -> None:
    assert 0.95 <= EstimatingCounter().count(text) / exact.count(text) <= 1.25


@pytest.mark.parametrize("counter", [EstimatingCounter(), None], ids=["estimate", "installed"])
def test_every_text_has_a_count(counter: TokenCounter | None) -> None:
    count = (counter or token_counter()).count
    assert count("") == 0
    for text in ("a", " ", "\n", "\0", "\ud800", "é", "中", "👩‍💻", "\U0010ffff"):
        assert count(text) >= 0
        assert count(text * 1_000) >= count(text)
    assert count("a") == 1


def test_counting_is_fast() -> None:
    text = (ENGLISH + CHINESE) * 160
    assert len(text.encode()) > 100_000
    count_tokens(text)
    for counter in (EstimatingCounter(), token_counter()):
        started_s = thread_time()
        counter.count(text)
        assert thread_time() - started_s < 0.5
