"""Judging the whole history of a table: which commit broke which rule, and whether it was healed."""
