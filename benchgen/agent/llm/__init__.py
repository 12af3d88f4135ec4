"""The brain that asks a language model: any endpoint with tool calls, or a local chat model whose template has tools.

The model is not trusted. It may wish what the rules may wish (`offered`), as far as the person's own words
allow it (`meant`); what it wishes is carried out, recorded and worded by the same code as for the rules. It
is told results as data, and what it says itself is shown as its own words (`talk`). Nothing secret leaves
(`scrub`). It confirms nothing: the gate reads the person's text before any brain, and no tool confirms.
"""

from __future__ import annotations

from benchgen.agent.llm.brain import ModelBrain
from benchgen.agent.llm.work import Limits

__all__ = ["Limits", "ModelBrain"]
