"""Pictures and HTML reports of results. Nothing below this layer imports it."""
