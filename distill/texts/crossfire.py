"""crossfire-maps deb (GPL): NPC dialogues and sign texts in map files (msg ... endmsg)."""
from passages import *
import re
def gen():
    for n, b in deb_members(pkg('crossfire-maps_*.deb'), lambda n: '/maps/' in n):
        s = txt(b)
        if not s.startswith('arch map') and '.msg' not in n: continue
        if n.endswith('.msg'):
            for m in re.finditer(r'"(?:[^"\\]|\\.)*"', s):
                t = m.group(0)[1:-1].replace('\\n', ' ')
                if t.count(' ') > 3: yield t
            continue
        for m in re.finditer(r'^msg\n(.*?)^endmsg', s, re.S | re.M):
            t = m.group(1)
            if 'maplore' in t or re.search(r'^\w+style |^(final_map|dungeon_|layout|monsterstyle|symmetry)', t, re.M): continue
            turns = []
            for part in re.split(r'^@(?:match|reply|question).*$', t, flags=re.M):
                p = clean(re.sub(r'\[/?[a-z=0-9 ]+\]|^@\w+.*$', ' ', part, flags=re.M))
                if len(p) > 12: turns.append(p)
            yield from join_turns(turns, 600)
write('crossfire', gen())
