# The commands a person types. Everything is installed into .venv, nothing anywhere else.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TTS := $(BIN)/qwen3-tts-ncnn
DEMO := build/demo
BENCH := build/bench
BENCH_NAME := $(BENCH)/0.6b-customvoice
BENCH_TEXT := --text "Good evening, and welcome to the night train." --speaker serena --language english

.PHONY: help env demo test check parity-full bench profile clean

help:
	@echo "make demo         a tiny random model: convert it, speak a sentence, compare it with PyTorch"
	@echo "make test         every test but the official-size ones"
	@echo "make check        ruff, format, mypy"
	@echo "make parity-full  official sizes with random weights: convert, compare (an hour, 18 GB of memory)"
	@echo "make bench        official size, random weights: int8 and fp32 beside PyTorch, on free cores (10 minutes, 12 GB)"
	@echo "make profile      where a frame's time goes in the same int8 package"
	@echo "make clean        remove what these made, the environment included"

env: $(VENV)/installed

# qwen-tts and dashscope come without their requirements: the first draws in a web interface and a CUDA build of torch,
# the second is here for the vocabulary it carries.
$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps qwen-tts==0.1.1 dashscope==2.0.2
	touch $@

demo: env
	rm -rf $(DEMO)
	$(TTS) checkpoint $(DEMO)/tiny-customvoice --preset tiny --type custom_voice
	$(TTS) convert $(DEMO)/tiny-customvoice -o $(DEMO)/tiny-customvoice-fp32
	$(TTS) speak $(DEMO)/tiny-customvoice-fp32 "Hello, this is a demonstration." --speaker ryan --language english --seed 7 -o demo.wav
	$(TTS) parity $(DEMO)/tiny-customvoice-fp32 $(DEMO)/tiny-customvoice

# Passive: libgomp's threads spin while they wait, which costs a hundredfold where another process has the core.
# Two processes, and a file's tests in one of them: its fixtures are made once.
test: env
	OMP_WAIT_POLICY=passive $(BIN)/python -m pytest --numprocesses 2 --dist loadfile

# mypy follows a package-dir mapping only through folders of the installed names.
check: env
	mkdir -p build/typed/qwen3_tts_ncnn
	for room in runtime convert parity models; do ln -sfn ../../../$$room build/typed/qwen3_tts_ncnn/$$room; done
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -p qwen3_tts_ncnn

parity-full: env
	$(BIN)/python -m pytest -m full -s tests/full

bench: $(BENCH_NAME)-int8/model.json
	$(TTS) bench $(BENCH_NAME)-int8 $(BENCH_NAME)-fp32 --checkpoint $(BENCH_NAME) \
		$(BENCH_TEXT) --rounds 3 --frames 40 --positions 50,2000 --chart $(BENCH)/bench.png --json $(BENCH)/bench.json

profile: $(BENCH_NAME)-int8/model.json
	$(BIN)/python -m qwen3_tts_ncnn.parity.bench.profile $(BENCH_NAME)-int8 $(BENCH_TEXT)

$(BENCH_NAME)/config.json: | env
	$(TTS) checkpoint $(BENCH_NAME) --preset 0.6b --type custom_voice

$(BENCH_NAME)-fp32/model.json: $(BENCH_NAME)/config.json
	$(TTS) convert $(BENCH_NAME) -o $(BENCH_NAME)-fp32 --overwrite

$(BENCH_NAME)-int8/model.json: $(BENCH_NAME)-fp32/model.json
	$(TTS) convert $(BENCH_NAME)-fp32 -o $(BENCH_NAME)-int8 --precision int8 --overwrite

clean:
	rm -rf build $(VENV) demo.wav
