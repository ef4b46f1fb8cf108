"""The causes of violations: rules that may break another one. A report shows a violation below its cause.

Causes are codes here, so that no family imports another one for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Causes(NamedTuple):
    """The rules that may have caused a violation.

    :param codes: codes of the rules, the likeliest first
    :param later: True if it can also appear in later commits than the cause
    :param earlier: True if files that were right before the cause can be wrong through it
    :param same_file: True if it follows only if both are about the same file
    :param any_commit: True if it follows from any error in a commit, as in files derived from the commits
    :param afterwards: codes of further rules that can cause it only in later commits
    :param once_fixed: codes of further rules that can cause it only in the commit that fixes them
    """

    codes: tuple[str, ...] = ()
    later: bool = False
    earlier: bool = False
    same_file: bool = False
    any_commit: bool = False
    afterwards: tuple[str, ...] = ()
    once_fixed: tuple[str, ...] = ()

    @property
    def all_codes(self) -> tuple[str, ...]:
        return *self.codes, *self.afterwards, *self.once_fixed


def causes(
    *codes: str, afterwards: tuple[str, ...] = (), once_fixed: tuple[str, ...] = (), **conditions: bool
) -> Causes:
    """Return causes; see :class:`Causes` for the parameters."""
    return Causes(codes, afterwards=afterwards, once_fixed=once_fixed, **conditions)


#: Causes by the code of the consequence.
CAUSES: Mapping[str, Causes] = {
    "LG05": causes("LG14", later=True, any_commit=True),
    "LG07": causes("LG14", later=True, any_commit=True),
    "LG08": causes(later=True, any_commit=True),
    "LG12": causes(later=True, any_commit=True),
    "LG14": causes(later=True, any_commit=True),
    "LG27": causes(later=True, any_commit=True),
    "AC05": causes("TF11", "TF12", "TF08", "RT01", "TF01", "TF02", "TF03", "TF04", "TF05", "TF06", later=True),
    "AC06": causes("TF11", "TF12", "TF01", "TF02", "TF03", "TF04", "TF05", "TF06", later=True),
    "AC08": causes("MD11", "MD05", "CM09", "CM20", "MD17", later=True),
    "AC09": causes("AC10", "AC22", "LG04", later=True),
    "AC11": causes(once_fixed=("TF11", "TF12", "TF15")),
    "AC14": causes("LG04", "AC16"),
    "AC18": causes("MD27", later=True),
    "AC22": causes("AC10", "AC15"),
    "AC24": causes("MD11", "MD17", "AC08", "AC12", "CM14", later=True),
    "TF03": causes("TF28"),
    "TF04": causes("TF28"),
    "TF05": causes("TF28"),
    "TF06": causes("TF09", "TF11", "TF12"),
    "TF07": causes("TF09", "TF11", "TF12", "CM01", "TW01"),
    "TF08": causes("TF09", "TF11", "TF12", "TF14"),
    "TF13": causes("TF10", later=True),
    "TF11": causes("TF09"),
    "TF12": causes("TF09"),
    "TF14": causes("TF09"),
    "TF15": causes("TF09", "TF11", "TF12", "TF14"),
    "TF22": causes("TF09", "TF11", "TF12", "TF14", "TW14"),
    "TF25": causes("TF11", "TF12", "CM09", "CM11"),
    "TF30": causes("TF25", "TF27", later=True, earlier=True),
    "MD09": causes("MD04", later=True),
    "MD11": causes("MD17", once_fixed=("MD11",)),
    "MD12": causes("MD17"),
    "MD14": causes("MD05", "MD11", "MD28"),
    "MD16": causes("CM20", later=True),
    "MD25": causes("MD24", "MD15"),
    "MD28": causes("TF11", "TF12", "AC05", "RT01", "TF01", "TF02", "TF03", "TF04", "TF05", "TF06", later=True),
    "MD29": causes("MD28"),
    "MD31": causes(once_fixed=("MD16",)),
    "MD32": causes("MD38", "AC18", "CM15", later=True, same_file=True),
    "MD35": causes("MD15", "MD24"),
    "MD36": causes("MD15", "MD24"),
    "CM01": causes("TF11", "TF12", "TF01", "TF02", "TF03", "TF04", "TF05", "TF06"),
    "CM02": causes("MD19"),
    "CM03": causes("CM09", "CM02", "MD19"),
    "CM04": causes(
        "MD06",
        afterwards=(
            "CM06",
            "CM07",
            "CM10",
        ),
    ),
    "CM05": causes("CM04", "MD06", later=True),
    "CM06": causes("CM09"),
    "CM07": causes("CM10", "CM04", "CM12", afterwards=("CM06",)),
    "CM08": causes("CM09"),
    "CM09": causes("CM20", "MD17", "MD03"),
    "CM11": causes("TW08"),
    "CM12": causes("CM11"),
    "CM13": causes("CM10"),
    "CM14": causes("MD17", "MD11", "CM09", later=True),
    "CM17": causes("CM03", "CM09", "CM11", "MD28"),
    "CM18": causes("CM09", "CM11", "CM12", "CM16", "CM13", "CM01", later=True, earlier=True),
    "UT03": causes("UT05", "UT06", "CM11"),
    "UT06": causes("UT01", later=True),
    "UT08": causes("TF04", "TF05", "TF06", "TF21"),
    "TW01": causes("TF11", "TF12", "TW15", "TF01", "TF02", "TF03", "TF04", "TF05", "TF06"),
    "TW02": causes("TF11", "TF12", "TW15"),
    "TW03": causes("TW12"),
    "TW04": causes("TW12", "TW08"),
    "TW05": causes("TW12"),
    "TW06": causes("TW12", afterwards=("TW07",)),
    "TW07": causes("TW08", "TW09", "TW12", "TW11"),
    "TW08": causes("MD13", "MD06"),
    "TW09": causes("TW11", "TW04", "TW05"),
    "TW12": causes("TW03", "TW08", "TW09", "CM09"),
    "TW15": causes("TF11", "TF12"),
    "TW16": causes("TW08", "TW09", "TW12", "CM16", "CM11", "CM12", "CM13", "CM09", later=True, earlier=True),
    "RT01": causes("TF11", "TF12", "TF01", "TF02", "TF03", "TF04", "TF05", "TF06"),
    "RT05": causes("RT02", "RT13", later=True, once_fixed=("TF11", "TF12", "RT01")),
    "RT06": causes("AC10", "AC18", "MD32"),
    "RT07": causes("RT11", "RT10", "RT14", later=True),
    "RT08": causes("RT15", "RT14", "RT11", "RT10", "RT07", "AC22", later=True, earlier=True),
    "RT10": causes("TF11", "TF12"),
    "RT11": causes("RT10", "AC04", later=True),
    "RT12": causes("RT15", "RT14", later=True, same_file=True),
    "RT14": causes("RT15", later=True, same_file=True),
    "RT15": causes("RT10", "AC04", "AC23", later=True),
    "RT16": causes("RT15", "RT09"),
    "RT17": causes("RT04"),
    "RT19": causes("RT22", "RT15", "RT14", "RT08", "RT11", "RT10", later=True),
    "RT21": causes("RT07", "RT15", "RT22", "RT11", "RT10", later=True),
    "DF03": causes("AC22", same_file=True),
    "DF07": causes("MD31", later=True),
    "DF11": causes("TW08", "TW09", "TW12", "CM16", "CM11", "CM12", "CM13", "CM09", later=True, earlier=True),
}


def causes_of(code: str) -> Causes:
    """Return the causes of violations of a rule; without any if nothing causes them."""
    return CAUSES.get(code, _NONE)


_NONE = Causes()
