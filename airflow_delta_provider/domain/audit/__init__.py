"""Audits of a table's history: which commit broke which rule, and whether a later commit fixed it."""
