"""HTTP: requests and answers as plain objects, a front of our own with limits on everything, and one for ASGI."""
