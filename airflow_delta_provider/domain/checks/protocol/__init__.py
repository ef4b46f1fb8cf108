"""The family ``TF``: protocol and table features."""
