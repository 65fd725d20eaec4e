"""From files people have to facts: config.json, safetensors indexes, folders."""
