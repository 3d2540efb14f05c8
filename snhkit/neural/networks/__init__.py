"""The paper's networks: augmentation, architectures, training and answers (Sec. 4)."""
