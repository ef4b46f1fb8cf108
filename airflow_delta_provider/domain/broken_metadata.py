"""What every format's errors about damaged metadata have in common."""


class BrokenMetadataError(Exception):
    """The metadata of a table cannot be read as one table; the message says which file is missing or damaged."""


class UnreadMetadataError(BrokenMetadataError):
    """Metadata that nothing here can read, or that needs more memory than a table may take. It may be whole.

    The message says which file, and why.
    """
