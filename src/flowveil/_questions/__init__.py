"""What people ask of trips, answered from the input and from a release of it."""

from flowveil._questions.asking import ask
from flowveil._questions.compared import Answered
from flowveil._questions.paths import ask_paths
from flowveil._questions.words import answer_rows

__all__ = ["Answered", "answer_rows", "ask", "ask_paths"]
