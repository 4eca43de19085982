"""A release's ConfigMaps as a directory of files, a whole generation at a time."""
