"""Policies in files: what a tuner has found, kept for whoever makes a body.

    [policy]
    name = "inflated"
    p_max = 2.5

    [tuned]
    frames = 700
    on = "two plates"

The first table is what `Body(policy=…)` takes. The second, which may be missing, says where its numbers come from, in texts and numbers
of any name; it is examined, and changes nothing. A file is taken as a whole or refused as a whole.
"""
import json
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from pliant.core import validate
from pliant.core.archive import atomic_file
from pliant.core.validate_table import choice, read_toml
from pliant.errors import ArgumentError, ArgumentTypeError
from pliant.refit.policy import POLICIES

MAX_TEXT = 1000                                                         # characters of a text
MAX_INTEGER = 2**63 - 1                                                 # in TOML


def policy_table(policy, policies=POLICIES):
    """What `Body(policy=…)` was given, as {"name": …, option: …}: a name, such a table, or a TOML file, by its path."""
    if isinstance(policy, Mapping):
        return dict(policy)
    if isinstance(policy, os.PathLike) or (isinstance(policy, str) and policy.endswith(".toml")):
        return read_policy(policy, policies)
    return {"name": policy}


def read_policy(path, policies=POLICIES):
    """The policy of a file, as {"name": …, option: …}; what is wrong with it is a `FileError` that names the table and the key."""
    document = read_toml(Path(path), "description of a policy")
    if "policy" not in document:
        raise document.refuse("[policy]: missing")
    table, tuned = document.table("policy"), document.table("tuned")
    document.refuse_unknown_keys()
    name = table.get("name", choice(policies))
    settings = table.values({option: checked for option, (_, checked) in policies[name].settings.items()})
    table.refuse_unknown_keys()
    for key in tuned.content:
        tuned.get(key, check_tuned_value)
    return {"name": name, **settings}


def save_policy(path, policy, tuned=None):
    """Write a policy, a name or a table {"name": …, option: …}, with all its options, and the table `tuned` of texts and numbers that say
    where it comes from. Written whole or not at all; `Body(policy=path)` takes it back."""
    settings = policy_table(policy)
    name = validate.choice("policy", settings.pop("name", None), POLICIES)
    tables = {"policy": {"name": name, **POLICIES[name].resolve_settings(settings)}}
    if tuned is not None:
        if not isinstance(tuned, Mapping) or not all(isinstance(key, str) for key in tuned):
            raise ArgumentTypeError(f"tuned: expected a table of texts and numbers by name, got {tuned!r:.60}")
        tables["tuned"] = {key: check_tuned_value(f"tuned: {key:.60}", value) for key, value in tuned.items()}
    # An option that is None has no value: the reader gives it back, as that is its default wherever it is allowed.
    lines = [[f"[{name}]", *(f"{toml_string(key)} = {to_toml(value)}" for key, value in table.items() if value is not None)]
             for name, table in tables.items()]
    try:
        content = "\n\n".join("\n".join(each) for each in lines).encode() + b"\n"
    except UnicodeEncodeError as error:
        raise ArgumentError(f"tuned: {error.object[error.start:error.end]!r} is no character") from None
    with atomic_file(path) as file:
        file.write(content)


def check_tuned_value(key, value):
    """A text or a finite number."""
    if isinstance(value, str):
        if len(value) > MAX_TEXT:
            raise ArgumentError(f"{key}: expected a text of at most {MAX_TEXT} characters, got {len(value)}")
        return value
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise ArgumentTypeError(f"{key}: expected a text or a number, got {type(value).__name__}")
    if isinstance(value, (int, np.integer)):
        return validate.integer(key, value, range(-MAX_INTEGER - 1, MAX_INTEGER + 1))
    return validate.number(key, value)


def to_toml(value):
    """A checked value as TOML has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return toml_string(value) if isinstance(value, str) else repr(value)


def toml_string(text):
    """A text, or a key, as TOML has it: as JSON does, but for one more character that must not be there."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
