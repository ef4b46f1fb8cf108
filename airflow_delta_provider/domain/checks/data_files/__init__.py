"""The family ``DF``: data files and their footers."""
