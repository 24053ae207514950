"""The write path. `pipeline` tells it from start to end; every other module is one stage of it."""
