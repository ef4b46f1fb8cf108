"""The catalogue of coded rules: one static table per family."""
