"""Questions: asked before and after, judged, answered with a reason."""
