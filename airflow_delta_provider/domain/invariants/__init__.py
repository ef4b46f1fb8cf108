"""What has to hold in every version of a table: rules about one state, and about a commit between two."""
