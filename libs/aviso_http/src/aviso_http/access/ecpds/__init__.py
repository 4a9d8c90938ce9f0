"""The plugin that lets a reader see only the destinations that the ECPDS servers grant."""
