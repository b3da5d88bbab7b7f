"""Case files and generators: where cases come from."""
