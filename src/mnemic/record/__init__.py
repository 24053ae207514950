"""The record after it was written: reading, changing, forgetting and restoring memories,
conversations and documents."""
