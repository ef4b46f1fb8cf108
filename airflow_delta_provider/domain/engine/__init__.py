"""Capabilities of engine releases, and the setup of Spark sessions for them."""
