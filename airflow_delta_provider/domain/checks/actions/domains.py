"""``domainMetadata`` and ``txn`` actions: AC04, AC05 and AC07."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from airflow_delta_provider.domain.checks.actions.family import FAMILY, UPDATE
from airflow_delta_provider.domain.checks.check import on_commit, on_transition
from airflow_delta_provider.domain.checks.healing import Details, Healing
from airflow_delta_provider.domain.checks.protocol.changes import FEATURE_VANISHED, VERSION_LOWERED
from airflow_delta_provider.domain.checks.protocol.lists import LISTS
from airflow_delta_provider.domain.checks.protocol.missing_features import MISSING_DEPENDENCY
from airflow_delta_provider.domain.checks.row_tracking import state as row_tracking
from airflow_delta_provider.domain.checks.row_tracking.commits import REISSUED_ROW_IDS
from airflow_delta_provider.domain.checks.row_tracking.history import HIGH_WATER_MARK_LOWERED
from airflow_delta_provider.domain.checks.rule import Scope, causes
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.features.commits import DOMAIN_METADATA
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding

_commit = FAMILY.of(Scope.COMMIT)


def _domains(commit: Commit) -> list[str]:
    return [domain.domain for domain in commit.domains]


def _applications(commit: Commit) -> list[str]:
    return [str(txn.get("appId")) for txn in commit.transactions]


def _until_once(names: Callable[[Commit], list[str]]) -> Healing:
    """Return the healing of violations that are open until a commit has one action for the finding's subject."""
    return Healing(lambda later, finding, _: names(later.commit).count(finding.subject or "") != 1)


DOMAIN_TWICE = _commit.error(
    4,
    "several domainMetadata actions for one domain in a commit",
    effect="Readers may pick either of them.",
    remedy="Set the domain again in one commit, and update the engine that wrote this one.",
    healing=_until_once(_domains),
    shows="domainMetadata",
    leads_to=(HIGH_WATER_MARK_LOWERED, REISSUED_ROW_IDS),
)
TRANSACTION_TWICE = _commit.error(
    7,
    "several txn actions for one application in a commit",
    effect="A stream that resumes from there may write data twice, or leave some out.",
    remedy=UPDATE,
    healing=_until_once(_applications),
    shows="txn",
)


@on_commit(DOMAIN_TWICE, TRANSACTION_TWICE)
def _twice(commit: Commit) -> Iterator[Finding]:
    for rule, names, actions in (
        (DOMAIN_TWICE, _domains, "domainMetadata actions for"),
        (TRANSACTION_TWICE, _applications, "txn actions for the application"),
    ):
        for name, times in Counter(names(commit)).items():
            if times > 1:
                yield rule.found(f"The commit has {{times}} {actions} {{subject}}.", subject=name, times=times)


def _domain_is_not_allowed(later: Transition, finding: Finding, _: Details) -> bool:
    return not later.after.protocol.supports(DOMAIN_METADATA) and finding.subject in later.after.domains


DOMAIN_WITHOUT_FEATURE = _commit.error(
    5,
    "domainMetadata without the feature",
    effect="Writers may silently lose the domain.",
    remedy="Enable the feature: DeltaEnableFeatureOperator(features=['domainMetadata']).",
    source="PROTOCOL.md, Domain Metadata",
    follows_from=causes(
        FEATURE_VANISHED, VERSION_LOWERED, MISSING_DEPENDENCY, row_tracking.ENABLED_WITHOUT_FEATURE, *LISTS, later=True
    ),
    healing=Healing(_domain_is_not_allowed),
    shows="domainMetadata",
)


@on_transition(DOMAIN_WITHOUT_FEATURE)
def _domain_without_feature(transition: Transition) -> Iterator[Finding]:
    domains = [domain for domain in transition.commit.domains if not domain.removed]
    if domains and not any(state.protocol.supports(DOMAIN_METADATA) for state in (transition.before, transition.after)):
        yield DOMAIN_WITHOUT_FEATURE.found(
            "The commit sets domainMetadata of {subject}, but the protocol ({protocol}) does not have domainMetadata.",
            subject=domains[0].domain,
            protocol=str(transition.after.protocol),
        )
