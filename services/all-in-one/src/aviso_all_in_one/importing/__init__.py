"""A configuration file → the EventSchema manifests that mean the same, and what of it cannot be said in them."""
