"""What knows nothing about collision: compiling, vectors as values, dispatch, records, validation, threads."""
