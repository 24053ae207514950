"""Documents: a text under a name, read from a file, split into chunks and ingested in the background."""
