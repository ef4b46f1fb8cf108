"""The family ``UT``: usage tracking of column mapping."""
