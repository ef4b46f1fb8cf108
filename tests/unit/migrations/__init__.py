"""Tests of planning migrations."""
