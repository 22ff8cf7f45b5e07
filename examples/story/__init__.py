"""The whole story in a few minutes: train, save, reload, import, fine-tune."""
