"""Works out which tasks of reasoning-gym the author `procedural` may ask, and writes `benchgen/author/tasks.json`.

    python experiments/procedural/derive.py          writes the list (4 minutes on one core)
    python experiments/procedural/derive.py TASK …   shows what it says of these tasks, writes nothing

A task is used if, of its items at its default parameters,

1. it can be generated without a package that benchgen does not have anyway, in under 20 ms an item, and
   gives the same items in another process, whatever the order they are asked for in;
2. the question has at most 2,500 characters (median), the answer one line of at most 120, a number 18,
   and is no list, whose spelling varies;
3. benchgen's scorer, told at most `options`, judges as the task's own `score_answer` (but for LAX ones):
   the item's answer right, and right or wrong as it does what other items' answers, near misses and the
   question's own words say;
4. a second solver, written from the question's text alone (`solvers.py`), finds the same answer;
5. nothing in READ stands against it: what a reading of the generator and of 40 items showed.

Items that `skip` matches are left out of 2 to 4, and of every benchmark. A level of the task's curriculum
is used if it passes too and nearly always gives a new question; the lowest of the first five that do is
easy, the middle one medium, the highest hard.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import solvers

from benchgen.author import tasks as ours
from benchgen.scoring import score

SAMPLE, PROBED, SOLVED = 300, 25, 150
MAX_PROMPT, MAX_TEXT, MAX_NUMBER, MAX_MS = 2500, 120, 18, 20

DESCRIPTIONS = {
    "ab": "Rewrite a row of tokens by four rules until none applies",
    "acre": "Does a set of objects light a detector, seen from six trials?",
    "aiw": "Count the sisters or friends of a person in a short story",
    "base_conversion": "Write a number in another base",
    "basic_arithmetic": "Work out an expression with +, -, * and brackets",
    "binary_alternation": "Fewest swaps that make a row of bits alternate",
    "bitwise_arithmetic": "Work out an expression of hexadecimal numbers and bit operations",
    "caesar_cipher": "Decrypt a Caesar cipher",
    "calendar_arithmetic": "Weekdays, leap years and days counted on the calendar",
    "chain_sum": "Add and subtract a row of whole numbers",
    "coin_flip": "Probability of a number of heads",
    "color_cube_rotation": "Which colour is on a side of a cube that was turned?",
    "count_bits": "How many 1 bits has a number?",
    "count_primes": "How many primes are there in a range?",
    "course_schedule": "Can all courses be taken, with these prerequisites?",
    "decimal_chain_sum": "Add and subtract a row of decimal numbers",
    "dice": "Probability of a total of several dice, as a fraction",
    "family_relationships": "How are two members of a family related?",
    "gcd": "Greatest common divisor",
    "isomorphic_strings": "Can one string be turned into the other letter by letter?",
    "largest_island": "Area of the largest island of a grid",
    "lcm": "Least common multiple",
    "leg_counting": "How many legs have these animals together?",
    "letter_counting": "How often does a letter appear in a text?",
    "maze": "Fewest steps through a maze",
    "needle_haystack": "Who does what, among many such sentences?",
    "number_format": "Largest or smallest of numbers in different notations",
    "path_star": "The path between two nodes of a star-shaped graph",
    "products": "Multiply whole numbers",
    "ransom_note": "Can a note be made of the letters of a magazine?",
    "rotten_oranges": "How long until all oranges of a grid are rotten?",
    "self_reference": "How many ways are there for seven statements about themselves to be true?",
    "simple_equations": "Solve a linear equation",
    "simple_geometry": "The last interior angle of a convex polygon",
    "spell_backward": "Spell a word backward",
    "string_insertion": "Insert letters into a string by five rules",
    "string_manipulation": "Change a string by rules until none applies",
    "string_splitting": "Take machines apart by five rules and count what is left",
    "string_synthesis": "Combine blocks by six rules and count what is left",
    "word_sequence_reversal": "Reverse a list of words",
    "word_sorting": "Sort words by their characters' codes",
}

# What the text demands of the answer's form: benchgen asks for the answer in its own last line.
DAY_WORDS = (
    r"Answer with the weekday's name \(e\.g\., Monday, Tuesday, etc\.\)|Provide the full name of the weekday"
    r"|State the weekday \(Monday through Sunday\)|Give the weekday name in full|Reply with just the weekday name"
    r"|Write out the full weekday name|Respond with the weekday \(Monday-Sunday\)"
    r"|Answer using the complete weekday name|Name the day of the week in full|Answer with a number"
    r"|Provide the count as a number|Respond with just the number|Write the total number|Give the count numerically"
    r"|State the amount as a number|Reply with the numerical value|Express your answer as a number"
)
EDITS = {
    "acre": [("Do not use quotation marks in your answer\\.\n\n", "")],
    "bitwise_arithmetic": [
        (
            "Reply only with the final hexidecimal value\\.",
            "Give the value in hexadecimal, like 0x1f.",
        )
    ],
    "caesar_cipher": [(" Provide only the decrypted text as your final answer\\.", "")],
    "calendar_arithmetic": [(f" ?(?:{DAY_WORDS})\\.", "")],
    "coin_flip": [("flips\\?", "flips? Give it exactly, as a fraction or a decimal.")],
    "color_cube_rotation": [("\nProvide only the color as your final answer\\.", "")],
    "dice": [
        (
            "Please respond with a reduced fraction representing the probability \\[ex\\., 1/60\\]\\.",
            "Give the probability as a fraction in lowest terms, like 1/60.",
        )
    ],
    "family_relationships": [
        (
            "Respond only with the word that describes their relationship"
            "|Provide the relationship in one word|Answer with a single word",
            "Name the relationship in one word",
        )
    ],
    "gcd": [(" Give only the GCD as your final answer\\.", "")],
    "letter_counting": [("appear in the text", "appear, as a capital or not, in the text")],
    "maze": [
        ("\nGive only the number of steps as your final answer, no other text or formatting\\.", "")
    ],
    "needle_haystack": [(" Reply only with a name\\.", "")],
    "number_format": [("Your output should be only the number of interest\\.\n\n", "")],
    "path_star": [("Respond with only the sequence", "Give the sequence")],
    "products": [(" Give only the result as your final answer\\.", "")],
    "simple_geometry": [
        ("Return only the angle as your answer\\.Do not give the units in your answer\\.", "")
    ],
    "word_sequence_reversal": [
        (
            "Solve the following problem\\.\n\n"
            "Provide you answer as a comma-separated list of words with a space after the comma\\.",
            "Give the answer as a comma-separated list of words.",
        )
    ],
}

# Items whose key is wrong, or open to doubt; searched in "question newline answer".
SKIP = {
    # "Ann has 3 sisters … How many sisters does Bob's brother have?", of a Bob who is not in the story;
    # and whether Matilda's colleagues are those of both circles
    "aiw": r"^(\w+) has \d+ sisters .* does (?!\1\b)\w+'s brother|Matilda",
    # quotients are cut to whole numbers
    "basic_arithmetic": "/",
    # letters outside A-Z are shifted into the alphabet
    "caesar_cipher": r"[^\x00-\x7f]",
    # the end's year is wrong where it is the next one; 04/01/2022 may be in April or in January
    "calendar_arithmetic": r"business days|excluding weekends|\d\d/\d\d/\d{4}",
    # which way round the bottom comes to the top is not said
    "color_cube_rotation": "bottom (?:side to the top|face the top|side at the top|side is rotated)|at the bottom is now",
    # the other person's side of the relation is taken for these
    "family_relationships": r"\n(?:niece|nephew|\w+-in-law)$",
    # are they legs?
    "leg_counting": "starfish",
    # a wall of backticks ends the block that the maze stands in
    "maze": "'`'",
    # two people of whom the same is said
    "needle_haystack": r"(?s)(?:^|\. )\S+ ([^.]+)\. (?:.*\. )?\S+ \1\. .*\nWho \1\?",
    # 1 * 7 is read as the number that it is
    "products": r"\b1 \*|\* 1\b",
    # nothing to solve
    "simple_equations": "0 = 0",
    # an underscore that is no part of the word
    "word_sorting": r"(?<!\bword)_",
    # no convex polygon has such an angle
    "simple_geometry": r"\n(?:1[89]\d|[2-9]\d\d|\d{4,}|0|-\d+)$",
}

# Where the task's own check is too lax to go by: it takes any first digits of the decimal for right.
LAX: dict[str, dict[str, Any]] = {"coin_flip": {}}

MANY = "many answers are right, and only the task's own verifier can tell"
INDUCTION = "the rule has to be guessed, and another fits the examples as well"
GRID = "the answer has several lines"
READ = {
    "arc_1d": INDUCTION,
    "arc_agi": INDUCTION,
    "boxnet": MANY,
    "circuit_logic": "the circuit is a drawing, and what an XOR of more than two inputs means is not said",
    "codeio": MANY,
    "composite": "a mix of the other tasks",
    "countdown": MANY,
    "cryptarithm": MANY,
    "decimal_arithmetic": "a quotient that stands in the question would count as the answer",
    "emoji_mystery": "the message is hidden in characters that a reader does not see",
    "fraction_simplification": "as a number the fraction of the question is right too",
    "game_of_life_halting": "its own check takes every answer for right",
    "graph_color": MANY,
    "group_anagrams": MANY,
    "gsm_symbolic": "some keys are cut to whole numbers, and some texts show 0.6666666666666666",
    "intermediate_integration": MANY,
    "jugs": MANY,
    "knight_swap": MANY,
    "knights_knaves": "the answer is a sentence that can be put in many ways",
    "kakurasu": MANY,
    "letter_jumble": "a jumbled word can be another word as well",
    "list_functions": INDUCTION,
    "mahjong_puzzle": "keys are wrong: a card drawn at random counts as Pass whatever it makes",
    "modulo_grid": INDUCTION,
    "n_queens": MANY,
    "number_sequence": INDUCTION,
    "palindrome_generation": MANY,
    "palindrome_partitioning": MANY,
    "polynomial_equations": "several values are the answer",
    "polynomial_multiplication": MANY,
    "power_function": "-2.5^-2 is read as (-2.5)^-2 without a word",
    "prime_factorization": MANY,
    "propositional_logic": MANY,
    "puzzle24": MANY,
    "quantum_lock": MANY,
    "rearc": INDUCTION,
    "rubiks_cube": MANY,
    "rush_hour": MANY,
    "sentence_reordering": "words can stand in another order as well",
    "shortest_path": MANY,
    "simple_integration": MANY,
    "sokoban": MANY,
    "syllogism": "keys hold only if every kind named has members, which the text does not say",
    "time_intervals": "the same seed gives other items on another day",
    "tower_of_hanoi": MANY,
    "tsumego": "another move may capture as many",
    "word_ladder": MANY,
}

# --- the rule --------------------------------------------------------------------------------


def judge(name: str, module: str) -> dict[str, Any] | str:
    """The task as the list holds it, or why it is left out."""
    if name in READ:
        return READ[name]
    row: dict[str, Any] = {"name": name, "module": module, "category": module.partition(".")[0]}
    row |= {"edits": EDITS.get(name, []), "skip": SKIP.get(name, "")}
    default = passes(row, None)
    if isinstance(default, str):
        return default
    row |= default
    levels: list[int] = []
    for level in range(num_levels(name)):
        if len(levels) == 5:
            break
        of_level = passes(row, level)
        if "-v" in sys.argv:
            print(name, level, of_level)
        if (
            not isinstance(of_level, str)
            and of_level["new"] >= 0.8
            and of_level["kind"] == row["kind"]
        ):
            levels.append(level)
    row["levels"] = named(levels)
    del row["new"]
    row["description"] = DESCRIPTIONS[name]
    return row


def named(levels: list[int]) -> dict[str, int]:
    """What the levels that can be used are called."""
    if len(levels) < 3:
        return dict(zip(("easy", "hard"), levels, strict=False)) if len(levels) == 2 else {}
    return {"easy": levels[0], "medium": levels[(len(levels) - 1) // 2], "hard": levels[-1]}


def passes(row: dict[str, Any], level: int | None) -> dict[str, Any] | str:
    """{"kind", "options", "new"} of the items at one level, or which part of the rule they break."""
    signal.alarm(90)
    try:
        return _passes(row, level)
    except TimeoutError:
        return "generating or scoring its items takes too long"
    except Exception as error:  # noqa: BLE001 - whatever a generator or a solver raises is the finding
        return f"its items cannot be generated: {type(error).__name__}: {error}"
    finally:
        signal.alarm(0)


def _passes(row: dict[str, Any], level: int | None) -> dict[str, Any] | str:
    name = row["name"]
    began = time.perf_counter()
    data = ours.make(name, row["module"], level, 4711, 500)
    every = [data[i] for i in range(SAMPLE)]
    seconds = (time.perf_counter() - began) / SAMPLE
    if not all(isinstance(e["answer"], str) for e in every):
        return MANY
    items = [e for e in every if e["answer"].strip() and not skipped(row, e)]
    if len(items) < SAMPLE / 5:
        return "hardly an item can be used"
    kind = "numeric" if all(is_number(e["answer"]) for e in items) else "qa"
    if fault := form_fault(items, kind):
        return fault
    if seconds > MAX_MS / 1000:
        return f"an item takes over {MAX_MS} ms"
    if not same_elsewhere(name, row["module"], level):
        return "another process draws other items"
    offered = None if level is None else [row["options"]]
    options = agreed(name, data, items, kind, offered)
    if options is None:
        return "benchgen's scorer and the task's own judge differently"
    if name not in solvers.SOLVERS:
        return "no second solver confirms its keys"
    if wrong := next((e for e in items[:SOLVED] if not confirmed(name, e)), None):
        return f"a second solver finds another answer than {wrong['answer']}: {wrong['question']}"
    new = len({ours.prompt_of(row["edits"], e["question"]) for e in items}) / len(items)
    return {"kind": kind, "options": options, "new": new}


def form_fault(items: list[dict[str, Any]], kind: str) -> str:
    """What is wrong with the length and form of questions and answers, or ""."""
    golds = [
        str(ours.key_of(kind, e["answer"])) if kind == "numeric" else e["answer"] for e in items
    ]
    if any("\n" in gold for gold in golds):
        return GRID
    if golds[0].startswith("["):
        return "the answer is a list, whose spelling varies"
    longest = max(map(len, golds))
    if longest > (MAX_NUMBER if kind == "numeric" else MAX_TEXT):
        return f"answers are long: up to {longest} characters"
    prompt = sorted(len(e["question"]) for e in items)[len(items) // 2]
    return f"questions are long: {prompt} characters" if prompt > MAX_PROMPT else ""


def skipped(row: dict[str, Any], entry: dict[str, Any]) -> bool:
    """Whether the item is left out of every benchmark."""
    return bool(row["skip"] and re.search(row["skip"], f"{entry['question']}\n{entry['answer']}"))


def is_number(text: str) -> bool:
    """Whether the answer is a plain number or fraction."""
    return re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?(/\d+)?", text) is not None


def num_levels(name: str) -> int:
    """How many levels the task's curriculum has; 0 without one."""
    factory = sys.modules[f"{ours.PACKAGE}.factory"]
    if not factory.has_curriculum(name):
        return 0
    return max(len(a.levels) for a in factory.create_curriculum(name).attributes.values())


# --- 1: the same items elsewhere -------------------------------------------------------------


def digest(name: str, module: str, level: int | None, order: int) -> str:
    """Hash of 40 items, drawn from the first on (1) or from the last (-1)."""
    data = ours.make(name, module, level, 99, 500)
    drawn = {i: data[i] for i in list(range(40))[::order]}
    text = json.dumps([[drawn[i]["question"], drawn[i]["answer"]] for i in sorted(drawn)])
    return hashlib.sha256(text.encode()).hexdigest()


def same_elsewhere(name: str, module: str, level: int | None) -> bool:
    """Whether a process with another hash seed draws the same items in the other order."""
    other = subprocess.run(
        [sys.executable, __file__, "--digest", name, module, json.dumps(level)],
        env={**os.environ, "PYTHONHASHSEED": "12345"},
        capture_output=True,
        text=True,
        check=True,
    )
    return other.stdout.strip() == digest(name, module, level, 1)


# --- 3: the two scorers ----------------------------------------------------------------------

QA: list[dict[str, Any]] = [
    {},
    {"keep_articles": True},
    {"keep_punctuation": True},
    {"keep_case": True},
    {"keep_articles": True, "keep_punctuation": True},
    {"keep_case": True, "keep_punctuation": True},
]
NUMERIC: list[dict[str, Any]] = [{}, {"rel_tol": 0}, {"abs_tol": 0.01}, {"abs_tol": 0.001}]


def agreed(
    name: str, data: Any, items: list[dict[str, Any]], kind: str, offered: Any = None
) -> dict[str, Any] | None:
    """The first options with which benchgen's scorer judges every probe as the task does; None if none do."""
    probes = [
        (entry["answer"], reply, own_verdict(data, reply, entry))
        for entry in items[:PROBED]
        for reply in dict.fromkeys(replies(entry, items, kind))
    ]
    if name in LAX:  # only the items' own answers are put, against each other
        every = {entry["answer"] for entry in items[:PROBED]}
        probes = [(gold, reply, gold == reply) for gold in every for reply in every]
        offered = [LAX[name]]
    for options in offered or (NUMERIC if kind == "numeric" else QA):
        differing = [
            (gold, reply)
            for gold, reply, right in probes
            if verdict(kind, gold, reply, options) != right
        ]
        if not differing:
            return dict(options)
        if "-v" in sys.argv:
            print(name, kind, options, len(differing), differing[:4])
    return None


def own_verdict(data: Any, reply: str, entry: dict[str, Any]) -> bool:
    """Whether the task itself takes the reply for right."""
    try:
        return bool(data.score_answer(reply, entry) == 1)
    except Exception:  # noqa: BLE001 - a check that falls over has not found the reply right
        return False


def verdict(kind: str, gold: str, reply: str, options: dict[str, Any]) -> bool:
    """Whether benchgen's scorer takes the reply for right."""
    target = ours.key_of(kind, gold)
    return score(kind, reply=f"Answer: {reply}", target=target, **options).correct is True


def replies(entry: dict[str, Any], items: list[dict[str, Any]], kind: str) -> Iterator[str]:
    """The item's answer, others', near misses of it, and words of the question."""
    gold, question = entry["answer"], entry["question"]
    rng = random.Random(question)
    yield gold
    yield from (rng.choice(items)["answer"] for _ in range(8))
    words = [word.strip(".,:;?!'\"()[]{}`") for word in question.split()[-12:]]
    if kind == "numeric":  # "one" may be right where 1 is
        words = [word for word in words if re.search(r"\d", word)]
    sums = re.findall(r"[-(\d][-+*/(). \d]*[-+*/] [-+*/(). \d]*\d\)*", question)
    for reply in [*near(gold, rng), *words, max(sums, key=len, default="").strip()]:
        if reply.strip() and (kind == "numeric" or bare(reply) != bare(gold)):
            yield reply.strip()


def bare(text: str) -> str:
    """Without what only the form of a text is made of."""
    return re.sub(r"[\s.,;:!?'\"$]", "", text).casefold()


def near(gold: str, rng: random.Random) -> Iterator[str]:
    """Texts that are nearly the answer."""
    if re.fullmatch(r"-?\d+", gold):
        yield from (str(int(gold) + 1), str(int(gold) - 1), str(-int(gold)))
    elif is_number(gold) and "/" not in gold:
        number = Decimal(gold)
        last = Decimal(1).scaleb(int(number.as_tuple().exponent))
        yield from (str(number + 2 * last), str(number - 2 * last), str(-number))
    if len(gold) > 1 and not is_number(gold):
        yield from (gold[:-1], gold[1:], gold + gold[-1])
        for at in (rng.randrange(len(gold) - 1) for _ in range(2)):
            yield gold[:at] + gold[at + 1] + gold[at] + gold[at + 2 :]
    words = gold.split()
    if len(words) > 1:
        at = rng.randrange(len(words) - 1)
        swapped = [*words[:at], words[at + 1], words[at], *words[at + 2 :]]
        yield from (" ".join(w) for w in (words[::-1], words[:-1], words[1:], swapped))


# --- 4: the second solver --------------------------------------------------------------------


def confirmed(name: str, entry: dict[str, Any]) -> bool:
    """Whether the second solver finds the item's answer."""
    gold: str = entry["answer"]
    found: str = solvers.solve(name, entry["question"])
    if name == "family_relationships":
        return gold in found.split()
    if name == "number_format":  # the key is the number before it was written with six decimals
        return abs(float(gold) - float(found)) < 1e-5
    if found == gold or not is_number(gold):
        return found == gold
    close = Fraction(1, 10**9) if "." in gold else 0
    return abs(Fraction(found) - Fraction(gold)) <= close * abs(Fraction(gold))


# --- the list --------------------------------------------------------------------------------


def registered() -> Iterator[tuple[str, str, str]]:
    """(task, its module, the package it lacks or "") of every task."""
    factory = importlib.import_module(f"{ours.PACKAGE}.factory")
    (root,) = sys.modules[ours.PACKAGE].__path__
    for path in sorted(Path(root).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        name = re.search(r'^DATASET_NAME = "(\w+)"', text, re.MULTILINE)
        if name and "register_dataset(" in text:
            module = ".".join(path.relative_to(root).with_suffix("").parts)
            try:
                importlib.import_module(f"{ours.PACKAGE}.{module}")
            except ModuleNotFoundError as error:
                yield name[1], module, str(error.name)
            else:
                assert name[1] in factory.DATASETS
                yield name[1], module, ""


def _too_long(*_: object) -> None:
    raise TimeoutError


def main(arguments: list[str]) -> int:
    """Exit status; see the module's text for the arguments."""
    with ours.package():
        if arguments[:1] == ["--digest"]:
            name, module, level = arguments[1:]
            print(digest(name, module, json.loads(level), -1))
            return 0
        signal.signal(signal.SIGALRM, _too_long)
        wanted = [a for a in arguments if not a.startswith("-")]
        used, left_out = [], {}
        for name, module, lacks in registered():
            if wanted and name not in wanted:
                continue
            found = judge(name, module)
            if lacks and name not in READ:
                found = f"it needs the package {lacks}"
            print(name, "|", found if isinstance(found, str) else "used", flush=True)
            if isinstance(found, str):
                left_out[name] = found
            else:
                used.append(found)
        if wanted:
            print(json.dumps(used, indent=1))
            return 0
    body = {
        "package": ours.PACKAGE,
        "version": ours.VERSION,
        "used": sorted(used, key=lambda row: row["name"]),
        "left_out": dict(sorted(left_out.items())),
    }
    ours.LIST.write_text(json.dumps(body, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{len(used)} tasks used, {len(left_out)} left out")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
