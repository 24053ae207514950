"""The version of this package; a module of its own, which every layer can import."""

__version__ = "0.1.0"
