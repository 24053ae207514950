"""Work that is done later: the queue, the worker that empties it, and what is done again and again."""
