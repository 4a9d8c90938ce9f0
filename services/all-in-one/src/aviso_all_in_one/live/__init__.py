"""What applying manifests would change of what is live: asked of the broker, worked out, shown."""
