"""``delta-provider``: audits and changes from a terminal and from CI."""
