"""What every job stands on: arguments, session, a way to stop, and the report at the end."""
