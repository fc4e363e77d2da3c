"""Trials that take too long for `make test`; docs/reliability.md has what they gave."""
