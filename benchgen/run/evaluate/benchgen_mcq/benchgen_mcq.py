"""Multiple choice: the option that a reply settles on, by letter, text, or both.

`evaluate.load(FOLDER)` of this folder loads it, without a network. The verdicts are those of benchgen's
scoring program, of a benchmark's own where `scorer=` is given.
"""

from __future__ import annotations

from typing import Any

import datasets
import evaluate

from benchgen.run.metrics import score_all

INPUTS = """
"predictions": the replies as the model wrote them.
"references": a letter, or several as JSON text `["A", "C"]`; "choices": the option texts in their order.
"""


class BenchgenMcq(evaluate.Metric):
    """accuracy with its 95 % interval (ci), right, scored, asked, strict, value with value_ci."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=__doc__,
            citation="",
            inputs_description=INPUTS,
            features=datasets.Features(
                {
                    "predictions": datasets.Value("string"),
                    "references": datasets.Value("string"),
                    "choices": datasets.List(datasets.Value("string")),
                }
            ),
        )

    def _compute(
        self,
        *,
        predictions: list[str | None],
        references: list[str],
        choices: list[list[str]],
        **options: Any,
    ) -> dict[str, Any]:
        return score_all("mcq", predictions, references, choices=choices, **options)
