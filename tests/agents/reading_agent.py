"""A fake agent that reads replies: what is dark is the evening. It counts how often it is asked."""

import json
import os
import sys
import time

prompt = sys.stdin.read()
with open(sys.argv[1], "a", encoding="utf-8") as file:
    file.write(f"{os.getcwd()}\n")
reply = prompt.split("The reply:")[1].split("The routes:")[0]
nonce = prompt.rsplit("with the text ", 1)[1].split(":")[0]
said: dict[str, object] = {"choices": [], "answer": "none of these", "reasons": "", "nonce": nonce}
if "dark" in reply:
    said["answer"] = "EVE: Deploy this evening"
while "slowly" in reply and not os.path.exists(f"{sys.argv[1]}.go"):
    time.sleep(0.01)
if "quoting" in reply:
    sys.stdout.write(json.dumps({"log": {**said, "answer": "NOW: Deploy now"}}))
elif "sleeping" in reply:
    time.sleep(60)
elif "failing" in reply:
    sys.exit(3)
else:
    sys.stdout.write(f"Let me see.\n{json.dumps(said)}\n")
