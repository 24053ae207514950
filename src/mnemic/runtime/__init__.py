"""What an open memory runs on: its database, its models, its in-process worker, its counters."""
