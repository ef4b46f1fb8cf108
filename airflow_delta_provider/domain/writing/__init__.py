"""Commits that no engine can make and this package writes itself: built, judged and refused here."""
