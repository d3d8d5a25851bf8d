import quandary

verdicts = quandary.ask(
    "examples/trees/release.md",
    context="Both passed every check. Support is there until six.",
    items=[{"title": "Version 2.1"}, {"title": "The new documentation"}],
    require="person",
    key="release-2.1",
)
for verdict in verdicts:
    print(f"{verdict.item}: {verdict.label} ({verdict.path}), says a {verdict.who}.")
