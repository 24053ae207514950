"""What keeps memory accountable: the audit log and the memory log."""
