"""The parts of a plan, each a function that adds its steps to a draft."""
