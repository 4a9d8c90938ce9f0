"""The operator: `EventSchema` resources become streams, published schemas, and a status that can be believed."""
