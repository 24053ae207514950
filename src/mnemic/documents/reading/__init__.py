"""From a file to chunks: `source` reads the text of a document, `chunks` splits it.

Each format has a module of its own (`html`, `markdown`, `pdf`); each returns a `DocumentText`: plain text and
the positions where headings and pages begin. This package knows neither the database nor a model.
"""
