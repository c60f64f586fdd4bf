"""Where vertices are, and what is known about them without touching them. Motions register themselves by being imported here."""
