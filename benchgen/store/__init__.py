"""The workspace's database and files.

Rows are what a record *is*; its artefacts (questions, traces, adapters) are files beside the database
whose sha256 the row holds.
"""

from benchgen.store.database import FILE, NOTE, Store
from benchgen.store.engines import BUSY_S
from benchgen.store.files import (
    cut_torn_line,
    file_sha256,
    make_folder,
    parse_line,
    read_json,
    read_jsonl,
    write_atomic,
    write_json,
    write_jsonl,
)
from benchgen.store.rows import (
    SCHEMA,
    Base,
    BenchmarkRow,
    JobRow,
    MetaRow,
    ModelRow,
    PlanRow,
    Row,
    RunRow,
    WriteRow,
    now,
)

__all__ = [
    "BUSY_S",
    "FILE",
    "NOTE",
    "SCHEMA",
    "Base",
    "BenchmarkRow",
    "JobRow",
    "MetaRow",
    "ModelRow",
    "PlanRow",
    "Row",
    "RunRow",
    "Store",
    "WriteRow",
    "cut_torn_line",
    "file_sha256",
    "make_folder",
    "now",
    "parse_line",
    "read_json",
    "read_jsonl",
    "write_atomic",
    "write_json",
    "write_jsonl",
]
