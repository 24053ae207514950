"""The hidden call that brings the opening: the same in every request, for the provider's cache."""

OPENING_TOOL = "recall"
OPENING_QUERY = "this user, this work"
