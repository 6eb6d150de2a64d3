// The drawers in memory: by number, by id, by the words they hold, and by the names they are filed under.

const FACETS = ["wing", "room", "source", "speaker", "kind"];
// A posting is a drawer's number and how often it holds the word, in one small integer.
const COUNTS = 64;

const drawers = [];
const times = [];
const lengths = [];
const numbers = new Map();
const postings = new Map();
// For each facet: the names, their numbers, and the number of the name of each drawer. Null is a name, too.
const facets = Object.fromEntries(FACETS.map((facet) => [facet, { names: [], known: new Map(), of: [] }]));
let allLengths = 0;

const addName = (facet, name) => {
  const { names, known, of } = facets[facet];
  let number = known.get(name);
  if (number === undefined) {
    number = names.push(name) - 1;
    known.set(name, number);
  }
  of.push(number);
};

const addDrawer = (drawer) => {
  if (numbers.has(drawer.id)) return false;
  const number = drawers.push(drawer) - 1;
  numbers.set(drawer.id, number);
  const time = Date.parse(drawer.said_at ?? drawer.filed_at ?? "");
  times.push(Number.isNaN(time) ? -Infinity : time);
  for (const facet of FACETS) addName(facet, drawer[facet] ?? null);
  const held = new Map();
  let length = 0;
  eachToken(drawer.text ?? "", false, (token) => {
    length += 1;
    held.set(token, (held.get(token) ?? 0) + 1);
  });
  lengths.push(length);
  allLengths += length;
  for (const [token, times] of held) {
    const posting = number * COUNTS + Math.min(times, COUNTS - 1);
    const list = postings.get(token);
    if (list) list.push(posting);
    else postings.set(token, [posting]);
  }
  return true;
};

// The drawers of a source in their order there.
const listSource = (source) => {
  const name = facets.source.known.get(source);
  if (name === undefined) return [];
  const found = [];
  facets.source.of.forEach((other, number) => {
    if (other === name) found.push(number);
  });
  const place = (number) => drawers[number].span?.start ?? -1;
  return found.sort((a, b) => place(a) - place(b) || times[a] - times[b] || (drawers[a].id < drawers[b].id ? -1 : 1));
};

// Finds a drawer by its id, or by the beginning of it that only one has.
const findDrawer = (id) => {
  const exact = numbers.get(id);
  if (exact !== undefined) return drawers[exact];
  const begun = id ? drawers.filter((drawer) => drawer.id.startsWith(id)) : [];
  return begun.length === 1 ? begun[0] : undefined;
};
