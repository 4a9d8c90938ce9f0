"""Who is asking, and what may they do."""
