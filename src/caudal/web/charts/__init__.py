"""Charts as inline SVG, drawn on the server; beside each stands the table it shows."""
