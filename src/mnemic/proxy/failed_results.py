"""Which results of tools are failures, for APIs whose results carry no such mark."""

import re

HEAD_CHARS = 400
"""Tools report a failure at once, before what the command wrote."""

_FAILURE = re.compile(
    r"\A\W*(?:error|fatal|exception|failed|failure|traceback)\b"
    r"|\bexit(?:ed)?[ _]?(?:with )?(?:code|status)\W{0,4}[1-9]",
    re.IGNORECASE,
)


def says_failure(text: str) -> bool:
    """Whether a result begins with an error, or names an exit code other than 0."""
    return _FAILURE.search(text[:HEAD_CHARS]) is not None
