"""Packages that the server and its clients need."""

from trajopt.objects.extras import Extra

SERVER = Extra("trajopt.mpc.server", "pyzmq msgpack", "server")
