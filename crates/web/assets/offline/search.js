// The search: drawers that hold the words, ranked by BM25; facets with counts; order.

const [SATURATION, LENGTH_SHARE] = [1.2, 0.75];
// A word that only begins with what was typed counts less than the word itself.
const BEGUN_WEIGHT = 0.35;
const MOST_BEGUN = 300;
// The milliseconds that a search or a block takes before the page may draw and answer keys.
const SLICE = 14;

const pause = () => new Promise((go) => setTimeout(go, 0));

// The tokens that one word of a question stands for, with their weights.
const expand = (token, isOpen) => {
  const wanted = [[token, 1]];
  if (!isOpen) return wanted;
  const begun = [];
  for (const other of postings.keys()) {
    if (other.length > token.length && other.startsWith(token)) begun.push(other);
  }
  begun.sort((a, b) => postings.get(b).length - postings.get(a).length);
  return wanted.concat(begun.slice(0, MOST_BEGUN).map((other) => [other, BEGUN_WEIGHT]));
};

// Adds the scores of one word to those of the drawers, and counts it once for each that holds it.
const score = (group, wanted, scores, held, seen) => {
  const mean = allLengths / Math.max(drawers.length, 1) || 1;
  for (const [token, weight] of wanted) {
    const list = postings.get(token);
    if (!list) continue;
    const rarity = Math.log(1 + (drawers.length - list.length + 0.5) / (list.length + 0.5));
    for (const posting of list) {
      const number = Math.floor(posting / COUNTS);
      const times = posting % COUNTS;
      const length = 1 - LENGTH_SHARE + (LENGTH_SHARE * lengths[number]) / mean;
      scores[number] += (weight * rarity * times * (SATURATION + 1)) / (times + SATURATION * length);
      if (seen[number] !== group + 1) {
        seen[number] = group + 1;
        held[number] += 1;
      }
    }
  }
};

// Finds the drawers that match the words of a question, whatever they are filed under; null if `isStale`.
const findMatches = async (question, match, isStale) => {
  const { tokens, phrases, open } = readQuestion(question);
  const count = drawers.length;
  const all = { matches: null, scores: null, words: new Set(), loosened: false };
  if (tokens.length === 0) return all;
  const [scores, held, seen] = [new Float32Array(count), new Uint8Array(count), new Uint8Array(count)];
  const words = new Set();
  tokens.forEach((token, group) => {
    const wanted = expand(token, token === open);
    for (const [word] of wanted) words.add(word);
    score(group, wanted, scores, held, seen);
  });
  const holding = (least) => {
    const found = [];
    for (let number = 0; number < count; number += 1) if (held[number] >= least) found.push(number);
    return found;
  };
  let matches = holding(match === "any" ? 1 : tokens.length);
  // Rather than nothing, drawers that hold some of the words are shown, and the page says so.
  const loosened = match !== "any" && matches.length === 0 && tokens.length > 1 && phrases.length === 0;
  if (loosened) matches = holding(1);
  // Half of the words says less than half as much as all of them.
  for (const number of matches) scores[number] *= (held[number] / tokens.length) ** 2;
  for (const pattern of phrases) {
    const kept = [];
    let began = performance.now();
    for (const number of matches) {
      if (pattern.test(foldForPhrases(drawers[number].text ?? ""))) kept.push(number);
      if (performance.now() - began < SLICE) continue;
      await pause();
      if (isStale()) return null;
      began = performance.now();
    }
    matches = kept;
  }
  return { matches, scores, words, loosened };
};

// Narrows matches by what they are filed under, and counts each facet as if it alone were not chosen.
const narrow = (matches, chosen) => {
  const wanted = FACETS.map((facet) => (chosen.has(facet) ? (facets[facet].known.get(chosen.get(facet)) ?? -1) : null));
  const counts = FACETS.map((facet) => new Uint32Array(facets[facet].names.length));
  const kept = [];
  const take = (number) => {
    let [failed, only] = [0, -1];
    for (let at = 0; at < FACETS.length; at += 1) {
      if (wanted[at] === null || facets[FACETS[at]].of[number] === wanted[at]) continue;
      failed += 1;
      only = at;
    }
    if (failed === 0) kept.push(number);
    for (let at = 0; at < FACETS.length; at += 1) {
      if (failed === 0 || (failed === 1 && only === at)) counts[at][facets[FACETS[at]].of[number]] += 1;
    }
  };
  if (matches) matches.forEach(take);
  else for (let number = 0; number < drawers.length; number += 1) take(number);
  return { kept, counts };
};

const lateIfUnknown = (number) => (times[number] === -Infinity ? Infinity : times[number]);

const ORDERS = {
  best: (scores) => (a, b) => (scores ? scores[b] - scores[a] : 0) || times[b] - times[a] || a - b,
  newest: () => (a, b) => times[b] - times[a] || a - b,
  // Drawers without a time come last in both.
  oldest: () => (a, b) => lateIfUnknown(a) - lateIfUnknown(b) || a - b,
};

// Answers a question: { matches, counts, words, loosened }, or null if another has been asked meanwhile.
const search = async ({ question, match, sort, chosen }, isStale) => {
  const found = await findMatches(question, match, isStale);
  if (!found || isStale()) return null;
  const { kept, counts } = narrow(found.matches, chosen);
  kept.sort((ORDERS[sort] ?? ORDERS.best)(found.scores));
  return { ...found, matches: kept, counts };
};
