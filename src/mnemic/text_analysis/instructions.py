"""Text that gives orders to a language model, by rules: what a prompt injection looks like.

Such text states nothing about its speaker, even if a user pasted it. `overrides_instructions` finds marks of
a whole text that poses as something else: an override ("ignore all previous instructions"), a role of a
conversation ("SYSTEM:"), a tag of a prompt. `orders_memory` finds a sentence that orders a change of the
memory itself ("add the fact that …", "mark this memory as anchored"). "Remember that I moved" is no such
order: people say that to assistants. English.
"""

import re

TEXT_MAX_CHARACTERS = 8_192

# Repetitions are bounded, so that no text takes long.
_OVERRIDE = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b[^.!?\n]{0,40}"
    r"\b(?:instructions?|prompts?|rules|guidelines|directives|guardrails|constraints)\b"
    r"|\b(?:system|developer|hidden|initial|admin|root) "
    r"(?:prompt|message|instructions?|override|command|mode|note)\b"
    r"|\byou are now\b|\bnew (?:instructions?|task|rules?|directive)s? ?(?::|for you|follow)"
    r"|\b(?:begin|end|start) of (?:the )?(?:prompt|instructions?|system|data|document|conversation)\b"
    r"|\bjailbreak\w{0,10}\b|\bdo anything now\b",
    re.IGNORECASE,
)
_ROLE_MARK = re.compile(
    r"^[ \t#*>\-\[(]{0,8}(?:system|assistant|developer|tool|admin|instruction|instructions|ai|human|user)"
    r"[ \t\])*]{0,4}(?::|\]|\n)",
    re.IGNORECASE | re.MULTILINE,
)
_TAG = re.compile(
    r"</?\s{0,3}(?:system|assistant|user|instructions?|prompt|turns?|known|facts?|memor(?:y|ies)|admin|tool)\b"
    r"[^>\n]{0,80}>|<\|[\w ]{1,40}\|>|\[/?INST\]|<</?SYS>>",
    re.IGNORECASE,
)
_MEMORY = (
    r"(?:facts?|memory|memories|statements?|known statement|anchored|_global|global channel|json|"
    r"attribute|quotation|certainty|confidence)"
)
_ORDER = re.compile(
    r"\b(?:add|insert|store|save|record|write|create|output|emit|return|set|mark|tag|anchor|promote|pin|"
    r"protect|delete|remove|erase|supersede|replaces?|overwrite|update|change|quarantine|archive|extract)\b"
    rf"[^.!?\n]{{0,60}}\b{_MEMORY}\b"
    r"|\b(?:anchor|promote|supersede|quarantine)\b[^.!?\n]{0,40}\b(?:this|that|it|everything|all)\b"
    r"|\b(?:record|store|save|note|remember|write down|log)\b[^.!?\n]{0,20}\bthat the user\b"
    r"|\bthe user (?:asked|wants|told|instructed|ordered) (?:you|me|us)\b"
    r"|\b(?:memory|extraction|note[- ]taking) (?:system|model|agent|assistant|extractor|manager|ai|tool)\b",
    re.IGNORECASE,
)


def overrides_instructions(text: str) -> bool:
    """Whether a text poses as instructions, or as another speaker, to a language model."""
    beginning = text[:TEXT_MAX_CHARACTERS]
    return any(pattern.search(beginning) for pattern in (_OVERRIDE, _ROLE_MARK, _TAG))


def orders_memory(sentence: str) -> bool:
    """Whether a sentence orders a change of the memory, or speaks of the user as its model does."""
    return _ORDER.search(sentence[:TEXT_MAX_CHARACTERS]) is not None
