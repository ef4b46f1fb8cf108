"""The unit tier: the domain alone, no Spark. The same examples at every run, none kept on disk."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "unit",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("unit")
