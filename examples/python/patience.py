import quandary

try:
    if quandary.confirm(
        "Remove the old index?",
        context="Nobody has read from it for a month. It can be built again in two hours.",
        require="person",
        timeout=3600,
        on_timeout="withdraw",
    ):
        print("It is removed.")
    else:
        print("It stays.")
except quandary.OwnWords as answer:
    print("Neither yes nor no:", answer.words)
except quandary.TimedOut:
    print("Nobody answered for an hour, so the question was withdrawn.")
except quandary.Unanswered as why:
    print("It stays:", why)
