"""The plain values that travel between the layers: frozen dataclasses and literals, no behaviour
that needs a database."""
