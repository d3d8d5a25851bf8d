import quandary

notes = quandary.form(
    "What shall the release notes say?",
    {
        "title": {"type": "string", "default": "Version 2.1"},
        "urgent": bool,
        "readers": ["everybody", "administrators"],
    },
    context="Version 2.1 goes out this evening.",
    key="notes-2.1",
)
print(f"{notes['title']}, for {notes['readers']}{' (urgent)' if notes['urgent'] else ''}")
