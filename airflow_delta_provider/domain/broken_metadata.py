"""Errors about damaged metadata, shared by all table formats."""


class BrokenMetadataError(Exception):
    """An error for metadata that cannot be read as one table.

    The message names the missing or damaged file.
    """


class UnreadMetadataError(BrokenMetadataError):
    """An error for metadata that cannot be read here, or needs more memory than allowed.

    The metadata may be intact. The message names the file and the reason.
    """
