"""Which rules are broken only because another one is: a root cause is told once, what follows from it under it."""

from __future__ import annotations

from collections.abc import Mapping

#: What is wrong with the lists of features: then nobody can tell which of them the table has.
_LISTS = ("TF01", "TF02", "TF03", "TF04", "TF05", "TF06")

#: By the code of what follows, the codes of what it may follow from, in the same commit.
CAUSES: Mapping[str, tuple[str, ...]] = {
    "TF13": ("TF10",),
    "MD09": ("MD04",),
    "TF08": ("TF11", "TF12", "TF14"),
    "TF15": ("TF11", "TF12", "TF14"),
    "TF25": ("TF11", "TF12", "CM09"),
    "TF22": ("TF11", "TF12", "TF14"),
    "AC05": ("TF11", "TF12", "TF08", "RT01", *_LISTS),
    "AC06": ("TF11", "TF12", *_LISTS),
    "AC08": ("MD11", "CM09", "CM20", "MD17"),
    "AC09": ("AC10",),
    "AC14": ("LG04",),
    "CM01": ("TF11", "TF12", *_LISTS),
    "CM03": ("CM09", "CM02"),
    "CM05": ("CM04",),
    "CM09": ("CM20", "MD17"),
    "CM14": ("MD17",),
    "MD11": ("MD17",),
    "CM06": ("CM09",),
    "CM07": ("CM10", "CM04", "CM12"),
    "CM08": ("CM09",),
    "CM12": ("CM11",),
    "CM13": ("CM10",),
    "CM17": ("CM03", "CM11"),
    "CM18": ("CM09", "CM11", "CM12", "CM01"),
    "RT01": ("TF11", "TF12", *_LISTS),
    "RT05": ("RT02", "RT13"),
    "RT07": ("RT11", "RT10", "RT14"),
    "RT08": ("RT15", "RT14", "RT11", "RT10", "RT07"),
    "RT10": ("TF11", "TF12"),
    "RT11": ("RT10",),
    "RT12": ("RT15", "RT14"),
    "RT14": ("RT15",),
    "RT15": ("RT10",),
    "RT16": ("RT15", "RT09"),
    "RT17": ("RT04",),
    "RT19": ("RT22", "RT15", "RT14", "RT11"),
    "RT21": ("RT07", "RT22"),
    "UT03": ("UT05", "UT06", "CM11"),
    "UT06": ("UT01",),
    "UT08": ("TF04", "TF05", "TF06", "TF21"),
    "TW01": ("TF11", "TF12", "TW15", *_LISTS),
    "TW02": ("TF11", "TF12", "TW15"),
    "TW15": ("TF11", "TF12"),
    "TW09": ("TW11", "TW04"),
    "TW07": ("TW08", "TW09", "TW12", "TW11"),
    "TW06": ("TW12",),
    "TW05": ("TW12",),
    "TW04": ("TW12", "TW08"),
    "TW03": ("TW12",),
    "TW08": ("MD13", "MD06"),
    "TW12": ("TW03", "TW08"),
    "TW16": ("TW08", "TW09", "TW12"),
}
#: Those of them that show later than their causes, too.
LASTING = frozenset(
    {"AC05", "AC06", "AC08", "AC09", "CM14", "CM18", "MD09", "TF13", "UT06"}
    | {"RT05", "RT07", "RT08", "RT11", "RT12", "RT14", "RT15", "RT19", "RT21"}
)
#: Those that are wrong with files which were right before their causes.
BACKWARD = frozenset({"CM18", "TW16"})
#: Those that follow only where both are about the same file.
OF_ONE_FILE = frozenset({"RT12", "RT14"})
#: Those that name a file which is live as long as they stand.
OF_LIVE_FILES = frozenset(
    {"AC06", "AC08", "AC10", "AC13", "AC15", "CM14", "LG04"}
    | {"RT05", "RT06", "RT07", "RT08", "RT09", "RT13", "RT14", "RT15", "RT16"}
)
#: What lies beside the commits and contradicts them follows from whatever is wrong with those.
BESIDE = frozenset({"LG05", "LG07", "LG08", "LG12"})
