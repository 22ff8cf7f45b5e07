"""What is recognised on a program and made one node of: attention, what follows a kernel, images channels-last."""
