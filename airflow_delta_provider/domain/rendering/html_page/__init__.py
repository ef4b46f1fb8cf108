"""A report as one self-contained HTML page: no network, no server, and readable without scripts."""
