"""`mnemic demo`: what Mnemic does, on the embedded server, in a folder that is thrown away."""


def demo() -> None:
    """Show Mnemic at work, in a folder that is thrown away."""
