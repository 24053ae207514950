"""The map of an owner's memories: near each other if they mean similar things."""
