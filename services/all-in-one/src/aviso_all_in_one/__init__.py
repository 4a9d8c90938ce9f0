"""All services in one process."""
