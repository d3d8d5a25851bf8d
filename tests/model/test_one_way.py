"""The net for what cannot be taken back: what it must catch, and what it must let through."""

from __future__ import annotations

import re
import time
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quandary.model import one_way as net
from quandary.model.one_way import find_final, one_way

CAUGHT = """\
Delete the old branch?
Should I drop the users table?
Drop column legacy_id from orders
dropping tables
force-push to main
git push --force origin main
git push -f
merge into main and push --force-with-lease
git reset --hard HEAD~3
reset hard to origin/main
Push it forcefully
force update the remote branch
Should the repository go public?
Rotate the API keys?
Revoke the tokens
the secret should be rotated
Should the keys be revoked?
key rotation
reset the admin password
Reset everyone's passwords
Rotating credentials for the mail service
destroy the staging cluster
publish the package
Publishing version 2.0
Deploy to production now?
deploys to prod
Run migrations on production
production database migration
pay the invoice
paid the vendor
make the payment
wire $500
charge the customer's card
rm -rf build/
Wipe the disk
remove all users
Removing accounts
truncate the logs table
DELETE_USER
deleteAllRecords
de\u200blete everything
ｄｅｌｅｔｅ files
délete files
Overwrite existing files?
Send the newsletter to all customers
cancel the subscription
Grant admin access to the bot
Disable backups
Tear down the environment
git clean -fdx
rewrite git history
make the repository public
roll out to all users
discard local changes
this cannot be undone
empty the mailbox
upload it to the app store
Merge the PR
Re-key the module
Green-light the campaign
Let me run commands without asking
Always allow this tool
Trust this workspace
Add --dangerously-skip-permissions
Run the script from that gist
Run the installer as root
Comment under your name
sed -i 's/a/b/' /etc/passwd
Should the bot call the customer?
Edit /etc/ssh/sshd_config
Who may see the records?
Change the DNS of example.com
""".splitlines()

LET_THROUGH = """\
rotate the log files
Rotate the image by 90 degrees
reset the counter
deploy to staging
Which dropdown style do you like?
drag and drop upload
drop shadow on cards
pay attention to naming
Payload format: JSON or XML?
Use tabs or spaces?
Is a table or a list clearer here?
Where should the new test live?
Cover the edge case of an empty list
Double-check the types
remove the trailing comma
Remove unused imports
Which colour should the delete button have?
production build with source maps?
publisher field in the metadata
Format the code
key names: snake_case or camelCase
Token limit for the summary
change the key binding
change the token limit
Write tests for the payment form
Release notes wording
Push the branch
Update dependencies
test in production-like settings
clear the console
replace the key icon
Should the test call the client?
Should the help text list the defaults?
Should the tests live in one file?
""".splitlines()


@pytest.mark.parametrize("text", CAUGHT)
def test_what_cannot_be_taken_back_is_caught(text: str) -> None:
    """In any form of the word, and however it is written."""
    assert one_way(text)
    assert one_way("harmless", f"To begin with: {text.upper()}")


@pytest.mark.parametrize("text", LET_THROUGH)
def test_what_is_harmless_is_let_through(text: str) -> None:
    """A net that catches everything makes every preference useless."""
    assert not one_way(text)


@given(st.sampled_from(["delete", "drop", "destroy", "publish", "purge", "wipe"]), st.text())
def test_no_words_around_it_hide_a_dangerous_one(word: str, rest: str) -> None:
    """Whatever stands before or behind it on lines of its own."""
    assert one_way(f"{rest}\nPlease {word} it now.\n{rest}")


def test_long_texts_are_judged_in_time() -> None:
    """And one that is longer than anybody reads is never harmless."""
    begun = time.monotonic()
    for text in ("send the ", "make ", "change roll remove ", "a", " ", "drop-in ", "--"):
        one_way(text * (90_000 // len(text)))
    assert time.monotonic() - begun < 20
    assert one_way("a" * 200_000)


def rate(name: str) -> float:
    """Which part of the phrases of a file is caught."""
    phrases = (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines()
    return sum(bool(one_way(phrase)) for phrase in phrases) / len(phrases)


def test_nearly_all_of_many_irreversible_phrases_are_caught() -> None:
    """Commands, releases, people, money, contracts, rights, protection, in many words."""
    assert rate("irreversible.txt") >= 0.95


def test_few_of_many_harmless_questions_are_caught() -> None:
    """What coding agents ask every day."""
    assert rate("harmless.txt") <= 0.1


@pytest.mark.parametrize("label", ["Consult the Cat", "Consult a colleague", "Address the gaps"])
def test_to_ask_for_advice_and_to_fill_gaps_can_be_taken_back(label: str) -> None:
    """The usual next steps of a review: whoever confirms one is not warned."""
    assert not one_way(label)


@pytest.mark.parametrize(
    "text",
    [
        "dеlete the files",  # the second letter is Cyrillic
        "Soll ich das löschen?",
        "удалить все файлы",
        "删除数据库",
        "ᴅᴇʟᴇᴛᴇ the files",
        "🅳🅴🅻🅴🆃🅴 the files",
        "d e l e t e it all",
        "de-lete it all",
        "d3lete the users",
        "de\u2800lete it all",
        "PyPI upload",
        "uploadToPyPI",
        "Upload it to PyPI",
        "deployToProd",
        "a\x07b",
        "\ue000",
        "\u202eti eteled\u202c",
    ],
)
def test_no_spelling_hides_what_is_done(text: str) -> None:
    """Look-alike letters, other scripts, gaps, figures for letters, camelCase before and after."""
    assert one_way(text)


@pytest.mark.parametrize("verb", ["Deploy", "Ship", "Send", "Push", "Upload", "Pay for", "Release"])
def test_an_idiom_excuses_nothing_beside_a_deed_that_carries_it_away(verb: str) -> None:
    """A production build is harmless as long as nobody sends it anywhere."""
    assert not one_way("production build with source maps?")
    assert one_way(f"{verb} the production build")
    assert one_way(f"Take the production build and {verb.lower()} it")


@pytest.mark.parametrize(
    "text", ["Rename the method deleteAll", "Explain what git rebase does", "List what is deleted"]
)
def test_what_only_names_or_asks_is_let_through(text: str) -> None:
    """But nothing is excused that goes on behind it, or that runs what it names."""
    assert not one_way(text)
    assert one_way(f"{text} and delete the users")
    assert one_way("Run the method deleteAll")


@pytest.mark.parametrize("name", ["Spring Boot", "Visual Studio", "colour-scheme", "auth-provider"])
def test_a_name_is_no_order(name: str) -> None:
    """Unlike words of which none is known."""
    assert not one_way(name)
    assert one_way("Plead guilty")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Delete the old orders", "delete"),
        ("Publish it to everyone", "publish"),
        ("Claude Code wants to run a command: rm -rf build", "rm -rf build"),
        ("git push --force origin main", "push --force"),
        ("Drop the users table", "drop the users table"),
        ("Mail all customers", "mail all customers"),
        ("They are gone for good", "for good"),
        ("Deploy this evening", ""),
        ("Restart the proxy", ""),
        ("Delete the unused test", ""),
        ("Delete the test database", "delete"),
        ("Delete the test users in production", "delete"),
        ("Hold it: nothing is deleted", ""),
        ("Drop it", ""),
        ("Take msgspec 0.20", ""),
    ],
)
def test_people_are_warned_of_less_than_the_net_holds_back(text: str, found: str) -> None:
    """Only where something is gone, paid or known to others afterwards."""
    assert find_final(text) == found
    assert one_way(text) or not found


def test_few_harmless_sentences_warn() -> None:
    """A mark that is everywhere says nothing."""
    texts = (Path(__file__).parent / "harmless.txt").read_text(encoding="utf-8").splitlines()
    assert sum(bool(find_final(text)) for text in texts) <= len(texts) // 200


# -- what makes it quick ---------------------------------------------------------------------------

LISTS = tomllib.loads(Path(net.__file__).with_name("one_way.toml").read_text("utf-8"))
PATTERNS = [(name, line) for name in LISTS["patterns"] for line in net.lines_of(name)[0]]
VOCABULARY = sorted(
    {
        word.strip("*+^")
        for table in ("words", "things")
        for text in LISTS[table].values()
        for word in text.split()
    }
    | {*re.findall(r"[a-z']+", " ".join(LISTS["patterns"].values()))}
)


def test_the_lists_are_read_as_toml_says() -> None:
    """Our own reader of one_way.toml finds what any reader of TOML finds there."""
    read = net.read_lists()
    assert {name: read[name] for name in ("words", "patterns", "things")} == {
        name: [LISTS[name]] for name in ("words", "patterns", "things")
    }
    assert [deed | ({"near": True} if "near" in deed else {}) for deed in read["deeds"]] == LISTS[
        "deeds"
    ]


@pytest.mark.parametrize(("name", "line"), PATTERNS)
@settings(max_examples=5)
@given(data=st.data())
def test_no_line_is_left_out_that_could_be_found(name: str, line: str, data: st.DataObject) -> None:
    """Lines are compiled only where a text has a word that they need; whatever fits one has it."""
    inside = st.from_regex(line, fullmatch=True, alphabet=st.characters(codec="ascii"))
    text = f"{data.draw(words)} {data.draw(inside)} {data.draw(words)}"
    lines = net.lines_of(name)[0]
    assert line in net.find_lines(name, text)
    whole = re.compile(rf"(?<![\w'])(?:{'|'.join(lines)})(?!\w)").search(text)
    found = net.search_lines(name, text)
    assert (whole and whole.span()) == (found and found.span())


words = st.lists(st.sampled_from(VOCABULARY), max_size=4).map(" ".join)


@pytest.mark.parametrize("mark", ["", "*", "+"])
@given(
    listed=st.lists(st.sampled_from(" ".join(LISTS["words"].values()).split()), min_size=1),
    word=st.sampled_from(VOCABULARY),
    ending=st.sampled_from(["", "s", "es", "'s", "d", "ed", "ing", "r", "er", "ies", "ied"]),
    cut=st.integers(0, 1),
)
def test_a_word_is_known_in_just_the_forms_that_can_be_spelt_out(
    mark: str, listed: list[str], word: str, ending: str, cut: int
) -> None:
    """Looking a word up by its stem finds what a list of all forms would."""
    forms = {form for one in listed for form in net.spell(one + mark)}
    known = net.Forms(" ".join(listed), mark)
    asked = [
        *forms,
        word[: len(word) - cut] + ending,
        *(one.strip("*+") + ending for one in listed),
    ]
    assert [one in known for one in asked] == [one in forms for one in asked]
