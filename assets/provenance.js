/* Where a number is from: a click, a tap or Enter on a number opens a card.
 *
 * A classic script, after provenance_records.js and provenance_text.js. Without it a
 * number is plain text.
 */
(function () {
  "use strict";
  if (window.llmserveProvenance) return;

  const { book, add, read, evaluate, storedWorking, Live } = window.llmserveRecords;
  const { element, typeset, bandText, unstated, storedParts, liveParts } = window.llmserveOrigin;
  // A text that states a time, a rate or a price; "72 H100s" is none.
  const UNITS = String.raw`(?:[nµμm]?s|(?:tokens?|requests?|iterations?|answers?)\/s|dollars?(?:\/\w+)?)(?![\w/])`;
  const TIMED = new RegExp(String.raw`\d[\s\u00a0\u202f]${UNITS}`);
  const NAMED = new RegExp(String.raw`(?<![\w'’])${UNITS}|\$`), NUMBER = /^\s*[-−+~≈<>≤≥]?[\d.,]+\s*$/;

  /* --- The card: one for the page. --- */

  let card = null, opener = null;

  function close(back = true) {
    if (!card) return;
    card.remove();
    card = null;
    opener.removeAttribute("aria-expanded");
    if (back) opener.focus({ preventScroll: true });
  }

  /* What the number is, linked to its equation where that stands on this page. */
  function heading({ title, formula }) {
    const here = formula && document.getElementById(`eq-${formula}`);
    return here ? element("a", { href: `#eq-${formula}` }, title) : title;
  }

  /* The unit of a bare number in a table stands above it or in the caption. */
  function timed(mark, text) {
    const cell = mark.closest("td, th"), table = cell?.closest("table");
    if (!table || !NUMBER.test(text)) return TIMED.test(text);
    const above = table.tHead?.rows[0]?.cells[cell.cellIndex]?.textContent ?? "";
    return NAMED.test(above) || NAMED.test(table.caption?.textContent ?? "");
  }

  function open(from, text, content) {
    close(false);
    opener = from;
    opener.setAttribute("aria-expanded", "true");
    const button = element("button", { type: "button", class: "origin-close", "aria-label": "Close" }, "×");
    button.addEventListener("click", () => close());
    card = element("div", {
      class: "origin-card", role: "dialog", tabindex: "-1", "aria-labelledby": "origin-title",
    }, element("p", { class: "origin-title", id: "origin-title" },
      element("span", { class: "origin-hidden" }, "Where "), element("b", {}, text.trim()),
      element("span", { class: "origin-hidden" }, " is from: "), " ", heading(content)), button,
    content.stated || !timed(from, text) ? "" : unstated(), ...content.parts);
    card.addEventListener("keydown", keys);
    document.body.append(card);
    place();
    card.focus({ preventScroll: true });
    typeset(card);
  }

  /* Below the number, within the page; on a narrow screen the style sheet decides. */
  function place() {
    if (!card) return;
    const at = opener.getBoundingClientRect(), header = 56, gap = 8;
    const left = Math.min(at.left, document.documentElement.clientWidth - card.offsetWidth - 12);
    const above = at.top - header - gap, below = window.innerHeight - at.bottom - 2 * gap;
    card.style.maxHeight = `${Math.max(above, below, 220)}px`;
    const under = below >= Math.min(card.offsetHeight, above);
    card.style.left = `${Math.max(gap, left) + window.scrollX}px`;
    if (window.innerWidth <= 600) { // a sheet at the bottom must not hide the number
      const hidden = at.bottom + gap - (window.innerHeight - card.offsetHeight);
      if (hidden > 0 && at.top - hidden > header) window.scrollBy(0, hidden);
    }
    card.style.top = `${(under ? at.bottom + gap : at.top - card.offsetHeight - gap) + window.scrollY}px`;
  }

  /* What the Tab key stops at on the card, folded parts left out. */
  function stops() {
    const all = [...card.querySelectorAll("a, button, summary, [tabindex='0']")];
    const around = (each) => (each.matches("summary") ? each.parentElement.parentElement : each);
    return all.filter((each) => !around(each).closest("details:not([open])"));
  }

  function keys(event) {
    if (event.key === "Escape") close();
    else if (event.key === "Tab") {
      event.preventDefault();
      const all = stops(), at = all.indexOf(document.activeElement);
      const next = event.shiftKey ? (at > 0 ? at : all.length) - 1 : (at + 1) % all.length;
      all[next].focus();
    } else return;
    event.stopPropagation();
  }

  /* --- Marks: which texts on the page can be asked. --- */

  function keyOf(mark) {
    return mark.dataset.sourced ?? mark.getAttribute("href").split("#num-")[1];
  }

  function ask(mark) {
    const root = mark.closest("figure.live");
    if (root && mark.dataset.asks) {
      const output = root.querySelector(`output[data-readout="${CSS.escape(mark.dataset.asks)}"]`);
      const content = liveParts(root, mark.dataset.asks);
      if (content) open(mark, output.textContent, content);
      return;
    }
    const record = book.numbers.get(keyOf(mark));
    if (record) open(mark, mark.textContent, storedParts(record));
  }

  function enable(mark) {
    mark.classList.add("sourced");
    mark.setAttribute("role", "button");
    mark.setAttribute("aria-haspopup", "dialog");
    mark.tabIndex = 0;
  }

  /* Cells without a record of their own are from the run that printed the table. */
  function markCells(table) {
    for (const cell of table.querySelectorAll("td.num")) {
      const isBare = cell.childNodes.length === 1 && cell.firstChild.nodeType === Node.TEXT_NODE;
      if (!isBare || !/\d/.test(cell.textContent)) continue;
      cell.replaceChildren(element("span",
        { class: "sourced", "data-sourced": table.dataset.run }, cell.textContent));
    }
  }

  /* A table is one stop of the Tab key; arrows go from number to number. */
  function rove(table) {
    const marks = [...table.querySelectorAll(".sourced[role=button]")];
    marks.forEach((mark, i) => { mark.tabIndex = i ? -1 : 0; });
  }

  function step(mark, key) {
    const table = mark.closest("table");
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[key];
    if (!table || !by) return false;
    const marks = [...table.querySelectorAll(".sourced[role=button]")];
    const next = marks[marks.indexOf(mark) + by];
    if (!next) return false;
    mark.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
    return true;
  }

  /* Readouts announce their changes, so the button lies over them, not around them. */
  function markReadouts(root) {
    const readouts = book.figures.get(root.id)?.readouts ?? {};
    for (const output of root.querySelectorAll("output[data-readout]")) {
      const tile = output.closest(".live-readout"), name = output.dataset.readout;
      if (!(name in readouts) || tile.querySelector(".origin-ask")) continue;
      const label = tile.querySelector(".live-readout-label").textContent;
      tile.append(element("button", {
        type: "button", class: "origin-ask", "data-asks": name, "aria-haspopup": "dialog",
        "aria-label": `Where this number is from: ${label}`,
      }));
    }
    followBands(root);
  }

  /* The bands under a live figure, at its present setting; live.js asks after each move. */
  function followBands(root) {
    if (!book.figures.has(root.id)) return;
    const live = new Live(root);
    for (const output of root.querySelectorAll("output[data-readout]")) {
      const band = live.band(output.dataset.readout);
      const place = output.closest(".live-readout").querySelector("small.band")?.lastChild;
      const figure = root.llmserveFigure, name = output.dataset.readout;
      if (!band || !place || (band.truth && !figure?.view)) continue; // its stored words stay
      const said = bandText(band, live.signal(name), figure?.data.units[name]);
      if (place.data !== said) place.data = said;
    }
  }

  function scan() {
    read();
    document.querySelectorAll("table[data-run]:not([data-marked])").forEach((table) => {
      table.dataset.marked = "";
      markCells(table);
    });
    const links = 'a[href*="#num-"]'; // a number in prose, where no page was built
    for (const mark of document.querySelectorAll(`[data-sourced]:not([role]), ${links}:not([role])`)) {
      if (book.numbers.has(keyOf(mark))) enable(mark);
    }
    document.querySelectorAll("table.catalog").forEach(rove);
    document.querySelectorAll("figure.live[id]").forEach(markReadouts);
  }

  /* The mark a click meant: a number, a readout, or the line that is worked out above. */
  function meant(target) {
    const mark = target.closest?.(".sourced[role=button], .origin-ask");
    if (mark) return mark;
    const line = target.closest?.("mjx-container")?.closest(".worked");
    return line?.querySelector(".worked-sources .sourced[role=button]") ?? null;
  }

  document.addEventListener("click", (event) => {
    if (card?.contains(event.target)) return;
    const mark = meant(event.target);
    if (mark) event.preventDefault();
    if (card && mark === opener) close();
    else if (mark) ask(mark);
    else close(false);
  });
  document.addEventListener("keydown", (event) => {
    const mark = event.target.closest?.(".sourced[role=button]");
    if (!mark) { // the focus was on what has just been typeset anew
      if (card && (event.key === "Escape" || event.key === "Tab")) keys(event);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      ask(mark);
    } else if (step(mark, event.key)) event.preventDefault();
  });
  window.addEventListener("resize", place);
  window.addEventListener("beforeprint", () => close(false));
  window.addEventListener("origin-typeset", place);

  window.llmserveProvenance = { scan, add, book, evaluate, followBands, bandText, Live, storedWorking };

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", scan);
  else scan();
})();
