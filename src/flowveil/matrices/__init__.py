"""Frequency matrices of any dimension, and their release with noise."""
