"""`python -m qwen3_tts_ncnn.runtime.cli`, the same as the console command."""

from qwen3_tts_ncnn.runtime.cli.main import main

if __name__ == "__main__":
    main()
