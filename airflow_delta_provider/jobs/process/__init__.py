"""The process of a job: who waits for it, how long it may take, what it says until then."""
