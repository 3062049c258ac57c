/* What the reader's browser keeps: answers and progress.
 *
 * Nothing is sent. Where the browser refuses storage, or is full, everything still works
 * until the page is closed, and the page says so. Text from storage is checked against the
 * page's own data and never becomes HTML.
 */
(function () {
  "use strict";
  if (window.llmserveKeep) return;
  const inLab = Boolean(window.llmserveLab);
  const prefix = () => `llmserve_lab/${window.llmserveTables.version}/`;

  /* ---- Storage: strings by key; a copy in memory serves where nothing is stored. ---- */
  const memory = new Map();
  let refused = false;

  function read(key) {
    if (memory.has(key)) return memory.get(key);
    let text = null;
    try { text = window.localStorage.getItem(prefix() + key); } catch { refused = true; }
    try { return text === null ? null : JSON.parse(text); } catch { return null; }
  }

  function write(key, value) {
    memory.set(key, value);
    try {
      window.localStorage.setItem(prefix() + key, JSON.stringify(value));
      memory.delete(key);
    } catch { refused = true; } // refused, or full
  }

  function drop(key) {
    memory.delete(key);
    try { window.localStorage.removeItem(prefix() + key); } catch { refused = true; }
  }

  function clear() {
    memory.clear();
    try {
      const ours = Object.keys(window.localStorage).filter((k) => k.startsWith("llmserve_lab/"));
      for (const key of ours) window.localStorage.removeItem(key);
    } catch { refused = true; }
  }

  /* ---- Progress: what a page asks, and what of it is done. ---- */
  const tasks = new Map(); // name -> { done, forget }
  let bar = null;

  function task(name, forget) {
    tasks.set(name, { done: false, forget });
    later(report);
  }

  function done(name, is = true) {
    const known = tasks.get(name);
    if (!known || known.done === is) return;
    known.done = is;
    later(report);
  }

  /* Many tasks report at once when a page opens: one answer for all of them. */
  let waiting = false;
  function later(action) {
    if (waiting) return;
    waiting = true;
    Promise.resolve().then(() => { waiting = false; action(); });
  }

  function counts() {
    const all = [...tasks.values()];
    return [all.filter((one) => one.done).length, all.length];
  }

  const here = () => decodeURIComponent(window.location.pathname);

  function report() {
    if (!tasks.size || inLab) return;
    const pages = known(read("pages"));
    const [ready, total] = counts();
    pages[here()] = [ready, total];
    write("pages", pages);
    showBar(ready, total, Object.keys(pages).length);
    showNavigation(pages);
  }

  /* Only entries of the form path: [done, total]; whatever else lies there is dropped. */
  function known(stored) {
    const whole = (n) => Number.isInteger(n) && n >= 0 && n < 1000;
    const entries = Object.entries(stored ?? {}).filter(([, pair]) =>
      Array.isArray(pair) && pair.length === 2 && pair.every(whole) && pair[0] <= pair[1]);
    return Object.fromEntries(entries);
  }

  function element(name, className, text) {
    return Object.assign(document.createElement(name), { className, textContent: text ?? "" });
  }

  function where(pages) {
    if (refused) return "This browser stores nothing for this page: progress lasts until you close it.";
    if (window.location.protocol === "file:" && pages < 2) {
      return "Kept in this browser, for this page: pages opened from a folder may not share it.";
    }
    return "Kept in this browser only; nothing is sent.";
  }

  function showBar(ready, total, pages) {
    if (!bar) makeBar();
    const text = `${ready} of ${total} questions and goals done`;
    const [count, note] = bar.querySelectorAll("span");
    if (count.textContent !== text) count.textContent = text;
    note.textContent = where(pages);
  }

  function makeBar() {
    bar = element("div", "book-progress");
    bar.setAttribute("role", "group");
    bar.setAttribute("aria-label", "Your progress on this page");
    const count = element("span", "progress-count");
    count.setAttribute("role", "status");
    const button = element("button", "", "Clear my answers");
    button.type = "button";
    button.addEventListener("click", forgetAll);
    bar.append(count, element("span", "progress-note"), button);
    // Not the theme's own title for paper, which stands before the article.
    const title = document.querySelector("article h1") ?? document.querySelector("main h1");
    if (title) title.after(bar);
    else document.body.prepend(bar);
  }

  function forgetAll() {
    clear();
    for (const one of tasks.values()) {
      one.done = false;
      one.forget();
    }
    report();
  }

  /* Beside the names of the pages: in the navigation, and in a table of contents. */
  const LISTS = "nav.bd-links a.internal, table.book-contents td:nth-child(2) a.internal";

  function showNavigation(pages) {
    for (const link of document.querySelectorAll(LISTS)) {
      const pair = pages[decodeURIComponent(new URL(link.href).pathname)];
      let mark = link.querySelector(".progress-mark");
      if (!pair) { mark?.remove(); continue; }
      if (!mark) link.append(mark = element("span", "progress-mark"));
      mark.textContent = ` ${pair[0]} of ${pair[1]}`;
      mark.classList.toggle("progress-full", pair[0] === pair[1]);
    }
  }

  /* The front page adds up what is done on the pages that its table names. */
  function showTotal(pages) {
    const table = document.querySelector("table.book-contents");
    if (!table) return;
    const links = [...table.querySelectorAll("td:nth-child(2) a.internal")];
    const pairs = links.map((a) => pages[decodeURIComponent(new URL(a.href).pathname)]).filter(Boolean);
    const ready = pairs.reduce((sum, [count]) => sum + count, 0);
    const text = pairs.length
      ? `Your progress: ${ready} questions and goals done, ${pairs.length} of ${links.length} chapters opened. ${where(pairs.length)}`
      : `Your progress appears here and beside each chapter when you answer its questions. ${where(2)}`;
    let line = document.querySelector(".book-total");
    if (!line) {
      line = element("p", "book-total");
      line.setAttribute("role", "status");
      table.before(line);
    }
    if (line.textContent !== text) line.textContent = text;
  }

  /* A page that asks nothing shows what is done on the others, and follows them: what is
   * answered in another tab, or was answered before the reader came back to this page.
   */
  function look() {
    if (inLab || tasks.size) return;
    const pages = known(read("pages"));
    showNavigation(pages);
    showTotal(pages);
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", look);
  else look();
  window.addEventListener("storage", look);
  // What another tab has just written may reach this one after it has opened, and says nothing.
  window.addEventListener("focus", look);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
  window.addEventListener("pageshow", (event) => { if (event.persisted) look(); });

  window.llmserveKeep = { read, write, drop, task, done, known, inLab };
})();
