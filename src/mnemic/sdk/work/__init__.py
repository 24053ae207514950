"""The jobs that Mnemic does itself, one module for each kind; `sdk/working.py` lists them."""
