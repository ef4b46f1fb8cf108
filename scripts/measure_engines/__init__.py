"""Measures what real engines do with tables that Delta Spark makes: ``make measure``, outside CI.

``results.json`` holds what was measured, with the day; a test compares it with the profiles of engines.
"""
