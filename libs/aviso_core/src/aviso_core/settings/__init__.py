"""The configuration of a process: typed, loaded from files and environment, refused with every fault at once."""
