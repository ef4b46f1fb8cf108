"""Measures what real engines do with tables that Delta Spark makes: ``make measure``, outside CI.

``tables.py`` has one table per feature, which engines read and append to; ``situations.py`` has tables in which
features, types, values and earlier changes meet, which engines read in full and by predicates.

``results.json`` holds what was measured, with the day; a test compares it with the profiles of engines.
"""
