"""Remedies shared by several families, and RESTORE adapted to the finding and the table."""

from __future__ import annotations

from dataclasses import dataclass

#: Remedy for a table that no engine opens, so that none can change it.
BY_COMMIT = "as the next commit of the log: Delta Spark and deltalake refuse the table"
#: Delta Spark opens such a table only if the versions of its protocol imply features.
OR_BY_COMMIT = "If Delta Spark refuses, list it in a protocol action, as the next commit."
#: The reason why RESTORE may be refused; the property is read from the current table.
_TOO_OLD = (
    "Delta Spark refuses to go back to a version older than delta.deletedFileRetentionDuration ({retention}): set that "
    "property higher first. The data files of the version must still exist."
)
_MAKE_AGAIN = (
    "write the rows to a new table, with CREATE TABLE … AS SELECT, or from the data files if no engine opens the table"
)


@dataclass(frozen=True)
class Place:
    """A finding's place in the history of its table.

    :param version: version of the finding
    :param at_or_before: whether the log does not go back to a version without the finding
    :param oldest: first version that the log can reconstruct; None if there is none
    :param newest: newest version of the table
    :param retention: ``delta.deletedFileRetentionDuration`` of the table if the version before the finding is older;
        otherwise None
    """

    version: int
    at_or_before: bool
    oldest: int | None
    newest: int
    retention: str | None = None

    @property
    def sound(self) -> int | None:
        """The newest version without the finding; None if the log cannot reconstruct it."""
        known = self.oldest is not None and self.oldest < self.version and not self.at_or_before
        return self.version - 1 if known else None


class Restore(str):
    """A remedy that returns to the version before a finding.

    As a string, it is the remedy for any table, as on the page of rules. :meth:`at` returns the one for a finding.

    :param then: rest of the sentence, as in "RESTORE the table to the previous version<then>."
    :param first: sentence before that one
    :param instead: remedy that keeps the rows written since, or that needs no earlier version: a phrase that begins
        with a verb in lower case
    :param of_file: whether the version is the one before the file that the finding names was added
    """

    then: str
    first: str
    instead: str

    def __new__(cls, then: str = "", *, first: str = "", instead: str = "", of_file: bool = False) -> Restore:
        to = "a version before the file was added" if of_file else "the previous version"
        options = f"{_begun(instead)}, or RESTORE" if instead else "RESTORE"
        self = super().__new__(cls, _joined(first, f"{options} the table to {to}{then}.", "That loses later rows."))
        self.then, self.first, self.instead = then, first, instead
        return self

    def at(self, place: Place) -> str:
        """Return the remedy for a finding at this place."""
        if place.sound is None:
            missing = (
                "Version 0 has no version before it."
                if place.version == 0
                else f"The log leads to no version before {place.version}, so RESTORE cannot help."
            )
            return _joined(missing, self.first, f"{_begun(self.instead or _MAKE_AGAIN)}.")
        restore = f"RESTORE the table to version {place.sound}{self.then}."
        if self.instead:
            restore = f"{_begun(self.instead)}. Or {restore}"
        refused = "" if place.retention is None else _TOO_OLD.format(retention=place.retention)
        return _joined(self.first, restore, _loss(place), refused)


def _loss(place: Place) -> str:
    if place.newest == place.version:
        return f"RESTORE removes the rows that version {place.version} wrote."
    return (
        f"RESTORE removes all rows that versions {place.version} to {place.newest} wrote, including good ones: copy "
        "those first."
    )


def _begun(phrase: str) -> str:
    return phrase[:1].upper() + phrase[1:]


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))
