"""Packages of the extra `display`: viser serves the page, and trimesh reads meshes."""

from trajopt.objects.extras import Extra

DISPLAY = Extra("trajopt.display", "viser trimesh pycollada", "display")
