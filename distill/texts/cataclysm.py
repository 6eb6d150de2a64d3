"""cataclysm-dda-data deb (CC BY-SA 3.0): descriptions, NPC dialogue, snippets from JSON."""
from passages import *
import re, json
def fix(s):
    s = re.sub(r'<color_[a-z_]+>|</color>|<info>|</info>|<good>|</good>|<bad>|</bad>|<neutral>|</neutral>|<stat>|</stat>', '', s)
    s = re.sub(r'<(name_g|name_b|name)>', 'friend', s)
    s = re.sub(r'<(mypronoun)>', 'I', s)
    s = re.sub(r'<(swear|fuck_you|very|really|freaking|the_cataclysm|granny_name_g|okay|zombies?|done_mugging|ill_die|happy|sad)[!.]?>', ' ', s)
    s = re.sub(r'<[a-z_0-9]+[!.,?]*>', ' ', s)
    s = re.sub(r'%\d*\$?[sd]|&', ' ', s)
    s = re.sub(r'\s+([.,!?])', r'\1', s)
    return clean(s)
KEYS = ('description', 'text', 'dynamic_line', 'str', 'message', 'messages', 'info', 'lore', 'msg', 'responses', 'sound', 'snippets', 'offer', 'accepted', 'rejected', 'advice', 'inquire', 'success', 'success_lie', 'failure', 'dialogue', 'entries', 'yes', 'no', 'and', 'effect', 'signage', 'signs', 'hints', 'story', 'name_and_desc', 'snippet_category', 'use_action', 'menu_text', 'book', 'topic')
def strings(o, key=''):
    if isinstance(o, str):
        if ' ' in o and key not in ('id', 'type', 'comment', '//', 'name', 'color', 'symbol', 'copy-from', 'volume', 'weight', 'price', 'name_plural', 'time', 'using', 'looks_like', 'str_pl'):
            yield o
    elif isinstance(o, list):
        for x in o: yield from strings(x, key)
    elif isinstance(o, dict):
        for k, v in o.items():
            if k.startswith('//') or k in ('rows', 'palettes', 'mapping', 'blocks', 'object', 'name', 'components', 'qualities', 'tools', 'flags', 'overmaps'): continue
            yield from strings(v, k)
def gen():
    for n, b in deb_members(pkg('cataclysm-dda-data_*.deb'), lambda n: n.endswith('.json') and ('/json/' in n or '/mods/' in n) and '/names/' not in n and 'mapgen' not in n):
        try: d = json.loads(txt(b))
        except Exception: continue
        for o in d if isinstance(d, list) else [d]:
            if not isinstance(o, dict): continue
            nm = o.get('name')
            if isinstance(nm, dict): nm = nm.get('str') or nm.get('str_sp')
            if isinstance(nm, list): nm = None
            ss = [fix(x) for x in strings(o)]
            ss = [x for x in ss if len(x) > 12 and x.count(' ') >= 2 and not re.match(r'-?\d[\d.]* ?(days?|hours?|minutes?|m|s|h|d|kg|g|ml|L|USD|kUSD|seconds?|mm|cm)\b', x) and "shouldn't see this" not in x and 'is a bug' not in x]
            if o.get('type') == 'snippet':
                yield from ss; continue
            if nm and isinstance(nm, str) and o.get('type') != 'talk_topic' and ss:
                ss[0] = nm[0].upper() + nm[1:] + '. ' + ss[0]
            yield from join_turns(ss, 700)
write('cataclysm', gen())
