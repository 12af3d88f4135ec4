"""The one rule under every front end: a person's literal `yes` starts a plan, once; anything else cancels it."""

from __future__ import annotations

import sqlalchemy as sa

from benchgen.errors import StateError
from benchgen.store import JobRow, PlanRow, Store, now
from benchgen.types import Plan

WORD = "yes"


def says_yes(answer: object) -> bool:
    """True for `yes`, trimmed and in any case; for nothing else."""
    return isinstance(answer, str) and answer.strip().lower() == WORD


def decide(store: Store, plan_id: int, answer: object, owner: str) -> JobRow:
    """The queued job of a plan confirmed by `answer`; StateError when it cancels, or came too late.

    Decision and job are one transaction: of two answers at once only the first counts. A plan whose
    content was changed since it was shown is never confirmed.
    """
    row = store.get(PlanRow, plan_id)
    confirmed = says_yes(answer)
    if confirmed:
        load(row)
    with store.write() as session:
        query = sa.update(PlanRow).where(PlanRow.id == plan_id, PlanRow.state == "pending")
        state = "confirmed" if confirmed else "cancelled"
        values = {"state": state, "decided": now(), "decided_by": owner}
        changed = session.execute(query.values(**values)).rowcount  # type: ignore[attr-defined]
        if changed and confirmed:
            job = JobRow(plan_id=plan_id, owner=owner)
            session.add(job)
            session.flush()
            return job
    if changed:
        raise StateError(
            f"plan {plan_id} is cancelled: only the word yes confirms it",
            got=answer,
            allowed=[WORD],
            next="make the plan again and confirm that one",
        )
    state = store.get(PlanRow, plan_id).state
    raise StateError(
        f"plan {plan_id} was already {state} and is decided only once",
        got=state,
        allowed=["pending"],
        next=f"benchgen jobs shows what runs; plan again to train anew (plan hash {row.hash})",
    )


def load(row: PlanRow) -> Plan:
    """The plan as recorded; StateError if its content no longer gives the hash that was shown."""
    try:
        plan = Plan.from_dict(row.plan)
        found = plan.hash
    except (TypeError, ValueError, AttributeError) as error:
        raise StateError(
            f"plan {row.id} cannot be read: {error}", next="make the plan again"
        ) from error
    if found != row.hash:
        raise StateError(
            f"plan {row.id} was changed since it was shown",
            got=found,
            allowed=[row.hash],
            next="make the plan again",
        )
    return plan
