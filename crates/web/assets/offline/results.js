// Results: a page of drawers with the words marked, facets beside it, chips for what is chosen.

const PAGE = 20;
const FEW_NAMES = 8;
const MORE_NAMES = 60;
const TITLES = { wing: "Wing", room: "Room", source: "Source", speaker: "Speaker", kind: "Kind" };
// How many names of each facet are shown; it stays while results change.
const namesShown = Object.fromEntries(FACETS.map((facet) => [facet, FEW_NAMES]));

const card = (drawer, words) => {
  const text = drawer.text ?? "";
  const link = make("a", { class: "words", dir: "auto", route: drawerRoute(drawer.id) });
  if (text) appendExcerpt(link, text, words);
  else link.append(make("span", { class: "muted" }, "no text"));
  return make("li", { class: "card", "data-item": "", "data-id": drawer.id },
    cardHead(drawer), link, damageOf(drawer), make("div", { class: "card-foot" }, sourceLink(drawer)));
};

// The address of the same search with some of it changed. Another choice begins at the first page again.
const searchRoute = (asked, change = {}) => {
  const { question, match, sort, chosen, page } = { ...asked, page: 1, ...change };
  return route([
    ["q", question],
    ...[...chosen].map(([facet, value]) => facetPart(facet, value)),
    ["match", match === "all" ? undefined : match],
    ["sort", sort === "best" ? undefined : sort],
    ["page", page > 1 ? page : undefined],
  ]);
};

const without = (chosen, facet) => new Map([...chosen].filter(([other]) => other !== facet));

const chips = (asked) => {
  if (asked.chosen.size === 0) return null;
  return make("ul", { class: "chips", "aria-label": "Narrowed to" }, [...asked.chosen].map(([facet, value]) =>
    make("li", {}, make("span", {}, make("span", { class: "field" }, `${TITLES[facet]} `), nameOf(facet, value)),
      make("a", { route: searchRoute(asked, { chosen: without(asked.chosen, facet) }),
        "aria-label": `Remove ${TITLES[facet]}`, title: `Remove ${TITLES[facet]}` }, "×"))));
};

const facetList = (facet, counts, asked) => {
  const { names } = facets[facet];
  const held = names.map((_, number) => number).filter((number) => counts[number] > 0);
  const isChosen = (number) => asked.chosen.has(facet) && asked.chosen.get(facet) === names[number];
  held.sort((a, b) => isChosen(b) - isChosen(a) || counts[b] - counts[a] || a - b);
  // A facet without a choice says nothing.
  if (held.length === 0 || (held.every((number) => names[number] === null) && !asked.chosen.has(facet))) return null;
  const section = make("section", {}, make("h2", {}, TITLES[facet]));
  const fill = () => {
    const rows = held.slice(0, namesShown[facet]).map((number) => {
      const value = names[number];
      const chosen = isChosen(number) ? without(asked.chosen, facet) : new Map(asked.chosen).set(facet, value);
      return make("li", {},
        make("a", { route: searchRoute(asked, { chosen }), "aria-current": isChosen(number) ? "true" : null,
          title: value === null ? null : plainName(value) },
        nameOf(facet, facet === "source" && value !== null ? shortSource(value) : value)),
        make("span", { class: "num" }, digits.format(counts[number])));
    });
    const left = held.length - rows.length;
    const more = left <= 0 ? null : make("button", { type: "button", class: "link", click: () => {
      namesShown[facet] += MORE_NAMES;
      fill();
      section.querySelectorAll("li a")[rows.length]?.focus();
    } }, `${digits.format(Math.min(left, MORE_NAMES))} more`);
    section.replaceChildren(section.firstChild, make("ul", {}, rows), ...(more ? [more] : []));
  };
  fill();
  return section;
};

const facetColumn = (asked, counts) => {
  const lists = FACETS.map((facet, at) => facetList(facet, counts[at], asked)).filter(Boolean);
  if (lists.length === 0) return null;
  const fold = make("details", { class: "facet-fold" }, make("summary", {}, "Narrow down"), lists);
  fold.open = !matchMedia("(max-width: 820px)").matches;
  return make("nav", { class: "facets", "aria-label": "Narrow down" }, fold);
};

const pager = (asked, found) => {
  const pages = Math.ceil(found / PAGE);
  if (pages <= 1) return null;
  const link = (page, words, id) => (page < 1 || page > pages
    ? null
    : make("a", { class: "button", id, route: searchRoute(asked, { page }) }, words));
  return make("nav", { class: "pager", "aria-label": "Pages of results" },
    link(asked.page - 1, "Previous", "previous"),
    make("span", { class: "muted" }, `Page ${digits.format(asked.page)} of ${digits.format(pages)}`),
    link(asked.page + 1, "Next", "next"));
};

// The sentence above the results.
const describeResults = (asked, answer) => {
  const found = answer.matches.length;
  const first = (asked.page - 1) * PAGE + 1;
  const range = found > PAGE ? `${digits.format(first)}–${digits.format(Math.min(first + PAGE - 1, found))} of ` : "";
  const some = answer.loosened && found > 0 ? "No drawer has all of the words; these have some. " : "";
  return `${some}${range}${count(found, "drawer")}`;
};

const nothingFound = (asked) => make("div", { class: "empty" },
  make("p", {}, drawers.length === 0 ? "There are no drawers in this file." : "Nothing was found."),
  drawers.length === 0 ? null : make("p", {}, asked.chosen.size > 0
    ? "Remove what narrows the search, or use other words."
    : "Try fewer or other words. Words are compared without case, accents and plurals; their meaning is not."));

const resultsView = (asked, answer) => {
  const begin = (asked.page - 1) * PAGE;
  const shown = answer.matches.slice(begin, begin + PAGE).map((number) => card(drawers[number], answer.words));
  const list = shown.length === 0 ? nothingFound(asked) : make("ol", { class: "hit-list", "aria-label": "Results" }, shown);
  return make("div", { class: "results" },
    facetColumn(asked, answer.counts),
    make("section", { class: "hits", "aria-label": "Results" },
      make("h1", { class: "visually-hidden" }, asked.question ? "Results" : "Drawers"),
      chips(asked), list, pager(asked, answer.matches.length)));
};
