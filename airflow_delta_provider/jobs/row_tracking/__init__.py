"""The kind ``check-row-tracking``: reading what the rules and the proof of row ids look at."""
