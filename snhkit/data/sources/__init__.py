"""The door for records: files, folders and frames become Arrow batches, and these ``Chunk``s."""
