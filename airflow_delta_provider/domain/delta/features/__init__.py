"""Table features: one record each, in a module by topic; all other code reads the records.

A new feature is a new ``Feature`` in one of these modules (or in a new one, named in ``registry``).
"""
