"""What every format's errors about damaged metadata have in common."""


class BrokenMetadataError(Exception):
    """The metadata of a table cannot be read as one table; the message says which file is missing or damaged."""
