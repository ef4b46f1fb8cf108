"""A report as one HTML page that needs nothing else: no network, no server, and no script to be read."""
