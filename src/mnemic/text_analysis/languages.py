"""The language of a text, by the words that nearly every sentence of a language has.

For the languages with spaces between words whose stems and stopwords PostgreSQL knows. A text of a few words
may have none of these; then its language is unknown, and so it is if two languages are equally likely.
"""

import re
from collections import Counter
from functools import cache
from typing import Literal, get_args

Language = Literal[
    "danish", "dutch", "english", "finnish", "french", "german", "greek", "hungarian", "italian", "norwegian",
    "portuguese", "romanian", "russian", "spanish", "swedish", "turkish",
]  # fmt: skip
"""Named like PostgreSQL's text search configurations."""
LANGUAGES: tuple[Language, ...] = get_args(Language)

DETECTION_MAX_CHARACTERS = 2_000
"""How much of a text is looked at."""
EVIDENCE_MIN = 2
"""Function words, or letters that only one language has, that a text needs."""
BRIEF_WORDS = 4
CLEAR_WORD_LETTERS = 3
"""In a text of up to `BRIEF_WORDS` words one function word suffices, if it has this many letters."""

_WORD = re.compile(r"[^\W\d_]+")
_ENGLISH = """
a about an and any are as at be been but by can could did do does for from had has have he her him
his how i if in is it its me my no not of on or our she so that the their them there they this to
was we were what when where which who whose why will with would you your
"""
_FUNCTION_WORDS: dict[Language, str] = {
    "danish": "af alle at blev da de den der deres det dig din du efter eller en er et for fra før ham han"
    " hans har havde hende hun hvad hvem hvis hvor hvordan hvorfor hvornår i ikke jeg kan man med"
    " men mig min mit mod mine når og også om os på skal som til ud var vi vil være",
    "dutch": "aan al als bij dan dat de der deze die dit doen door een en er geen had heb hebben heeft het"
    " hij hoe hun ik in is je kan maar me met mij mijn naar niet nog of om onder ons ook op over"
    " te tot uit van veel voor waar waarom wanneer was wat we welke werd wie wij wordt ze zich zij"
    " zijn zou",
    "english": _ENGLISH,
    "finnish": "ei ja että hän joka jos kanssa koska kuin kuka kun me mikä milloin mitä missä miksi minä"
    " minun mutta myös ne niin nyt oli olla olen on ovat se sen siellä sinä sinun tai te tämä vai"
    " vain hänen minulla minulle mistä mihin",
    "french": "à au aux avec ce ces cette comment dans de des du elle elles en est et eu il ils je la le"
    " les leur lui ma mais me mes moi mon ne nos notre nous on ont ou où par pas pour pourquoi qu"
    " quand que quel quelle quels qui quoi sa se ses son sont sur ta tes toi ton tu un une vos"
    " votre vous était été suis combien",
    "german": "aber als am an auch auf aus bei bin bist bis da durch das dass dem den der des die doch du"
    " ein eine einem einen einer er es für habe haben hat hatte ich ihm ihn ihr im in ist ja kann"
    " mein meine meinem meinen meiner mich mir mit nach nicht noch nur oder seine sein sich sie"
    " sind so über um und uns unser von vor wann war warum was welche welcher welches wem wen wenn"
    " wer werden wurde wurden wie wir wird wo woher wohin zu zum zur",
    "greek": "",
    "hungarian": "a az és hogy nem is egy ez van volt meg csak de ha mint már ki mi mit hol mikor miért "
    "hogyan én te ő mert vagy még kell minden nincs nekem neked az lesz el milyen melyik honnan hova"
    " vannak",
    "italian": "a ad al alla anche che chi come con cosa da dal dalla dei del della delle di dove due e è"
    " era fra gli ha ho i il in io la le lei lo loro lui ma mi mia mie miei mio ne nel nella no"
    " noi non o per perché più qual quale quali quando quanto questa questo sei si sono su sua suo"
    " tu tua tuo un una uno vi voi",
    "norwegian": "av alle at bare ble blir da de den denne der det dette du eller en er et etter for fra før"
    " han hans har hadde henne hun hva hvem hvilken hvor hvordan hvorfor hvis i ikke jeg kan man"
    " med meg men min mitt mine mot må når og også om opp oss på seg skal som så til ut var ved vi"
    " vil være",
    "portuguese": "a ao aos as com como da das de do dos e é ela ele eles em era essa esse esta está este eu"
    " foi há isso lhe mais mas me meu meus minha minhas muito na não nas no nos o onde os ou para"
    " pela pelo por porque qual quando quanto que quem se sem ser seu sua são tem tenho também te"
    " tu um uma você vocês",
    "romanian": "a al ale am are ar au că care ca când ce cine cu cum de din dar după ea el ei este e eu fi"
    " fost în îmi îi la lui mai mea meu mei nu o pe pentru prin sau se sunt să și te tu unde un"
    " una unei unui va",
    "russian": "",
    "spanish": "a al como cómo con cual cuál cuando cuándo cuánto cuántos de del desde donde dónde durante e"
    " el él ella en entre era es esta está están este estoy fue ha hace hasta hay la las le les lo"
    " los me mi mis muy más nada ni no nos o para pero por porque que qué quien quién se ser si sí"
    " sin sobre son su sus también te tengo tiene tienes todo tu tus un una y ya yo",
    "swedish": "alla att av bara blev da de dem den denna det detta dig din du där efter eller en er ett"
    " från för ha hade han hans har henne hon hur i inte jag kan man med men mig min mina mitt mot"
    " när och också om oss på sig ska som så till under ut vad var varför vart vem vi vid vilka"
    " vilken är",
    "turkish": "ve bir bu ne da de için ile mi mı mu mü ben sen o biz siz benim senin onun bizim kim nerede"
    " nereye neden niçin nasıl nedir kimdir neydi hangi kaç olan oldu tarafından sonra ilk çok"
    " daha gibi ama ama var yok değil olarak en her şey kadar sonra önce zaman hiç veya ya ki",
}
_SIGNS = "¿¡"
_LETTERS: dict[str, Language] = {
    **dict.fromkeys("¿¡ñ", "spanish"),
    "ß": "german",
    **dict.fromkeys("ğşı", "turkish"),
    **dict.fromkeys("őű", "hungarian"),
    **dict.fromkeys("ãõ", "portuguese"),
    **dict.fromkeys("ășț", "romanian"),
    **dict.fromkeys("œ", "french"),
}
_SCRIPTS: tuple[tuple[str, str, Language], ...] = (("Ѐ", "ӿ", "russian"), ("Ͱ", "Ͽ", "greek"))


def detect_language(text: str) -> Language | None:
    """The language of a text, None if it is unknown or unsure."""
    lowered = text[:DETECTION_MAX_CHARACTERS].lower()
    words = _WORD.findall(lowered)
    by_script = _by_script(words)
    if by_script is not None:
        return by_script
    evidence: Counter[Language] = Counter()
    for word in set(words):
        is_clear = len(words) <= BRIEF_WORDS and len(word) >= CLEAR_WORD_LETTERS
        for language in _languages_of().get(word, ()):
            evidence[language] += EVIDENCE_MIN if is_clear else 1
    for letter in set(lowered) & _LETTERS.keys():
        # A letter alone may come from a name; the signs of a Spanish question do not.
        if _LETTERS[letter] in evidence or letter in _SIGNS:
            evidence[_LETTERS[letter]] += 1 if letter not in _SIGNS else EVIDENCE_MIN
    ranked = evidence.most_common(2)
    if not ranked or ranked[0][1] < EVIDENCE_MIN or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]


def _by_script(words: list[str]) -> Language | None:
    """The language of most words, if it is known by its letters."""
    for first, last, language in _SCRIPTS:
        if words and sum(first <= word[0] <= last for word in words) * 2 > len(words):
            return language
    return None


def is_function_word(word: str) -> bool:
    """Whether a word, in small letters, is one that says nothing by itself, in a language that is known."""
    return word in _languages_of()


@cache
def _languages_of() -> dict[str, tuple[Language, ...]]:
    """For each function word the languages that have it."""
    found: dict[str, list[Language]] = {}
    for language, words in _FUNCTION_WORDS.items():
        for word in set(words.split()):
            found.setdefault(word, []).append(language)
    return {word: tuple(languages) for word, languages in found.items()}
