"""The domain of the notification service: no web framework, no Kubernetes, no Spark."""
