"""Proofs that rows of a problem exclude each other, and sentences on them."""

from trajopt.analysis.contradictions.proofs import EXCLUDE, FROM_START
from trajopt.analysis.contradictions.reachable import BEYOND
from trajopt.analysis.contradictions.sentences import contradictions

__all__ = ["BEYOND", "EXCLUDE", "FROM_START", "contradictions"]
