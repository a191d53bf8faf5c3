"""Formula text to a small tree, and the tree to arrays, cells, JavaScript and readable math."""
