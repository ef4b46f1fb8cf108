"""Reports as people read them, composed of findings and of what their rules say."""
