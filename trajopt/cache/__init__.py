"""What is kept on disk between processes, and where."""

from trajopt.cache.disk import CacheInfo, clear, contains, directory, info, key, limit, load, store

__all__ = ["CacheInfo", "clear", "contains", "directory", "info", "key", "limit", "load", "store"]
