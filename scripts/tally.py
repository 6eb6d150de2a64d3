"""Prints what `loci --json backend test` found as cells of a table, and each broken promise: tally.py FILE"""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    report = json.load(file)
for promise in report["broken"]:
    print(f"broken: {promise['theme']}: {promise['sentence']}: {promise['found']}", file=sys.stderr)
print(" | ".join(str(sum(theme[count] for theme in report["themes"])) for count in ("kept", "broken", "not_applicable")))
