"""Images of one's own: a convolutional network trained on a folder of files."""
