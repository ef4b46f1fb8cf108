"""What became of the columns of a table: which were renamed or dropped, what of them may still lie in data files, and
whether column mapping can go without a rewrite.

:mod:`.column_changes` compares two schemas, :mod:`.column_history` folds the commits of a table, :mod:`.file_columns`
looks at the footers of data files. :mod:`.usage` and :mod:`.unmapping` judge what these say.

:mod:`.altered_schema` and :mod:`.tracked_schema` make a change of the columns of a schema, of what
:mod:`.resolution` found them to be and :mod:`.restrictions` allows.
"""
