"""What the fleet keeps beside a journal: procrastinate's queue, and what puts runs into it.

Whoever answers a question, at whatever door and with whatever version, does not know that there are
workers. A trigger on the table of runs sees to it that a run which begins to wait for an agent is
in the queue when the answer is in the journal: both are one transaction.

At the end of that transaction a job stands in the queue that nobody has taken. One that was there
before is locked until then, so that no worker can take it, look at the run as it was before, and
find nothing to do.
"""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quandary.errors import StoreError
from quandary.fleet.members import DRIVING

if TYPE_CHECKING:
    from psycopg import Connection

TASK = "quandary.go_on"
"""What jobs are called: go on with a run until it waits for a person or is over."""
WOKEN = "procrastinate_any_queue_v1"
"""The channel on which procrastinate tells of new jobs."""
USUAL_SILENCE = 30
"""Seconds that a worker may be silent of which nothing else is known."""

_DEFER = f"""
CREATE FUNCTION fleet_defer(wanted text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    member fleet_run;
BEGIN
    SELECT * INTO member FROM fleet_run WHERE run = wanted;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    LOOP
        UPDATE procrastinate_jobs SET scheduled_at = NULL
            WHERE queueing_lock = wanted AND status = 'todo';
        IF FOUND THEN
            RETURN;
        END IF;
        BEGIN
            PERFORM procrastinate_defer_jobs_v1(ARRAY[ROW(
                member.queue, '{TASK}', member.priority, wanted, wanted,
                jsonb_build_object('run', wanted), NULL
            )]::procrastinate_job_to_defer_v1[]);
            RETURN;
        EXCEPTION WHEN unique_violation THEN
            NULL;  -- one was put back at the same moment; lock that one
        END;
    END LOOP;
END
$$
"""  # noqa: S608 - our own names
_FOLLOW = """
CREATE FUNCTION fleet_follow() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    IF NEW.waits IN ('agent', 'house') THEN
        PERFORM fleet_defer(NEW.id);
    ELSIF NEW.status <> 'waiting' THEN
        DELETE FROM procrastinate_jobs WHERE queueing_lock = NEW.id AND status = 'todo';
    END IF;
    RETURN NULL;
END
$$
"""
_RETURN = f"""
CREATE FUNCTION fleet_return(job bigint, worker bigint, pause double precision)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE procrastinate_jobs SET status = 'todo', worker_id = NULL,
        attempts = attempts + (pause > 0)::int,
        scheduled_at = CASE WHEN pause > 0 THEN now() + pause * interval '1 second' END
        WHERE id = job AND status = 'doing' AND worker_id IS NOT DISTINCT FROM worker;
    IF FOUND THEN
        PERFORM pg_notify(
            '{WOKEN}', json_build_object('type', 'job_inserted', 'job_id', job)::text
        );
        RETURN true;
    END IF;
    RETURN false;
EXCEPTION WHEN unique_violation THEN  -- another one for the same run is in the queue already
    DELETE FROM procrastinate_jobs
        WHERE id = job AND status = 'doing' AND worker_id IS NOT DISTINCT FROM worker;
    RETURN FOUND;
END
$$
"""  # noqa: S608 - our own names
_RESCUE = f"""
CREATE FUNCTION fleet_silent() RETURNS SETOF bigint LANGUAGE sql AS $$
    SELECT id FROM procrastinate_workers LEFT JOIN fleet_worker ON worker = id
    -- nobody could give a sign of life to a server that was away
    WHERE greatest(last_heartbeat, pg_postmaster_start_time())
        < now() - coalesce(silence, {USUAL_SILENCE}) * interval '1 second'
$$;
CREATE FUNCTION fleet_rescue() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    stalled record;
BEGIN
    FOR stalled IN
        SELECT id, lock, worker_id FROM procrastinate_jobs
        WHERE status = 'doing' AND task_name = '{TASK}'
            AND (worker_id IS NULL OR worker_id IN (SELECT fleet_silent()))
        FOR UPDATE SKIP LOCKED
    LOOP
        IF fleet_return(stalled.id, stalled.worker_id, 0) THEN
            RETURN NEXT stalled.lock;
        END IF;
    END LOOP;
    DELETE FROM procrastinate_workers WHERE id IN (SELECT fleet_silent());
END
$$
"""  # noqa: S608 - our own names
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE fleet_run (
            run text COLLATE "C" PRIMARY KEY,
            queue text NOT NULL,
            priority integer NOT NULL DEFAULT 0
        )""",
        """CREATE TABLE fleet_queue (
            queue text COLLATE "C" PRIMARY KEY,
            name text COLLATE "C" NOT NULL,
            flow text COLLATE "C" NOT NULL,
            version bigint NOT NULL
        )""",
        # How long a worker may be silent, before the others take it for dead.
        """CREATE TABLE fleet_worker (
            worker bigint PRIMARY KEY REFERENCES procrastinate_workers (id) ON DELETE CASCADE,
            silence double precision NOT NULL,
            host text NOT NULL,
            version text NOT NULL
        )""",
        # Whether another job of the same run goes before it is looked up for each one.
        "CREATE INDEX fleet_jobs_lock ON procrastinate_jobs (lock)",
        _DEFER,
        _FOLLOW,
        _RETURN,
        _RESCUE,
        f"""CREATE TRIGGER fleet_follow_new AFTER INSERT ON run FOR EACH ROW
            WHEN (NEW.waits IN ('agent', 'house')
                AND coalesce(current_setting('{DRIVING}', true), '') <> 'on')
            EXECUTE FUNCTION fleet_follow()""",
        f"""CREATE TRIGGER fleet_follow AFTER UPDATE OF status, waits, key ON run FOR EACH ROW
            WHEN ((NEW.waits IN ('agent', 'house') OR NEW.status <> 'waiting')
                AND (OLD.waits IS DISTINCT FROM NEW.waits OR OLD.key IS DISTINCT FROM NEW.key)
                AND coalesce(current_setting('{DRIVING}', true), '') <> 'on')
            EXECUTE FUNCTION fleet_follow()""",
    ),
)
"""The statements at index v bring a fleet of version v to version v + 1. They only ever add, for
workers of an older version may be at work."""

_THERE = """
    SELECT EXISTS (
        SELECT 1 FROM pg_class JOIN pg_namespace AS space ON space.oid = relnamespace
        WHERE nspname = current_schema() AND relkind = 'r' AND relname = 'fleet'
    )
"""
_MIGRATING = 0x51464C54
"""The advisory lock of whoever changes this: QFLT."""


def prepare(connection: Connection[Any], place: str) -> None:
    """Bring the queue to where this version needs it, in the schema of the journal.

    Several may start at once: one does it, and the others wait for that.
    """
    if _found(connection) == (len(MIGRATIONS), _ours()):
        return
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATING,))
        version, theirs = _found(connection)
        if version > len(MIGRATIONS):
            raise StoreError(
                f"{place} has a queue of a newer Quandary (version {version}, known up to "
                f"{len(MIGRATIONS)}); upgrade this one"
            )
        for statement in _of_procrastinate(theirs):
            connection.execute(statement)
        if not version:
            connection.execute(
                "CREATE TABLE fleet (one integer PRIMARY KEY CHECK (one = 1), "
                "version bigint NOT NULL, procrastinate text NOT NULL)"
            )
            connection.execute("INSERT INTO fleet VALUES (1, 0, '')")
        for statements in MIGRATIONS[version:]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(
            "UPDATE fleet SET version = %s, procrastinate = %s",
            (len(MIGRATIONS), max(theirs, _ours(), key=_numbers)),
        )


def _found(connection: Connection[Any]) -> tuple[int, str]:
    """The version of the fleet's own tables, and of procrastinate's; 0 where there are none."""
    if connection.execute(_THERE).fetchone() != (True,):
        return 0, ""
    row = connection.execute("SELECT version, procrastinate FROM fleet").fetchone()
    return (int(row[0]), str(row[1])) if row is not None else (0, "")


def _ours() -> str:
    return metadata.version("procrastinate")


def _of_procrastinate(version: str) -> list[str]:
    """What procrastinate's tables need: all of them, or what came since.

    Of a migration only the part is taken that leaves workers of older versions alone.
    """
    from procrastinate.schema import SchemaManager  # noqa: PLC0415 - slow

    if not version:
        return [SchemaManager.get_schema()]
    files = sorted(Path(SchemaManager.get_migrations_path()).glob("*_pre_*.sql"))
    newer = [path for path in files if _numbers(path.name.partition("_")[0]) > _numbers(version)]
    return [path.read_text(encoding="utf-8") for path in newer]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:3] if part.isdigit())
