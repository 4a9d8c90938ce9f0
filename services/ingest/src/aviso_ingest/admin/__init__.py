"""What administrators may do to what is stored."""
