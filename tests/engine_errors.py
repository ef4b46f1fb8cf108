"""What errors of the engine are raised as."""

from __future__ import annotations

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.base import PySparkException

#: Those that Py4J passes on, and what they become once anything has imported Delta's Python package.
ENGINE_ERRORS = (Py4JJavaError, PySparkException)
