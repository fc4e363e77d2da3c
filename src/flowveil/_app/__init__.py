"""The web app: a page on this computer that does what the command line does. Needs the extra `web`."""

from flowveil._app.server import serve

__all__ = ["serve"]
