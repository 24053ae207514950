"""The text that is embedded for a memory."""


def embedded_text(name: str | None, content: str, context: str = "") -> str:
    """The content of a memory, preceded by its speaker and, for a chunk of a document, by its context."""
    said = f"{name}: {content}" if name else content
    return f"{context}\n{said}" if context else said
