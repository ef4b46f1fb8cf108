"""``delta-provider``: audits and changes tables from a terminal or from CI."""
