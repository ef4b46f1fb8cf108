"""The kind ``check-row-tracking``: reads the input of the rules and of the proof of row ids."""
