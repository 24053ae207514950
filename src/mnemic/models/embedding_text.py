"""The text that is embedded for a memory."""


def embedded_text(name: str | None, content: str, context: str = "") -> str:
    """The content of a memory, preceded by its speaker and, for a chunk of a document, by its context."""
    text = f"{name}: {content}" if name else content
    return f"{context}\n{text}" if context else text
