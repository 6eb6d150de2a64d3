// A source: parts before and after load while one scrolls. Without this script, the same links lead to them as pages.
(() => {
  "use strict";
  const passage = document.getElementById("passage");

  // What a link points at may be folded away.
  const unfold = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const fold = target && target.closest("details:not([open])");
    if (!fold) return;
    fold.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  unfold();
  if (!passage || !("IntersectionObserver" in window)) return;

  // So many parts are kept; the farthest ones are dropped, and load again when they are scrolled to.
  const MOST_PARTS = 8;
  // So many pixels before a part comes into view, it loads.
  const MARGIN = 600;
  const status = document.getElementById("passage-status");
  const pagers = { earlier: null, later: null };
  for (const nav of passage.querySelectorAll("nav[data-passage]")) pagers[nav.dataset.passage] = nav;
  if (!pagers.earlier || !pagers.later) return;
  const parts = () => [...passage.querySelectorAll(":scope > section.part")];
  const wayOn = (side) => (side === "earlier" ? parts().at(0) : parts().at(-1))?.dataset[side];

  const update = (side) => {
    const href = wayOn(side);
    const [link, end] = pagers[side].children;
    link.hidden = !href;
    end.hidden = Boolean(href);
    if (href) link.href = href; else link.removeAttribute("href");
  };

  // Whether an element is so far off that it can go without being missed, or loaded again at once.
  const isFar = (element) => {
    const box = element.getBoundingClientRect();
    return box.bottom < -3 * MARGIN || box.top > innerHeight + 3 * MARGIN;
  };

  // Runs `change` and scrolls so that an item of `part` stays where it is on the screen.
  const keepingPlace = (part, side, change) => {
    const fixed = [...part.querySelectorAll("[data-item]")].at(side === "earlier" ? 0 : -1) ?? part;
    const before = fixed.getBoundingClientRect().top;
    change();
    const moved = fixed.getBoundingClientRect().top - before;
    if (moved) scrollBy({ top: moved, behavior: "instant" });
  };

  // The day is told once where two parts of the same day meet.
  const joinDays = () => {
    let last = null;
    for (const line of passage.querySelectorAll(".day-break")) {
      line.hidden = line.dataset.day === last;
      last = line.dataset.day;
    }
  };

  const take = (part, side) => {
    const fixed = side === "earlier" ? parts().at(0) : parts().at(-1);
    keepingPlace(fixed, side, () => {
      if (side === "earlier") fixed.before(part); else fixed.after(part);
      part.dispatchEvent(new CustomEvent("loci:added", { bubbles: true }));
      joinDays();
    });
    const many = side === "earlier" ? parts().slice(MOST_PARTS) : parts().slice(0, -MOST_PARTS);
    const far = many.filter(isFar);
    keepingPlace(part, side, () => {
      for (const old of far) old.remove();
      joinDays();
    });
    update("earlier");
    update("later");
  };

  const busy = { earlier: false, later: false };
  const load = async (side) => {
    const href = wayOn(side);
    if (busy[side] || !href) return false;
    busy[side] = true;
    pagers[side].setAttribute("aria-busy", "true");
    status.textContent = `Loading the ${side} part`;
    try {
      const url = new URL(href, location.href);
      url.pathname = `${document.documentElement.dataset.base ?? ""}/source/part`;
      const reply = await fetch(url, { credentials: "same-origin", headers: { Accept: "text/html" } });
      if (!reply.ok) throw new Error(`status ${reply.status}`);
      const parsed = new DOMParser().parseFromString(await reply.text(), "text/html");
      const part = parsed.querySelector("section.part");
      if (!part) throw new Error("no part");
      // Unless the page went on elsewhere meanwhile.
      if (wayOn(side) === href) take(document.adoptNode(part), side);
      status.textContent = `Loaded the ${side} part`;
      return true;
    } catch {
      // The link stays: as a page, it tells what went wrong.
      observer.unobserve(pagers[side]);
      status.textContent = `The ${side} part could not be loaded. Follow the link to open it.`;
      return false;
    } finally {
      busy[side] = false;
      pagers[side].removeAttribute("aria-busy");
    }
  };

  const observer = new IntersectionObserver(async (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting || !(await load(target.dataset.passage))) continue;
      // Observed anew, since an element that is in view before and after a jump is told of only once.
      observer.unobserve(target);
      observer.observe(target);
    }
  }, { rootMargin: `${MARGIN}px 0px` });

  for (const side of ["earlier", "later"]) {
    pagers[side].querySelector("a").addEventListener("click", async (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      const { href } = event.currentTarget;
      if (!(await load(side)) && !busy[side]) location.href = href;
    });
  }
  // The browser first scrolls to the place that the address names.
  const begin = () => requestAnimationFrame(() => {
    observer.observe(pagers.earlier);
    observer.observe(pagers.later);
  });
  if (document.readyState === "complete") begin(); else addEventListener("load", begin);
})();
