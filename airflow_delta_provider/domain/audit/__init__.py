"""Running the checks over a table's history: which commit broke which rule, and whether a later one fixed it."""
