"""Mutation testing: mistakes, what they are tried on, and how."""
