"""The engine room: requests wait in bounded queues, share runs, and are answered off the event loop."""
