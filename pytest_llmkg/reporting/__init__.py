"""A run as something to look at: typed view rows, and the page, tables and text made of them."""
