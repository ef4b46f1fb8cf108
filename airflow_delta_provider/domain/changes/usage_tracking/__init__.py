"""Usage tracking of column mapping, as the RFC has it: enabled and disabled by commits of this package.

Experimental: no engine implements the RFC (delta-io/delta#2682), which may change.
"""
