"""Tests of the command line ``delta-provider``."""
