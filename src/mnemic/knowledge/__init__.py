"""What the memories are about: entities, facts, relations, triples."""
