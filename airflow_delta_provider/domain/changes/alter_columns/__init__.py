"""Adding, renaming and dropping columns: name resolution, restrictions, the new schema, verification."""
