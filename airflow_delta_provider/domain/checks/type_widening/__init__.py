"""The family ``TW``: type widening."""
