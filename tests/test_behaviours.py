"""The 150 numbered promises: each is shown by a test, or listed as not yet built.

A number is mapped to `file::test`. The numbers follow the list of behaviours that the project is built
to; a number may stand in one of the two tables only, and the second must one day be empty.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent

SHOWN = {
    13: "test_author_table.py::test_every_question_carries_what_is_asked_of_it",
    19: "test_author_table.py::test_mix_and_categories_are_met_exactly",
    20: "test_author_table.py::test_a_config_becomes_a_draft",
    21: "test_author_table.py::test_qa_accepts_every_true_answer_with_and_without_article_and_diacritics",
    22: "test_author_llm.py::test_each_kind_becomes_a_question_that_proves_itself",
    23: "test_kinds.py::test_the_worked_answers_of_every_kind_are_right_and_in_form",
    24: "test_kinds.py::test_a_run_of_every_kind_has_its_verdicts_and_its_datasets",
    25: "test_bundle.py::test_the_scoring_program_runs_as_codabench_runs_it",
    26: "test_workspace.py::test_a_new_benchmark_is_a_draft_with_its_program_frozen",
    27: "test_cli.py::test_create_publish_run_dataset",
    28: "test_workspace.py::test_a_new_benchmark_is_a_draft_with_its_program_frozen",
    30: "test_workspace.py::test_a_draft_cannot_be_run",
    31: "test_cli.py::test_a_draft_is_not_run",
    33: "test_author_write.py::test_letters_are_even_within_each_number_of_options",
    34: "test_author_write.py::test_letters_are_even_within_each_number_of_options",
    35: "test_author_table.py::test_exactly_one_option_is_right_by_the_data",
    36: "test_author_parts.py::test_shares_come_to_the_count_and_are_off_by_less_than_one",
    37: "test_cli.py::test_bad_input_is_one_line_exit_2_and_nothing_written",
    38: "test_author_parts.py::test_parts_are_of_25_and_come_to_the_counts_asked_for",
    39: "test_author_parts.py::test_duplicates_near_ones_and_strays_are_refused_with_their_reasons",
    40: "test_drafts.py::test_a_model_writes_in_turns_and_nothing_is_made_before_the_end",
    41: "test_author_table.py::test_uneven_categories_are_met",
    49: "test_workspace.py::test_a_new_benchmark_is_a_draft_with_its_program_frozen",
    50: "test_rescore.py::test_a_newer_program_changes_only_benchmarks_made_later",
    51: "test_registry.py::test_frozen_copy_scores_under_its_own_module_names",
    52: "test_paired.py::test_different_scoring_programs_are_warned_about",
    53: "test_workspace.py::test_a_draft_cannot_be_run",
    54: "test_cli.py::test_create_publish_run_dataset",
    55: "test_loop.py::test_with_yes_it_measures_trains_and_measures_again",
    57: "test_cli.py::test_create_publish_run_dataset",
    58: "test_cli.py::test_create_publish_run_dataset",
    59: "test_workspace.py::test_the_reference_is_a_perfect_run_with_its_interval",
    60: "test_workspace.py::test_the_reference_is_a_perfect_run_with_its_interval",
    61: "test_workspace.py::test_an_unfinished_run_has_no_score_and_no_dataset",
    62: "test_loop.py::test_with_yes_it_measures_trains_and_measures_again",
    63: "test_workspace.py::test_comparing_the_same_run_with_itself_shows_no_difference",
    64: "test_paired.py::test_the_loop_is_split_into_same_and_held_out_on_identical_keys",
    65: "test_kinds.py::test_a_run_of_every_kind_has_its_verdicts_and_its_datasets",
    66: "test_workspace.py::test_run_datasets_split_the_scored_rows",
    67: "test_workspace.py::test_an_unfinished_run_has_no_score_and_no_dataset",
    68: "test_kinds.py::test_a_run_of_every_kind_has_its_verdicts_and_its_datasets",
    69: "test_workspace.py::test_run_datasets_split_the_scored_rows",
    70: "test_select.py::test_a_mode_shows_its_traces",
    71: "test_select.py::test_a_row_joins_question_and_trace_by_key",
    72: "test_select.py::test_a_mode_shows_its_traces",
    73: "test_select.py::test_a_mode_shows_its_traces",
    74: "test_select.py::test_an_unknown_mode_names_the_three",
    75: "test_cards.py::test_a_surprising_score_leads_to_every_reply",
    76: "test_scoring.py::test_status_tells_a_format_problem_from_a_wrong_answer",
    77: "test_cli.py::test_lora_can_be_planned_on_a_file",
    78: "test_grpo_plan.py::test_it_says_everything_that_will_run",
    79: "test_parents.py::test_everything_is_as_before_but_a_lower_learning_rate",
    80: "test_workspace.py::test_a_plan_says_everything_and_starts_nothing",
    81: "test_workspace.py::test_a_plan_says_everything_and_starts_nothing",
    82: "test_planner.py::test_a_plan_says_everything_that_will_run",
    83: "test_planner.py::test_a_plan_says_everything_that_will_run",
    84: "test_planner.py::test_a_plan_says_everything_that_will_run",
    85: "test_cli.py::test_plan_shows_the_asked_hyperparameters",
    86: "test_planner.py::test_a_plan_says_everything_that_will_run",
    87: "test_gate.py::test_a_plan_comes_back_as_it_was_shown",
    88: "test_gate.py::test_nothing_else_is_yes",
    89: "test_gate.py::test_any_other_answer_cancels_for_good",
    91: "test_gate.py::test_of_several_confirmations_at_once_one_counts",
    92: "faults/test_kill.py::test_a_killed_worker_goes_on_and_lands_one_model",
    93: "test_chain.py::test_run_plan_yes_run_again_compare",
    94: "test_loop.py::test_with_yes_it_measures_trains_and_measures_again",
    95: "test_loop.py::test_with_yes_it_measures_trains_and_measures_again",
    96: "test_workspace.py::test_a_display_name_of_a_base_is_resolved_visibly_or_not_at_all",
    97: "test_planner.py::test_steps",
    98: "test_chain.py::test_run_plan_yes_run_again_compare",
    99: "test_workspace.py::test_failures_is_what_is_trained_on_unless_told_otherwise",
    100: "test_workspace.py::test_the_base_is_the_runs_own_model_where_that_can_be_trained",
    101: "test_loop.py::test_with_yes_it_measures_trains_and_measures_again",
    102: "test_loop.py::test_with_yes_it_measures_trains_and_measures_again",
    103: "test_workspace.py::test_an_unfinished_run_has_no_score_and_no_dataset",
    104: "test_workspace.py::test_run_datasets_split_the_scored_rows",
    105: "test_workspace.py::test_a_plan_says_everything_and_starts_nothing",
    106: "test_workspace.py::test_a_reference_cannot_be_guessed_as_the_base",
    107: "test_rows.py::test_distill_learns_the_right_replies_as_given",
    108: "test_loop.py::test_with_yes_it_measures_trains_and_measures_again",
    109: "test_workspace.py::test_a_base_at_guess_level_is_told",
    110: "test_workspace.py::test_questions_in_another_language_are_told",
    111: "test_workspace.py::test_a_plan_says_what_to_know_before_it_is_confirmed",
    112: "test_workspace.py::test_a_plan_says_what_to_know_before_it_is_confirmed",
    113: "test_rows.py::test_runs_without_a_usable_row_are_refused",
    114: "test_loop.py::test_with_yes_it_measures_trains_and_measures_again",
    115: "test_merge.py::test_by_the_command_line",
    116: "test_merge.py::test_by_the_command_line",
    117: "test_merge.py::test_by_the_command_line",
    118: "test_merge.py::test_a_killed_merge_leaves_nothing_and_is_done_again",
    119: "test_merge.py::test_a_merged_model_answers_as_the_adapter_on_its_base",
    120: "test_merge.py::test_a_name_that_is_taken",
    123: "test_permissions.py::test_on_the_command_line",
    124: "test_cards.py::test_a_model_worse_than_before_points_to_its_replies_and_their_form",
    132: "test_workspace.py::test_a_new_benchmark_is_a_draft_with_its_program_frozen",
    133: "test_workspace.py::test_the_reference_is_a_perfect_run_with_its_interval",
    134: "test_loop.py::test_with_yes_it_measures_trains_and_measures_again",
    137: "test_cards.py::test_a_report_sets_actual_beside_predicted_for_every_job_whose_model_it_compares",
    138: "test_chain.py::test_what_changed_since_the_plan_is_refused_and_named",
    139: "test_paired.py::test_the_interval_covers_the_truth_about_95_times_in_100",
    140: "test_paired.py::test_the_loop_is_split_into_same_and_held_out_on_identical_keys",
    141: "test_scoring.py::test_a_right_answer_in_another_form_is_right_and_not_strictly",
    142: "test_rescore.py::test_both_programs_are_shown_side_by_side",
    143: "test_exchange.py::test_a_benchmark_comes_back_the_same",
    144: "test_grpo_job.py::test_it_lands_in_the_catalogue_is_asked_and_reported",
    146: "test_drafts.py::test_a_blind_solve_flags_doubtful_keys_unless_it_is_not_wanted",
    147: "test_workspace.py::test_overlap_with_every_benchmark_here_is_named",
    148: "faults/test_kill.py::test_a_run_killed_again_and_again_asks_every_question_once",
    149: "test_sweep.py::test_twelve_jobs_with_one_that_fails",
    150: "test_cards.py::test_a_trained_model_carries_what_it_is_made_of_and_how_it_scores",
}

NOT_BUILT = {
    "the agent and its notebook panels": [
        *range(1, 13),
        *range(14, 19),
        *(29, 32, 42, 43, 44, 45, 46, 47, 48, 56, 90),
        *(121, 122, *range(125, 132)),
        *(135, 145),
    ],
    "endpoints": [136],
}


@cache
def functions_in(file: str) -> set[str]:
    tree = ast.parse((TESTS / file).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_number_stands_in_one_table() -> None:
    waiting = [number for numbers in NOT_BUILT.values() for number in numbers]
    assert sorted([*SHOWN, *waiting]) == list(range(1, 151))


@pytest.mark.parametrize("number", SHOWN)
def test_the_test_that_shows_it_is_there(number: int) -> None:
    file, _, name = SHOWN[number].partition("::")
    assert name.startswith("test_")
    assert name in functions_in(file), f"behaviour {number}: {SHOWN[number]} is gone"
