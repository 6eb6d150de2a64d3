"""Battle for Wesnoth 1.16 debs: translatable strings of scenario files in file order; consecutive messages joined to passages of up to 600 characters."""
from passages import *
import re
STR = re.compile(r'(message|story|description|text|caption|note|summary|help_text|cannot_use_message)\s*=\s*_\s*"((?:[^"]|"")*)"((?:\s*\+\s*_?\s*"(?:[^"]|"")*")*)')
def fix(s):
    s = s.replace('""', '"')
    s = re.sub(r'<[^>]*>', ' ', s)
    s = re.sub(r'\$[a-z_.|0-9]+', 'it', s)
    s = re.sub(r'^\s*[a-z ]+\^', '', s)
    return clean(s)
def gen():
    pk = [pkg('wesnoth-1.16-data_*.deb')] + sorted(glob.glob(DL + '/wesnoth-1.16-[a-ce-z]*.deb') + glob.glob(DL + '/wesnoth-1.16-d[imw]*.deb'))
    for p in pk:
        for n, b in deb_members(p, lambda n: n.endswith(('.cfg',)) and '/data/' in n):
            for ev in re.split(r'\[(?:event|story|part|unit_type|campaign|topic|section)\]', txt(b)):
                turns = []
                for m in STR.finditer(ev):
                    s = m.group(2) + ' ' + ' '.join(re.findall(r'"((?:[^"]|"")*)"', m.group(3)))
                    s = fix(s)
                    if len(s) > 12: turns.append(s)
                yield from join_turns(turns, 600)
write('wesnoth', gen())
