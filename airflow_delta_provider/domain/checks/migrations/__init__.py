"""``MG``: the damage and losses of a migration, and its irreversible effects.

Checked on the plan, before any change.
"""
