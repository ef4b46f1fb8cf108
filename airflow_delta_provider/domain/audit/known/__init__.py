"""Lines and commits that are like ones which were judged before, and with which nothing was wrong."""
