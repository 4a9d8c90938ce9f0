"""Files that declare something, read so that every fault is found and says where it stands."""
