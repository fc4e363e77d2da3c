"""Fuzzing: targets, what is fed to them, and what they may do with it."""
