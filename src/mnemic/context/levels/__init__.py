"""Shorter texts of an object, by kind of content and without a model."""
