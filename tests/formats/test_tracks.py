"""`.state.json`: whatever is in it stays, and what is wrong with it is said in a line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies  # noqa: F401 - loads the profile
from quandary.errors import ParseError, QuandaryError, Rejected
from quandary.formats import tracks
from quandary.formats.tracks import Passage
from quandary.model import track as rules
from quandary.model.track import Phase, Transition

if TYPE_CHECKING:
    from pathlib import Path

HAND_WRITTEN = """\
{
  "title": "Release",   "phases": [
      {"name": "Build", "label": "2", "owner": {"b": 1, "a": [1.50, 1e2]}},
      {"major": 1, "minor": 0, "name": "Plan"}
  ],
  "weights": {"x": 12345678901234567890123, "y": "\\u00e9"},
  "currentPhase": "1: Plan",
  "phaseHistory": ["1: Plan"],
  "last": null
}
"""


def state(**members: object) -> str:
    """A track as JSON; by default with two phases."""
    return json.dumps({"phases": [{"label": "1", "name": "A"}, {"label": "2"}], **members})


def go(kept: tracks.Kept, label: str, name: str = "") -> Transition:
    """A move that is allowed."""
    judged = rules.go(kept.track, label, name)
    assert isinstance(judged, Transition)
    return judged


def test_what_others_wrote_stays_as_it_is() -> None:
    """Unknown members, their order and spelling, and old entries survive a move byte for byte."""
    kept = tracks.parse(HAND_WRITTEN, "t")
    text = tracks.write_move(kept, go(kept, "2"), Passage("2: Build", "1: Plan"))
    assert list(json.loads(text)) == list(json.loads(HAND_WRITTEN))
    for line in HAND_WRITTEN.splitlines():
        kept_line = line.strip().rstrip(",")
        if "phase" not in kept_line.lower() and len(kept_line) > 1:
            assert kept_line in text
    after = json.loads(text)
    assert after["currentPhase"] == "2: Build"
    assert after["phaseHistory"] == ["1: Plan", {"phase": "2: Build", "from": "1: Plan"}]
    assert tracks.parse(text, "t").track.visited == ("1", "2")


def test_a_new_sub_phase_is_added_to_the_list() -> None:
    """The list of phases gets one entry more, the others stay as they were written."""
    kept = tracks.parse(HAND_WRITTEN, "t")
    text = tracks.write_move(kept, go(kept, "1.1", "Ask around"), Passage("1.1: Ask around"))
    phases = json.loads(text)["phases"]
    assert phases[:2] == json.loads(HAND_WRITTEN)["phases"]
    assert phases[2:] == [{"label": "1.1", "name": "Ask around"}]
    assert '{"name": "Build", "label": "2", "owner": {"b": 1, "a": [1.50, 1e2]}}' in text
    track = tracks.parse(text, "t").track
    assert (track.current, track.visited) == (Phase("1.1", "Ask around"), ("1", "1.1"))


def test_both_forms_of_entries_are_read() -> None:
    """Labels, major and minor numbers, and bare texts declare phases."""
    entries = [
        {"label": "1", "name": "  Plan   it "},
        {"major": 2, "name": "Build"},
        {"major": 2, "minor": 10, "name": "Test"},
        {"major": 3, "minor": None},
        {"label": 4, "name": "Ship", "gate": False},
        "5: Rest",
        {"label": "6.A: Party", "approval": "person", "proof": ["cake"]},
    ]
    found = tracks.read_phases(entries, "t")
    assert [phase.title for phase in found] == [
        *("1: Plan it", "2: Build", "2.10: Test", "3", "4: Ship", "5: Rest", "6.A: Party")
    ]
    assert [p.gate for p in found] == [True, True, True, True, False, True, True]
    assert (found[-1].approval, found[-1].proof[0].name) == ("person", "cake")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("hello", "not JSON"),
        ("[1]", "not a JSON object"),
        ("3", "not a JSON object"),
        ("null", "not a JSON object"),
        ('"x"', "not a JSON object"),
        ("{}", "no phases in it"),
        ('{"a": ' * 5000, "nested too deeply"),
        ('{"phases": ["1"], "currentPhase": 1e999}', "currentPhase cannot be read"),
        (state(phases=[]), "no phases in it"),
        (state(phases=None), "no phases in it"),
        (state(phases={"label": "1"}), "phases is a list"),
        (state(phases=[3]), "phase 1: expected an object"),
        (state(phases=[{"name": "x"}]), "phase 1: label is text"),
        (state(phases=[{"label": "1"}, {"label": "x"}]), "phase 2: label is text"),
        (state(phases=[{"label": 3.1}]), "phase 1: label is text"),
        (state(phases=[{"label": True}]), "phase 1: label is text"),
        (state(phases=[{"major": "1"}]), "major and minor are whole numbers"),
        (state(phases=[{"major": 1, "minor": -2}]), "major and minor are whole numbers"),
        (state(phases=[{"label": "1"}, {"major": 1}]), "two phases have the label 1"),
        (state(phases=[{"label": "1"}, {"label": "01"}]), "two phases have the label 1"),
        (state(phases=[{"label": "1", "name": 3}]), "phase 1: name is text"),
        (state(phases=[{"label": "1", "gate": "no"}]), "gate is true or false"),
        (state(phases=[{"label": "1", "approval": "me"}]), 'approval is "person"'),
        (state(phases=[{"label": "1", "proof": [3]}]), "phase 1: a field is a name"),
        (state(currentPhase=2), "currentPhase is text"),
        (state(currentPhase="Plan"), "currentPhase is text"),
        (state(phaseHistory="1: A"), "phaseHistory is a list"),
    ],
)
def test_a_damaged_file_is_told_in_one_line(text: str, said: str) -> None:
    """The line begins with the file, says what is wrong, and raises nothing else."""
    with pytest.raises(ParseError, match=r"\Adir/\.state\.json: [^\n]*\Z") as caught:
        tracks.parse(text, "dir/.state.json")
    assert said in str(caught.value)


def test_strange_entries_of_the_history_are_passed_over() -> None:
    """The history may be anybody's; what has a label counts."""
    entries = ["1: A", 3, None, {"phase": 4}, {"phase": "2", "at": 5, "who": "person"}, ["x"], {}]
    kept = tracks.parse(state(currentPhase="2", phaseHistory=entries), "t")
    assert kept.track.visited == ("1", "2")
    assert [passage.who for passage in kept.history] == ["", "", "", "", "person", "", ""]


def test_a_current_phase_need_not_be_declared() -> None:
    """It stands where the file says, and goes on from there."""
    track = tracks.parse(state(currentPhase="1.7: Somewhere"), "t").track
    assert track.current == Phase("1.7", "Somewhere")
    assert track.next == Phase("2")


def test_finished_is_the_last_entry() -> None:
    """A track is finished as long as nothing came after."""
    done = {"phase": "2", "finished": True}
    assert tracks.parse(state(currentPhase="2", phaseHistory=[done]), "t").track.finished
    assert not tracks.parse(state(currentPhase="2", phaseHistory=[done, "2"]), "t").track.finished
    assert not tracks.parse(state(currentPhase="1", phaseHistory=[done]), "t").track.finished


# -- beginning -----------------------------------------------------------------------------------


def test_a_track_begins_with_a_list_or_with_more() -> None:
    """A list of phases, or an object that has one; what else stands there is kept."""
    listed = tracks.write_new('[{"label": "1"}]', "p.json", None, "t")
    assert json.loads(listed) == {
        "phases": [{"label": "1"}],
        "currentPhase": None,
        "phaseHistory": [],
    }
    whole = tracks.write_new('{"title": "T", "phases": ["1: A"]}', "p.json", '{"other": 1.50}', "t")
    assert list(json.loads(whole)) == ["title", "phases", "currentPhase", "phaseHistory", "other"]
    assert '"other": 1.50' in whole


@pytest.mark.parametrize(
    ("given", "before", "kind", "said"),
    [
        ("[]", None, ParseError, "p.json: no phases"),
        ("{}", None, ParseError, "p.json: no phases"),
        ("x", None, ParseError, "p.json: not JSON"),
        ('["1", "1"]', None, ParseError, "p.json: two phases"),
        ('{"phases": ["1"], "currentPhase": "1"}', None, QuandaryError, "currentPhase is not for"),
        ('["1"]', '{"phases": ["1"]}', Rejected, "t: there is a track already"),
        ('["1"]', "{", ParseError, "t: not JSON"),
    ],
)
def test_what_no_track_can_begin_with(
    given: str, before: str | None, kind: type[QuandaryError], said: str
) -> None:
    """A wrong file of phases, or a folder that has a track."""
    with pytest.raises(kind, match=said.replace(".", r"\.")):
        tracks.write_new(given, "p.json", before, "t")


# -- files ---------------------------------------------------------------------------------------


def test_a_track_that_has_begun_is_read_whatever_a_new_one_may_not_ask_for() -> None:
    """A keyword that was passed over when it was declared keeps nobody from going on."""
    schema = {"type": "object", "properties": {"a": {}}, "minProperties": 1}
    phases = [{"label": "1", "name": "Plan", "proof": schema}]
    (phase,) = tracks.parse(json.dumps({"phases": phases}), "t").track.phases
    assert [field.name for field in phase.proof] == ["a"]
    with pytest.raises(ParseError, match="asks for minProperties, which is not checked here"):
        tracks.write_new(json.dumps(phases), "t", None, "t")


def test_a_missing_file_says_how_to_begin(tmp_path: Path) -> None:
    """No track, no folder, and a file for a folder are each a line."""
    with pytest.raises(ParseError, match="begin a track with quandary phase start"):
        tracks.load(str(tmp_path))
    with pytest.raises(ParseError, match="no folder that can be used"), tracks.lock("/nowhere/x"):
        pass


def test_saving_keeps_mode_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """The file is replaced as a whole; there is nothing beside it."""
    path = tmp_path / tracks.NAME
    path.write_text("old", encoding="utf-8")
    path.chmod(0o640)
    with tracks.lock(str(tmp_path)):
        tracks.save(str(tmp_path), "new")
    assert path.read_text(encoding="utf-8") == "new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == [tracks.NAME]


def test_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever finds a track locked waits, and in the end gives up; the killed hold nothing."""
    script = (
        "import sys, time\nfrom quandary.formats import tracks\n"
        "with tracks.lock(sys.argv[1]):\n    print('mine', flush=True)\n    time.sleep(60)"
    )
    words = [sys.executable, "-c", script, str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "mine\n"
        monkeypatch.setattr(tracks, "PATIENCE", 0.05)
        with pytest.raises(Rejected, match="another program"), tracks.lock(str(tmp_path)):
            pass
        holder.kill()
        holder.wait()
        begin = time.monotonic()
        with tracks.lock(str(tmp_path)):
            assert time.monotonic() - begin < 1


def complaint(text: str) -> str | None:
    """What is said of a text that is no track."""
    try:
        tracks.parse(text, "t")
    except ParseError as error:
        return str(error)
    return None


# -- any file ------------------------------------------------------------------------------------

_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=6)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(
    st.dictionaries(st.text(max_size=8), _JSON, max_size=4),
    st.lists(_JSON, max_size=3),
    st.sampled_from([None, 0, 2, "\t"]),
)
def test_any_other_member_survives(
    others: dict[str, Any], history: list[Any], indent: int | str | None
) -> None:
    """Members and entries that are not ours are the same after a move, in the same order."""
    ours = {"phases": ["1: A", "2: B"], "currentPhase": "1", "phaseHistory": history}
    whole = {**others, **ours}
    kept = tracks.parse(json.dumps(whole, indent=indent), "t")
    after = json.loads(tracks.write_move(kept, go(kept, "2"), Passage("2: B")))
    assert list(after) == list(whole)
    assert {**after, **ours} == whole
    assert after["phaseHistory"][:-1] == history


@given(st.one_of(st.text(), _JSON.map(json.dumps), st.builds(json.dumps, st.lists(_JSON))))
def test_any_text_is_a_track_or_one_line(text: str) -> None:
    """Nothing in the file makes the reader fall over."""
    said = complaint(text)
    assert said is None or said.startswith("t: ")
    assert "\n" not in (said or "")


@given(_JSON, _JSON, _JSON, _JSON)
def test_any_members_are_a_track_or_one_line(
    label: object, proof: object, current: object, history: object
) -> None:
    """The same for a file that has our members with anything in them."""
    members = {
        "phases": [{"label": "1", "proof": proof}, {"label": label}],
        "currentPhase": current,
        "phaseHistory": history,
    }
    assert "\n" not in (complaint(json.dumps(members)) or "")


@pytest.mark.parametrize("target", ["../elsewhere.json", "/dev/zero", "../nothing.json"])
def test_a_link_out_of_the_folder_is_neither_read_nor_written(tmp_path: Path, target: str) -> None:
    """A repository may have brought it; a link within the folder is a file like any other."""
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text(state(), encoding="utf-8")
    folder = tmp_path / "track"
    folder.mkdir()
    (folder / tracks.NAME).symlink_to(target)
    for use in (tracks.load, tracks.read, lambda folder: tracks.save(folder, state(title="new"))):
        with pytest.raises(ParseError, match="leads out of its folder"):
            use(str(folder))
    assert elsewhere.read_text(encoding="utf-8") == state()
    assert not (tmp_path / "nothing.json").exists()
    (folder / tracks.NAME).unlink()
    (folder / "kept.json").write_text(state(), encoding="utf-8")
    (folder / tracks.NAME).symlink_to("kept.json")
    tracks.save(str(folder), state(title="new"))
    assert "new" in (folder / "kept.json").read_text(encoding="utf-8")
