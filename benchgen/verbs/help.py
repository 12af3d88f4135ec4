"""What `--help` prints: all verbs, one verb with its own keys, or one group of settings."""

from __future__ import annotations

import dataclasses
from typing import Any

import yaml

from benchgen import config
from benchgen.config.settings import takes
from benchgen.verbs.words import EXAMPLES, KEYS, VERB_GROUPS, VERB_KEYS, VERBS, Verb

EVERYWHERE = "workspace=PATH  database=URL  output=text|json  user=NAME  permissions=NAME"


def help_text(word: str) -> str:
    """The help of a verb or of a config group; of any other word that of all verbs."""
    if word in VERBS:
        return _of_verb(VERBS[word])
    if word in _groups():
        return _of_group(word)
    width = max(len(v) for v in VERBS)
    lines = ["benchgen VERB [key=value …] [-m]", ""]
    lines += [f"  {v.name:<{width}}  {v.about:<44}  {v.usage}".rstrip() for v in VERBS.values()]
    lines += [
        "",
        "benchgen VERB --help shows a verb's keys, benchgen GROUP --help a group's settings:",
    ]
    return "\n".join([*lines, f"  {' '.join(_groups())}", "Start with: benchgen doctor"])


def _of_verb(verb: Verb) -> str:
    """Its own keys with their defaults, the groups that it reads, an example, and where the rest is."""
    groups = VERB_GROUPS.get(verb.name, "").split()
    keys = [key for key in VERB_KEYS.get(verb.name, "").split() if key not in groups]
    lines = [f"benchgen {verb.name} {verb.usage}".rstrip(), f"  {verb.about}"]
    if keys:
        lines += ["", "Keys:", *(f"  {key:<13} {KEYS[key]}{_default(key)}" for key in keys)]
    if groups:
        lines += ["", "Groups, each with settings of its own (GROUP.SETTING=VALUE):"]
        lines += [f"  {name}={'|'.join(config.options(name))}{_default(name)}" for name in groups]
        told = ", ".join(f"benchgen {name} --help" for name in groups if _settings(name))
        lines += [f"Their settings: {told}"]
    lines += [
        "",
        f"Example: {EXAMPLES.get(verb.name, f'benchgen {verb.name} {verb.usage}').rstrip()}",
    ]
    lines += [f"On every verb: {EVERYWHERE}"]
    if verb.makes:
        launchers = "|".join(config.options("launcher"))
        lines += [
            "A sweep: -m, each element of key=a,b a job of its own; "
            f"sweep=NAME calls it so, launcher={launchers}"
        ]
    return "\n".join(lines)


def _of_group(name: str) -> str:
    """Its options, and its settings with what each takes and its default."""
    lines = [
        f"{name}={'|'.join(config.options(name))}{_default(name)}",
        f"  files: conf/{name}/*.yaml",
    ]
    lines += ["", "Settings:", *_settings(name)] if _settings(name) else []
    readers = [verb for verb, groups in VERB_GROUPS.items() if name in groups.split()]
    return "\n".join([*lines, *(["", f"Read by: {', '.join(readers)}"] if readers else [])])


def _settings(group: str) -> list[str]:
    section = getattr(config.Config(), group, None)
    if not dataclasses.is_dataclass(section):
        return []
    found = []
    for field in dataclasses.fields(section):
        key = f"{group}.{field.name}"
        default = _shown(getattr(section, field.name))
        found.append(f"  {key:<30} {takes(key) or 'settings'}{default}")
    return found


def _default(key: str) -> str:
    """ " (default: …)" of a key, or of a group as conf/config.yaml has it; empty without one."""
    if key in _groups():
        chosen = yaml.safe_load((config.root() / "config.yaml").read_text())["defaults"]
        named = [entry[key] for entry in chosen if isinstance(entry, dict) and key in entry]
        return f" (default: {named[0]})" if named and named[0] else ""
    return _shown(getattr(config.Config(), key, None))


def _shown(value: Any) -> str:
    if value in (None, "", [], {}) or dataclasses.is_dataclass(value):
        return ""
    return f" (default: {str(value).lower() if isinstance(value, bool) else value})"


def _groups() -> list[str]:
    found = (p.name for p in config.root().iterdir() if p.is_dir())
    return sorted(n for n in found if n not in ("hydra", "local") and config.options(n))
