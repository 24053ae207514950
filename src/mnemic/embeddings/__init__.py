"""Vectors of memories after they are stored: the backlog, a change of model, indexes of large owners."""
