"""The demo behind ``make demo``: real flights, types that became too small, and the tasks that mend it."""
