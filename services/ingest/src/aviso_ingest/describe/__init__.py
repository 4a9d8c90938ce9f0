"""What this service says of itself in the OpenAPI document."""
