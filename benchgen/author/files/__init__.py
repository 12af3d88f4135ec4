"""How the `file` author reads: tables and documents in, then shapes, answers and checks.

`results.py` what is asked for and found, `source.py` what all readers share, `decode.py` bytes to text; rows: `tables.py` by format, `delimited.py`,
`jsons.py`, `sheets.py`, `literal.py` lists written as text; roles: `words.py`, `headers.py`, `fields.py`,
`kinds.py`; multiple choice: `options.py`, `answers.py`, `mcq.py`, `positions.py`; other kinds: `plain.py`,
`numbers.py`, `points.py`, `tools.py`; `twins.py` repeated questions, `training.py` training rows,
`documents.py` texts; `frames.py` tables of facts, for the `table` author.
"""
