"""Shapes on the globe: how they are written, and which edges they mean."""
