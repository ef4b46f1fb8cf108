"""Recognition of lines and commits that match earlier ones without findings."""
