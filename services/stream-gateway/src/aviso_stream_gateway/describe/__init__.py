"""What this service says of its routes in the OpenAPI document."""
