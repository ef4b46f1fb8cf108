"""Usage tracking of column mapping, as in the RFC. This provider commits these changes itself.

Experimental: no engine implements the RFC (delta-io/delta#2682), which may change.
"""
