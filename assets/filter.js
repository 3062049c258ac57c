/* A box that filters a long list: letters and formulas, the terms of the glossary, claims;
 * headings that sort a table.
 *
 * A classic script without fetch or modules, so that it runs from file://. The box stands
 * in div.filter; what it filters is marked .filtered, in folds or not. A word matches the
 * beginning of any word of an entry: its text and its synonyms (script.also).
 */
(function () {
  "use strict";
  if (window.llmserveFilter) return;
  window.llmserveFilter = true;

  const plain = (text) => text.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase();
  const words = (text) => plain(text).split(/[^\p{L}\p{N}]+/u).filter(Boolean);

  /* Synonyms by entry; a page that was not shortened has them at the entries. */
  const known = document.querySelector("script.also");
  const also = known ? JSON.parse(known.textContent) : {};

  /* What an entry is found by, without what MathJax has drawn. */
  function textOf(entry) {
    const more = also[entry.id] ?? entry.dataset.also ?? "";
    return ` ${words(`${entry.textContent} ${more}`).join(" ")}`;
  }

  /* Where every item of a list is an entry, it is marked here and not on the page. */
  const ITEMS = { terms: "dl[id^='term-']", library: "dl[id^='library-']", notation: ":is(.letters-list, .formulas-list) > li" };
  function mark(filter) {
    for (const item of document.querySelectorAll(ITEMS[filter] ?? ":not(*)")) item.classList.add("filtered");
  }

  function start(box) {
    mark(box.dataset.filter);
    const entries = [...document.querySelectorAll(".filtered")].map((node) =>
      ({ node, text: textOf(node), fold: node.closest("details.index-part") }));
    const folds = [...document.querySelectorAll("details.index-part")];
    if (!entries.length) return;
    const { field, status, choices } = make(box, entries);
    let open = null; // which folds the reader had open before the first letter

    function update() {
      const asked = words(field.value);
      const chosen = choices.filter((choice) => choice.value);
      const any = asked.length + chosen.length;
      open ??= new Map(folds.map((fold) => [fold, fold.open]));
      let shown = 0;
      for (const { node, text } of entries) {
        node.hidden = !asked.every((word) => text.includes(` ${word}`)) ||
          !chosen.every((choice) => node.dataset[choice.name] === choice.value);
        shown += !node.hidden;
      }
      for (const fold of folds) {
        const some = entries.some((entry) => entry.fold === fold && !entry.node.hidden);
        fold.hidden = !some;
        const part = fold.closest("section");
        if (part?.querySelectorAll("details.index-part").length === 1) part.hidden = !some;
        fold.open = any ? some : open.get(fold);
      }
      if (!any) open = null;
      status.textContent = any
        ? `${shown} of ${entries.length} ${box.dataset.what}` : "";
    }
    for (const control of [field, ...choices]) control.addEventListener("input", update);
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !field.value) return;
      field.value = "";
      field.dispatchEvent(new Event("input"));
    });
  }

  function make(box, entries) {
    const label = document.createElement("label");
    const field = document.createElement("input");
    const status = document.createElement("span");
    field.type = "search";
    field.id = `filter-${box.dataset.filter}`;
    field.autocomplete = "off";
    field.spellcheck = false;
    label.htmlFor = field.id;
    label.textContent = `Find among ${entries.length} ${box.dataset.what}`;
    status.setAttribute("role", "status");
    const by = (box.dataset.by ?? "").split(" ").filter(Boolean);
    const choices = by.map((name) => choice(name, entries));
    box.append(label, field, ...choices, status);
    box.hidden = false;
    return { field, status, choices };
  }

  /* A list of the marks that entries have, to choose one of them. */
  function choice(name, entries) {
    const select = document.createElement("select");
    select.name = name;
    select.setAttribute("aria-label", name);
    const marks = new Set(entries.map(({ node }) => node.dataset[name]));
    select.add(new Option(`every ${name}`, ""));
    for (const mark of [...marks].sort()) select.add(new Option(mark, mark));
    return select;
  }

  const PREFIXES = window.llmserveTables?.prefixes ?? {};
  const SIZE = /^[~≈<>≤≥]?\s*([-−]?[\d,]*\.?\d+)\s*(?:([PTGMkmµn])(?=(?:B|s|FLOP)\b))?/;

  /* What a cell is sorted by: its number in the unit without a prefix, or its words. */
  function valueOf(text, byNumber) {
    if (!byNumber) return plain(text);
    const found = SIZE.exec(text);
    return found
      ? Number(found[1].replace("−", "-").replaceAll(",", "")) * (PREFIXES[found[2]] ?? 1)
      : NaN;
  }

  /* The headings that sort the rows below them: by a number the largest first. A key
     is a mark that rows have, or "number" or "text" for the cells of the column. */
  function sortable(heading) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    const key = heading.dataset.sort;
    const byNumber = key === "off" || key === "number";
    const of = (row) => {
      if (key === "off") return Number(row.dataset.off);
      if (key !== "number" && key !== "text") return row.dataset[key];
      return valueOf(row.cells[heading.cellIndex].textContent.trim(), byNumber);
    };
    button.addEventListener("click", () => {
      const falls = heading.getAttribute("aria-sort") !== "descending" && byNumber;
      const body = heading.closest("table").tBodies[0];
      const known = [...body.rows].filter((row) => !Number.isNaN(of(row)));
      const empty = [...body.rows].filter((row) => Number.isNaN(of(row)));
      known.sort((a, b) => (of(a) < of(b) ? -1 : of(a) > of(b) ? 1 : 0));
      body.append(...(falls ? known.reverse() : known), ...empty);
      for (const other of heading.parentNode.cells) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", falls ? "descending" : "ascending");
    });
  }

  /* A link into a fold opens it. */
  function reveal() {
    const id = decodeURIComponent(window.location.hash.slice(1));
    const at = id ? document.getElementById(id) : null;
    const fold = at?.closest("details.index-part");
    if (!fold) return;
    fold.open = true;
    at.scrollIntoView();
  }

  for (const box of document.querySelectorAll("div.filter")) start(box);
  for (const heading of document.querySelectorAll("th[data-sort]")) sortable(heading);
  window.addEventListener("hashchange", reveal);
  reveal();
})();
