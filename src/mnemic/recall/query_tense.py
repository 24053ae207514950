"""Whether a query asks for what is or for what was, by its words."""

import re

_PAST = re.compile(
    r"\b(?:used to|originally|initially|previous(?:ly)?|former(?:ly)?|earlier(?! than)|at the time|at first"
    r"|back then|in the past|ex(?=-|\b)|(?<!how )(?<!years )(?<!year )(?<!months )old(?:er)?(?! enough| is)"
    # "My first job", but not "When did she first know?"; "before?", but not "before 11" or "before lunch".
    r"|(?:my|our|your|his|her|their|the|['’]s) (?:very )?first"
    r"|before(?=\W*$|[,.;?]|\s(?:that|then|this|moving|changing|switching|the (?:move|change|switch)))"
    r"|antes(?! de las?\b)|anterior(?:mente)?|antigu[oa]|solía|früher\w*|vorher\w*|ehemalig\w*|damals"
    r"|auparavant|ancien(?:ne)?)\b",
    re.IGNORECASE,
)
_PRESENT = re.compile(
    r"\b(?:now|nowadays|current(?:ly)?|still|these days|today|at the moment|at present|as things stand"
    r"|by now|latest|newest|any ?more|no longer|ahora|actual(?:mente)?|todavía|hoy|ya|jetzt|aktuell\w*"
    r"|derzeit|noch|heute|maintenant|actuellement|encore|aujourd'hui)\b",
    re.IGNORECASE,
)


def asks_for_past(query: str) -> bool:
    """Whether a query asks for what was and not for what is: "Where did I live before?"."""
    return _PAST.search(query) is not None and _PRESENT.search(query) is None
