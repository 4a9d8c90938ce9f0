"""What is said about event types: pure functions from schemas to answers, JSON Schemas, examples, AsyncAPI."""
