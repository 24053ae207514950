"""How recall finds candidates: one module for each way to find them.

- `lexical`: by the words of the query; `query_terms` reads those words and their statistics.
- `semantic`: by the query's vector; `filtered` replaces that search where a filter leaves few memories.
- `granted`: the searches for the reader of a grant, among the granted memories only.
- `entities`: by the entities that the query names.
- `time_windows`: by the times that the query names.
- `neighbours`: the turns around the best candidates of all other searches.

`collection` runs them for every readable owner and `pool` merges what they find. A candidate is known by its
memory id (`Key`) until it is selected.
"""
