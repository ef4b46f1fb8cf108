"""Commits that no engine can make and this package writes itself: built, checked and refused here."""
