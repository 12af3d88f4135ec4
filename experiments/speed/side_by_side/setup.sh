#!/usr/bin/env bash
# Makes .venv beside this file with the rivals of requirements.txt: about 2 GB and two minutes.
set -euo pipefail
cd "$(dirname "$0")"
"${PYTHON:-python3.11}" -m venv --clear .venv
pip=(.venv/bin/python -m pip --disable-pip-version-check --no-input -q install --no-compile)
"${pip[@]}" torch==2.13.0 # first, so that the rest finds a torch already there
"${pip[@]}" -r requirements.txt
