"""Files and folders: what appears whole or not at all, private neighbors, locks, JSON that anyone may have written."""

from flowveil._folder.files import (
    ASSIGNMENT,
    AUDIT,
    BESIDE,
    MEMBERS,
    PRIVATE_REPORT,
    check_file,
    check_folder,
    find_target,
    make_private,
    new_file,
    new_folder,
    private_file,
    public_file,
    settle,
)
from flowveil._folder.json import Json, parse_json, read_json
from flowveil._folder.scratch import own_folder, scratch_folder

__all__ = [
    "ASSIGNMENT",
    "AUDIT",
    "BESIDE",
    "MEMBERS",
    "PRIVATE_REPORT",
    "Json",
    "check_file",
    "check_folder",
    "find_target",
    "make_private",
    "new_file",
    "new_folder",
    "own_folder",
    "parse_json",
    "private_file",
    "public_file",
    "read_json",
    "scratch_folder",
    "settle",
]
