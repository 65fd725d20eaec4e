"""One module an engine: how it lays out its cache, and what it needs beside weights and cache."""
