"""Which events a request selects: one definition, and an index that finds the same faster."""
