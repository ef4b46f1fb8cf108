"""What ``make`` calls, apart from the package."""
