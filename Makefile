# make demo    train the domain-adversarial digit reader; prints a table, writes a picture
# make test    all tests, in two processes               (ARGS="-k matmul" to choose)
# make test-slow  what `make test` leaves out: each row of the op tables compiled alone, as sessions do (an hour)
# make lint    ruff and mypy
# make bench   side by side with TensorFlow, PyTorch and JAX  (ARGS="--quick" for a short look)
# make oracle  record again what TensorFlow answers: programs, layers and optimizers, every row of the op tables
# make pages   write docs/ops.md again, from the code and the test tables
# make fuzz    try changed files on every reader of files  (ARGS="bundle --count 10000 --seconds 60 --seed 7")
# make mutation  try a sample of small faults in the gradients: how many do the tests notice?
# make interrupts  Ctrl-C and kill -9 at random moments: is anything lost?    (ARGS="save 100" for one of them)
# make clean   remove everything these targets made
#
# Each target makes the environment it needs, and makes it again when pyproject.toml or a C file has changed.

PYTHON ?= python3
ARGS   ?=
RUN    := .venv/bin/python
ORACLE := .oracle/bin/python

.PHONY: demo test test-slow lint bench oracle pages fuzz interrupts mutation clean
.DELETE_ON_ERROR:

demo: .venv/ready
	$(RUN) examples/domain_adversarial_digits.py $(ARGS)

test: .venv/ready
	$(RUN) -m pytest -n 2 $(ARGS)

test-slow: .venv/ready
	$(RUN) -m pytest -n 2 -m slow $(ARGS)

lint: .venv/ready
	$(RUN) -m ruff check .
	$(RUN) -m mypy

# A peer that cannot be installed is reported as absent by the benchmark itself.
bench: .venv/ready
	-$(RUN) benchmarks/setup.py
	$(RUN) benchmarks/run.py $(ARGS)

oracle: .oracle/ready .venv/ready
	$(ORACLE) tests/programs/record.py $(ARGS)
	$(ORACLE) tests/recorded.py $(notdir $(patsubst %/recorded.py,%,$(wildcard tests/*/recorded.py)))
	$(ORACLE) tests/oracle.py
	$(RUN) tests/bounds.py
	$(ORACLE) tests/autodiff/random_programs.py
	$(ORACLE) tests/saved/record.py

pages: .venv/ready
	$(RUN) tests/ops_page.py
	$(RUN) tests/rules_page.py
	$(RUN) tests/autodiff/control_table.py

fuzz: .venv/ready
	nice $(RUN) tests/fuzz.py $(ARGS)

interrupts: .venv/ready
	$(RUN) tests/interrupts.py $(or $(ARGS),all)

mutation: .venv/ready
	$(RUN) -m pip install --quiet 'cosmic-ray==8.*'
	$(RUN) tests/mutation.py $(ARGS)

clean:
	rm -rf .venv .oracle .bench build dist *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis
	rm -f domain_adversarial_digits.png regrad/runtime/_native*.so
	find regrad tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +

define make_environment
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11+ is needed: make PYTHON=...")'
	$(PYTHON) -m venv --clear $(@D)
endef

.venv/ready: pyproject.toml $(wildcard regrad/runtime/*.[ch])
	$(make_environment)
	$(RUN) -m pip install --quiet --editable '.[dev]'
	$(RUN) -m compileall -q regrad # as pip does with what it copies; where Python keeps no bytecode, starting takes twice as long
	touch $@

.oracle/ready: pyproject.toml
	$(make_environment)
	$(ORACLE) -m pip install --quiet 'tensorflow-cpu==2.21.*' scipy
	$(ORACLE) -m pip install --quiet --no-deps 'tf_keras==2.21.*' # which would ask for the GPU build
	touch $@
