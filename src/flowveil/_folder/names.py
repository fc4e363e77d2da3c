"""What a release folder and the private files beside it are called, and words with a meaning inside them."""

FLOWS, AREAS, MANIFEST, REPORT = "flows.parquet", "areas.parquet", "manifest.json", "report.html"
TRAJECTORIES, CELLS, MARGINALS = "trajectories.parquet", "cells.parquet", "marginals.parquet"
SAMPLES, PLACES, MODEL = "samples.parquet", "places.parquet", "model.parquet"

AUDIT, ASSIGNMENT, MEMBERS, PRIVATE_REPORT = ".audit.json", ".assignment.parquet", ".members.parquet", ".private.html"
BESIDE = (AUDIT, ASSIGNMENT, MEMBERS, PRIVATE_REPORT)  # all private files of a release: what names add to the folder's

SIDES = ("origin", "destination")
# Steps of time that begin again, whatever the date, and how many there are.
CYCLES = {"hour-of-day": 24, "hour-of-week": 168, "weekday-weekend": 2, "day-type": 3}
TIMES = ("time", "time_end")  # the second where steps differ in length
TOTAL = "total"  # the group of all groups together
REMAINDER = "remainder"  # column of flows: whether finer flows inside were taken out
ELSEWHERE = "elsewhere"  # the other end of a flow of trips that were left out
# Units that are no column: k counts trips, or the persons of a table in which each is counted once.
TRIP, COUNTED_PERSON = "trip", "counted person"
NO_COLUMN = (TRIP, COUNTED_PERSON)
# Kinds of promises: crowds, any few points of a user, and noise.
CROWDS, KNOWN_POINTS, NOISE = "k-anonymity", "km-anonymity", "differential-privacy"
