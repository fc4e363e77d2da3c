"""Faults: a library loaded before all others that counts what a process does to the disk, and lets it go wrong."""
