"""Contacts of vertices, edges and faces: collisions between two states, and features that are near each other."""
