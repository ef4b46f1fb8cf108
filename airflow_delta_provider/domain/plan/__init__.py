"""Plans: tuples of inert steps, and the visitors that render and explain them."""
