"""Stored memories and conversations: reading, changing, forgetting, restoring and relating them."""
