import quandary

region = quandary.choose(
    "Which region gets build 812 first?",
    ["eu", "us", "ap"],
    context="Build 812 passed every check. The other regions follow an hour later.",
    key="region-812",  # started again, the program gets the same question, and its answer
    via="inbox",  # without this, whoever sits at the terminal is asked right there
)
print(f"Build 812 goes to {region}.")
