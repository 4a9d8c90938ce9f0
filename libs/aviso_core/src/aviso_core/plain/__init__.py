"""Plain values, as YAML and JSON give them, into structs, with every fault at once."""
