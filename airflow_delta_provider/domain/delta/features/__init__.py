"""Table features: one record each, in a module by what it is about; everything else looks into the records.

A new feature is a new ``Feature`` in one of these modules (or in a new one, named in ``registry``).
"""
