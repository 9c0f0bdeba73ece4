"""Disk cache of compiled code and programs, shared by all processes of a user."""

from trajopt.cache.disk import CacheInfo, clear, contains, directory, info, key, limit, load, store

__all__ = ["CacheInfo", "clear", "contains", "directory", "info", "key", "limit", "load", "store"]
