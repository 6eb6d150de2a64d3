"""endless-sky-data deb: conversation lines, mission texts, descriptions, in file order, joined up to 600 characters per block."""
from passages import *
import re
def gen():
    for n, b in deb_members(pkg('endless-sky-data_*.deb'), lambda n: '/data/' in n and n.endswith('.txt')):
        turns = []
        def out():
            r = join_turns(turns, 600)
            turns.clear()
            return r
        for line in txt(b).splitlines():
            if re.match(r'\S', line) or re.match(r'\t(name|conversation|on )', line) or re.match(r'\t+(label|choice)', line):
                yield from out()
            m = re.match(r'^\t*(?:description |dialog |message |spaceport |word )?[`"](.*)[`"]\s*$', line)
            if m:
                s = re.sub(r'<[a-z ]+>', lambda k: {'<first>': 'Alex', '<last>': 'Smith', '<ship>': 'the ship'}.get(k.group(0), 'it'), m.group(1)).strip()
                if len(s) > 25 and ' ' in s and not re.search(r'" "|` `|"\s+\d', s):
                    turns.append(s)
        yield from out()
write('endless_sky', gen())
