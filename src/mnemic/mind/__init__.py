"""What the memories are about: entities, facts, relations, statements; names and times in texts."""
