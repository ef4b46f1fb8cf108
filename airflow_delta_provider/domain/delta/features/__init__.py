"""Table features: one record each, in a module by what it is about; everything else looks into the records.

A new feature is a new ``Feature`` in the ``RECORDS`` of one of these modules (or of a new one, named in ``registry``).
"""
