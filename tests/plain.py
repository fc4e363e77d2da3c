"""Compiled loops as plain Python."""

from __future__ import annotations

from contextlib import contextmanager


@contextmanager
def plain_loops(*modules):
    """Run the plain function beside each compiled one of modules in its place."""
    plain = [(module, name[1:]) for module in modules for name in vars(module) if name.startswith("_")]
    known = [(module, name, getattr(module, name)) for module, name in plain if hasattr(module, name)]
    try:
        for module, name, _ in known:
            setattr(module, name, getattr(module, f"_{name}"))
        yield
    finally:
        for module, name, function in known:
            setattr(module, name, function)
