"""Disk cache of compiled code and programs, shared by all processes of a user."""

from trajopt.cache.contents import EXPRESSION, FORMS, OPTIMISED_CODE, OTHER, PROGRAM, QUICK_CODE, Content, contents
from trajopt.cache.disk import CacheInfo, clear, contains, directory, info, key, labels, limit, load, store

__all__ = [
    "EXPRESSION",
    "FORMS",
    "OPTIMISED_CODE",
    "OTHER",
    "PROGRAM",
    "QUICK_CODE",
    "CacheInfo",
    "Content",
    "clear",
    "contains",
    "contents",
    "directory",
    "info",
    "key",
    "labels",
    "limit",
    "load",
    "store",
]
