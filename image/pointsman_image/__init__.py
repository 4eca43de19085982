"""The container image of Pointsman, made from Debian packages, wheels and this checkout."""
