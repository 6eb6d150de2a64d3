// Live parts: changes as they happen, and the progress of a job. Nothing is asked while the page is not seen.
(() => {
  "use strict";
  // A site may be served below a path.
  const base = document.documentElement.dataset.base ?? "";

  // Asks this server for a part of a page; fails rather than waiting for ever.
  const ask = async (address) => {
    const reply = await fetch(address, { cache: "no-store", redirect: "error", signal: AbortSignal.timeout(20000) });
    const text = await reply.text();
    if (!reply.ok) throw Object.assign(new Error(text), { status: reply.status });
    return new DOMParser().parseFromString(text, "text/html");
  };

  // Runs `step` again and again while the page is seen. A step returns the milliseconds to the next, or null at the end.
  const repeat = (step) => {
    let timer = 0, busy = false, ended = false;
    const run = async () => {
      clearTimeout(timer);
      if (busy || ended || document.hidden) return;
      busy = true;
      const pause = await step();
      busy = false;
      ended = pause === null;
      if (!ended) timer = setTimeout(run, pause);
    };
    document.addEventListener("visibilitychange", run);
    timer = setTimeout(run, 1000);
    return run;
  };
  const added = (element) => element.dispatchEvent(new Event("loci:added", { bubbles: true }));
  const say = (id, words) => {
    const element = document.getElementById(id);
    if (element && element.textContent !== words) element.textContent = words;
  };

  // Activity. The cursor is that of the last change on the page, so that each comes once and in order.
  const activity = document.querySelector("#activity[data-cursor]");
  if (activity) {
    const BETWEEN = 2000, CATCHING_UP = 250, SLOWEST = 30000, MOST = 400;
    const list = activity.querySelector("ol");
    const pause = document.getElementById("activity-pause");
    const earlier = document.getElementById("activity-earlier");
    let cursor = BigInt(activity.dataset.cursor), failures = 0, paused = false, unsaid = 0;
    const insert = (item) => {
      const seq = BigInt(item.dataset.seq);
      if (seq <= cursor) return;
      list.prepend(document.adoptNode(item));
      cursor = seq;
      unsaid += 1;
    };
    // A page that is open for days does not grow for ever: its oldest changes move behind the link.
    const shorten = () => {
      if (list.children.length <= MOST) return;
      while (list.children.length > MOST) list.lastElementChild.remove();
      earlier.href = `${base}/activity?before=${encodeURIComponent(list.lastElementChild.dataset.seq)}`;
      earlier.hidden = false;
    };
    const take = (part) => {
      const news = part.querySelector("ol");
      for (const item of [...news.children]) insert(item);
      const next = BigInt(news.dataset.next);
      if (next > cursor) cursor = next;
      if (unsaid > 0) {
        document.getElementById("activity-empty")?.remove();
        shorten();
        added(list);
      }
      return "later" in news.dataset;
    };
    // Said once for many, so that a screen reader is not flooded.
    const tell = () => {
      if (unsaid > 0) say("activity-news", unsaid === 1 ? "1 new change" : `${unsaid.toLocaleString()} new changes`);
      unsaid = 0;
    };
    const run = repeat(async () => {
      if (paused) return BETWEEN;
      try {
        const part = await ask(`${base}/activity/feed?since=${cursor}`);
        failures = 0;
        // Paused while it was asked: the same is asked again later.
        if (paused) return BETWEEN;
        const more = take(part);
        say("activity-state", "Live");
        if (more) return CATCHING_UP;
        tell();
        return BETWEEN;
      } catch {
        failures += 1;
        say("activity-state", "Not live: this server does not answer. Load the page again if that lasts.");
        return Math.min(BETWEEN * 2 ** failures, SLOWEST);
      }
    });
    pause.hidden = false;
    document.getElementById("activity-newer").hidden = true;
    pause.addEventListener("click", () => {
      paused = !paused;
      pause.setAttribute("aria-pressed", String(paused));
      say("activity-state", paused ? "Paused" : "Live");
      if (!paused) run();
    });
  }

  // A job: its changing part is fetched until it has ended.
  const job = document.querySelector("#job[data-job]");
  if (job) {
    const BETWEEN = 1000, SLOWEST = 15000, SAID_EVERY = 10;
    let shown = job, asked = 0, failures = 0;
    const replace = (part) => {
      const held = shown.contains(document.activeElement) ? document.activeElement : null;
      shown.replaceWith(part);
      shown = part;
      added(shown);
      if (held) ([...shown.querySelectorAll("button, a")].find((one) => one.textContent === held.textContent) ?? shown).focus();
    };
    repeat(async () => {
      try {
        const part = (await ask(shown.dataset.job)).getElementById("job");
        failures = 0;
        replace(document.adoptNode(part));
        const ended = !("job" in shown.dataset);
        // The beginning and the end are said, and now and then how far it is.
        if (ended || asked % SAID_EVERY === 0) {
          const words = ended ? shown.querySelector("h2") : shown.querySelector(".job-note");
          say("job-news", words?.textContent ?? "");
        }
        asked += 1;
        return ended ? null : BETWEEN;
      } catch (error) {
        // It was forgotten, or the server began anew: the page says so.
        if (error.status === 404) { location.reload(); return null; }
        failures += 1;
        return Math.min(BETWEEN * 2 ** failures, SLOWEST);
      }
    });
  }
})();
