"""The denoised grid: a network that was trained on public cities cleans one noisy grid."""
