"""From a file to chunks that can be recalled: `source` reads what a document holds, `chunks` cuts it.

Each format has a module of its own (`html`, `markdown`, `pdf`); all of them give a `Reading`: plain text, and
where in it which heading or page begins. Nothing in here knows a database or a model.
"""
