"""From a request to its report: the kinds of job, the runner, and the command line."""
