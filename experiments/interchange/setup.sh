#!/usr/bin/env bash
# Makes .venv beside this file with the tools of requirements.txt: about 0.75 GB and a minute; torch is not needed.
set -euo pipefail
cd "$(dirname "$0")"
"${PYTHON:-python3.11}" -m venv --clear .venv
.venv/bin/python -m pip --disable-pip-version-check --no-input -q install --no-compile -r requirements.txt
