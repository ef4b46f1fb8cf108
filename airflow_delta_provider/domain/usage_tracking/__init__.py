"""Usage tracking of column mapping, as the RFC has it: switched on and off by commits of ours, as no engine can.

Experimental: no engine implements the RFC (delta-io/delta#2682), which may change.
"""
