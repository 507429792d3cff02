"""`qwen3-tts-ncnn bench`: how fast packages are, measured beside PyTorch in one run of alternating rounds."""
