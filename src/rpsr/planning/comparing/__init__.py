"""Two policies or plans side by side: where they differ and what that costs."""
