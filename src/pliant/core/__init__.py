"""Foundations without collision code: compilation, SIMD vectors, dispatch, records, validation, threads."""
