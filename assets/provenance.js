/* Where a number is from: a click, a tap or Enter on a number opens a card.
 *
 * A classic script without fetch, modules or eval, so that it runs from file://. What it
 * shows stands in the page's data elements, written when the notebook ran; for a live
 * figure the values are those of its present setting. All text enters as text, never as
 * markup. Without this script a number is plain text.
 */
(function () {
  "use strict";
  if (window.llmserveProvenance) return;

  const PARTS = ["formulas", "quantities", "sources", "texts", "steps", "bands", "tables", "numbers", "figures"];
  const book = Object.fromEntries(PARTS.map((part) => [part, new Map()]));
  const CHECKED = "chapters/how_checked.html#check-";
  const ERRORS = "chapters/how_wrong.html";
  // A text that states a time or a rate; "72 H100s" is none.
  const TIMED = /\d[\s\u00a0\u202f](?:[nµμm]?s|(?:tokens?|requests?|iterations?|answers?)\/s)(?![\w/])/;
  const KINDS = {
    datasheet: "datasheet", paper: "paper", measured: "measured", estimate: "estimate",
    convention: "convention", counted: "counted",
  };

  /* --- The data: each formula, letter and source once, numbers refer to them. --- */

  function add(data) {
    for (const part of PARTS) {
      for (const [key, record] of Object.entries(data[part] ?? {})) book[part].set(key, record);
    }
  }

  function read() {
    for (const script of document.querySelectorAll("script.provenance-data:not([data-read])")) {
      script.dataset.read = "";
      try {
        add(JSON.parse(script.textContent));
      } catch (error) {
        console.warn("These numbers stay plain text:", error);
      }
    }
  }

  const OPERATORS = new Map(Object.entries({
    "+": (...x) => x.reduce((a, b) => a + b, 0),
    "*": (...x) => x.reduce((a, b) => a * b, 1),
    "/": (a, b) => a / b,
    "^": (a, b) => Math.pow(a, b),
    "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b,
    max: Math.max, min: Math.min, abs: Math.abs, exp: Math.exp, log: Math.log,
    floor: Math.floor, ceil: Math.ceil, none_drawn: noneDrawn,
    falling_sum: fallingSum,
  }));

  /* C(n - m, k) / C(n, k): no marked thing is among so many draws, factor by factor. */
  function noneDrawn(total, marked, draws) {
    let chance = 1;
    for (let i = 0; i < draws; i++) chance *= Math.max(0, (total - marked - i) / (total - i));
    return chance;
  }

  /* Σ first^j · falls^(j(j-1)/2), j from 0 to last. */
  function fallingSum(first, falls, last) {
    let term = 1, sum = 1;
    for (let j = 0; j < last; j++) sum += term *= first * Math.pow(falls, j);
    return sum;
  }

  /* The value of a formula in prefix form; `of` gives the value of a name. */
  function evaluate(node, of) {
    if (typeof node === "number") return node;
    if (typeof node === "string") return of(node);
    const [operator, ...args] = node;
    if (operator === "?") return evaluate(evaluate(args[0], of) ? args[1] : args[2], of);
    return OPERATORS.get(operator)(...args.map((each) => evaluate(each, of)));
  }

  /* The code name of a formula's result: its label, unless there are several. */
  function resultOf(label) {
    return book.formulas.get(label).result ?? label;
  }

  /* --- One number's working: a formula and where its arguments come from. --- */

  class Working {
    /* `given(name)` returns {value, source?, says?, working?}, or nothing for what the
       formula computes itself. */
    constructor(key, given) {
      this.key = key;
      this.formula = book.formulas.get(key);
      this.given = given;
    }

    term(name) {
      const given = this.given(name);
      if (given) return { name, ...given };
      const number = this.formula.numbers?.[name];
      if (number !== undefined) return { name, value: number, coefficient: true };
      const below = this.formula.uses?.find((label) => resultOf(label) === name);
      if (!below) throw new Error(`nothing gives ${name} to ${this.key}`);
      const working = new Working(below, this.given);
      return { name, value: working.value, working };
    }

    get terms() {
      const slots = this.formula.latex.matchAll(/⟦(\w+)/g);
      return [...new Set([...slots].map(([, name]) => name))].map((name) => this.term(name));
    }

    get value() {
      return evaluate(this.formula.tree, (name) => this.term(name).value);
    }
  }

  /* A number alone, or with the key of its source. */
  function cited(given) {
    return Array.isArray(given) ? { value: given[0], source: given[1] } : { value: given };
  }

  /* The error band of a rate, given that of the time that it is one over. */
  function inverse(band) {
    if (band.limit) return { ...band, limit: band.limit === "lower" ? "upper" : "lower" };
    return band.outside ? band : { ...band, low: 1 / (1 + band.high) - 1, high: 1 / (1 + band.low) - 1 };
  }

  /* A number that was stored: its given values stand in the record. */
  function storedWorking(record) {
    return new Working(record.formula, (name) => {
      const given = record.given[name];
      return given === undefined ? null : cited(given);
    });
  }

  /* A number under a live figure: its given values are the figure's signals now. */
  class Live {
    constructor(root) {
      this.root = root;
      this.data = book.figures.get(root.id);
    }

    signal(name) {
      const view = this.root.llmserveFigure?.view;
      return view ? view.signal(name) : this.data.now[name];
    }

    of(readout) {
      const bound = this.data.readouts[readout];
      if (bound === undefined) return null;
      return typeof bound === "string" ? this.given(bound) : { working: this.working(bound) };
    }

    working(bound) {
      return new Working(bound.formula, (name) => {
        const at = bound.at?.[name] ?? name;
        if (typeof at !== "string") return { says: "fixed in this figure", ...cited(at) };
        const known = at !== name || name in this.data.now;
        return known ? this.given(at) : null;
      });
    }

    /* The error band of a readout now, and whether it is that of the first setting. */
    band(readout) {
      const held = this.data.bands?.[readout];
      if (!held) return null;
      if (!held.table) return { ...book.bands.get(held.of ?? held.opens), moved: Boolean(held.opens) && this.moved };
      const { by, of, at } = book.tables.get(held.table);
      const place = by.reduce(
        (sum, [name, stops]) => sum * stops.length + stops.indexOf(this.signal(name)), 0);
      const band = book.bands.get(of[at[place]]);
      return held.rate ? inverse(band) : band;
    }

    get moved() {
      const controls = this.root.querySelectorAll?.(".live-controls [name]") ?? [];
      return [...controls].some(({ name }) => this.signal(name) !== this.data.now[name]);
    }

    given(signal) {
      const value = this.signal(signal);
      const derived = this.data.derived[signal];
      if (derived) return { value, working: this.working(derived) };
      const looked = this.data.lookups[signal];
      if (looked) {
        const source = looked.by.reduce((at, name) => at?.[this.signal(name)], looked.sources);
        return { value, source, says: "chosen with the controls" };
      }
      const start = this.data.starts?.[signal];
      return start && value === this.data.now[signal] ? { value, source: start }
        : { value, says: "set with the slider" };
    }
  }

  /* --- How it is written. --- */

  function element(name, attributes = {}, ...content) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...content.filter((each) => each !== null && each !== ""));
    return made;
  }

  /* As the page prints numbers, or bare digits where the runtime is missing. */
  function shown(value, unit) {
    if (window.llmserveLive) return window.llmserveLive.si(value, unit, 4);
    return `${Number(value.toPrecision(4))} ${unit === "dimensionless" ? "" : unit}`.trim();
  }

  function quantity(name) {
    const [symbol, unit, meaning] = book.quantities.get(name) ?? ["", "", name];
    return { symbol, unit, meaning };
  }

  function upright(text) {
    const space = text.indexOf(" ");
    let [number, unit] = space < 0 ? [text, ""] : [text.slice(0, space), text.slice(space + 1)];
    number = number.replaceAll(",", "{,}").replace(/×10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)/, (_, power) =>
      ` \\times 10^{${[...power].map((c) => "-0123456789"["⁻⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(c)]).join("")}}`);
    unit = unit.replaceAll("µ", "\\mu{}").replaceAll("·", "\\cdot{}").replaceAll("²", "^2")
      .replaceAll(" ", "\\ ");
    return unit ? `${number}\\,\\mathrm{${unit}}` : number;
  }

  /* The equation, then the same with the values put in, then what it comes to. */
  function equation(working) {
    const { symbol, unit } = quantity(resultOf(working.key));
    const letters = working.formula.latex.replaceAll(" \\cdot ", " ")
      .replace(/\\left\(⟦(\w+)\\,⟧\\right\)|⟦(\w+)\\,⟧/g, (_, a, b) => letter(working, a ?? b));
    const filled = working.formula.latex.replace(/⟦(\w+)\\,⟧/g, (_, name) => number(working, name));
    return `\\begin{aligned} ${symbol} &= ${letters} \\\\ &= ${filled} \\\\ ` +
      `&= \\mathbf{${upright(shown(working.value, unit))}} \\end{aligned}`;
  }

  /* A coefficient is its number in both lines. */
  function letter(working, name) {
    const number = working.formula.numbers?.[name];
    return number === undefined ? quantity(name).symbol : String(number);
  }

  function number(working, name) {
    const { value, coefficient } = working.term(name);
    return upright(coefficient ? shown(value, "") : shown(value, quantity(name).unit));
  }

  /* The same in one line of text, where no page typesets mathematics. */
  function infix(node, numbers = {}) {
    if (!Array.isArray(node)) return String(numbers[node] ?? node);
    const [operator, ...args] = node, parts = args.map((each) => infix(each, numbers));
    if (operator === "?") return `(${parts[1]} if ${parts[0]} else ${parts[2]})`;
    return /\w/.test(operator) ? `${operator}(${parts.join(", ")})` : `(${parts.join(` ${operator} `)})`;
  }

  function plain(working) {
    return `${resultOf(working.key)} = ${infix(working.formula.tree, working.formula.numbers)} = ${shown(working.value, quantity(resultOf(working.key)).unit)}`;
  }

  function mathematics(working) {
    const set = Boolean(window.MathJax?.typesetPromise);
    const text = set ? `\\[${equation(working)}\\]` : plain(working);
    const role = { class: "origin-equation tex2jax_process mathjax_process", tabindex: "0" };
    return element("div", { ...role, role: "group", "aria-label": "formula with values put in" }, text);
  }

  function link(url, text) {
    return /^https?:\/\//.test(url) ? element("a", { href: url, rel: "external" }, text) : text;
  }

  function sourceLine(key) {
    const [kind, text, url, note] = book.sources.get(key) ?? ["", "source not recorded"];
    const badge = element("span", { class: "origin-kind" }, KINDS[kind] ?? kind);
    return element("span", { class: "origin-source" }, badge, " ", link(url ?? "", text),
      note ? ` (${note})` : "");
  }

  function givenLine(term) {
    const { symbol, unit, meaning } = quantity(term.name);
    const sign = symbol && window.MathJax?.typesetPromise ? `\\(${symbol}\\) ` : "";
    const line = element("li", {}, `${sign}${meaning}: `, element("b", {}, shown(term.value, unit)), " ");
    if (term.source) line.append(sourceLine(term.source));
    else if (term.says) line.append(element("span", { class: "origin-kind" }, term.says));
    else if (!term.working) line.append(element("span", { class: "origin-kind" }, "chosen on this page"));
    if (term.working) line.append(below(term.working));
    return line;
  }

  /* A result on the way, folded: its own formula and what went into it. */
  function below(working) {
    const fold = element("details", {}, element("summary", {}, working.formula.title));
    fold.addEventListener("toggle", () => {
      if (!fold.open || fold.childElementCount > 1) return;
      fold.append(...workingParts(working));
      typeset(fold);
    });
    return fold;
  }

  function workingParts(working) {
    const given = working.terms.filter((term) => !term.coefficient);
    const list = element("ul", { class: "origin-given tex2jax_process mathjax_process" }, ...given.map(givenLine));
    return [mathematics(working), list, checked(working)];
  }

  function checked(working) {
    const { holds, from, count } = working.formula;
    const root = document.documentElement.dataset.content_root;
    const where = root === undefined ? "How this book is checked" :
      element("a", { href: root + CHECKED + working.key.replaceAll("_", "-").toLowerCase() }, "How this book is checked");
    return element("p", { class: "origin-checked" }, holds ? `Holds for: ${holds}. ` : "",
      from ? `Formula: ${from}. ` : "", count ? `Checked against a count (${count}). ` : "", where);
  }

  function unitOf(working) {
    return quantity(resultOf(working.key)).unit;
  }

  function settingsList(given) {
    const lines = Object.entries(given ?? {}).map(([name, value]) =>
      Array.isArray(value)
        ? element("li", {}, `${name}: `, element("b", {}, value[0]), " ", sourceLine(value[1]))
        : element("li", {}, `${name}: `, element("b", {}, value)));
    return lines.length ? element("ul", { class: "origin-given" }, ...lines) : "";
  }

  function code(text) {
    return element("pre", { class: "origin-run", tabindex: "0" }, element("code", {}, text));
  }

  function runParts([call, does, given, steps]) {
    return [
      element("p", {}, "Printed by a run of the book's code when this page was made:"),
      code(call), does ? element("p", {}, does) : "", settingsList(given),
      ...(steps?.length ? [element("p", {}, "where"), ...steps.flatMap(stepParts)] : []),
    ];
  }

  /* An assignment behind a number: a formula, a cited number, or a run of its own. */
  function stepParts(key) {
    const [text, does, given, exact] = book.steps.get(key) ?? ["not recorded"];
    const from = !exact ? "" : exact.formula ? below(storedWorking(exact))
      : element("p", {}, sourceLine(exact.source));
    return [code(text), does && !exact ? element("p", {}, does) : "", settingsList(given), from];
  }

  /* An error in whole per cent with its sign; Python prints the same. */
  function perCent(error) {
    const whole = Math.floor(Math.round(1000 * Math.abs(error)) / 10 + 0.5);
    return whole ? `${error < 0 ? "−" : "+"}${whole}` : "0";
  }

  /* What stands beside a prediction. */
  function bandText(band) {
    if (band.outside) return "outside everything measured";
    if (band.limit) return `${band.limit} bound`;
    const { low, high } = band.truth ? inverse(band) : band;
    const errors = `${perCent(low)}…${perCent(high)} %${band.truth ? " if measured" : ""}`;
    return band.moved ? `as it opens: ${errors}` : band.truth ? errors : `${errors} on runs like this`;
  }

  function far(error) {
    const whole = perCent(error);
    return whole === "0" ? "right" : `${whole.slice(1)} % too ${error < 0 ? "low" : "high"}`;
  }

  /* How far off, on which runs, and where the measured value would lie. */
  function bandSaid(band, value, unit) {
    if (band.outside) return `Outside everything measured: ${band.outside}. Nothing is known of its error.`;
    if (band.limit) return `No prediction but ${band.limit === "upper" ? "an" : "a"} ${bandText(band)}: ${band.why}.`;
    const of = band.moved ? "At the setting that the figure opens with, not at this one: on" : "On";
    const inside = value === undefined || band.moved ? "" : ` Measured would be ${shown(value / (1 + band.high), unit)} to ` +
      `${shown(value / (1 + band.low), unit)}.`;
    return `${of} runs like this, such predictions were ${far(band.low)} to ${far(band.high)} ` +
      `(${band.whole ? "all" : "9 in 10"} of the ${band.n} nearest measured runs: ${band.runs}${band.how ? `; ${book.texts.get(band.how)}` : ""}).${inside}`;
  }

  function bandLine(band, value, unit) {
    if (!band) return "";
    return element("p", { class: "origin-band" }, element("b", {}, "Error band. "), bandSaid(band, value, unit));
  }

  /* What is no prediction of a whole server has no measurement beside it, and says so. */
  function unstated() {
    const root = document.documentElement.dataset.content_root, title = "How wrong is this book?";
    return element("p", { class: "origin-band" }, element("b", {}, "No error band. "),
      "This number is chosen, measured, or a part of a prediction: no measurement stands beside it. " +
      "What a whole server is predicted to do carries its error; see ",
      root === undefined ? title : element("a", { href: root + ERRORS }, title));
  }

  function storedParts(record) {
    const band = book.bands.get(record.band), stated = Boolean(band || record.source);
    if (record.formula) {
      const working = storedWorking(record);
      return { title: working.formula.title, formula: record.formula, stated,
        parts: [bandLine(band, working.value, unitOf(working)), ...workingParts(working)] };
    }
    if (record.source) return { title: "A number that is cited", stated,
      parts: [bandLine(band), element("p", {}, sourceLine(record.source))] };
    return { title: "A number from a run", stated, parts: [bandLine(band), ...runParts(record.run)] };
  }

  function liveParts(root, readout) {
    const live = new Live(root), found = live.of(readout), band = live.band(readout);
    if (!found) return null;
    if (found.working) {
      const { working } = found;
      return { title: working.formula.title, formula: working.key, stated: Boolean(band),
        parts: [bandLine(band, working.value, unitOf(working)), ...workingParts(working)] };
    }
    const line = found.source ? sourceLine(found.source) : found.says;
    return { title: "A setting of this figure", stated: true, parts: [bandLine(band), element("p", {}, line)] };
  }

  /* --- The card: one for the page. --- */

  let card = null, opener = null;

  function typeset(part) {
    window.MathJax?.typesetPromise?.([part]).then(place, () => {});
  }

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
    content.stated || !TIMED.test(text) ? "" : unstated(), ...content.parts);
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
      if (band && place && place.data !== bandText(band)) place.data = bandText(band);
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

  window.llmserveProvenance = { scan, add, book, evaluate, followBands, bandText, Live, storedWorking };

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", scan);
  else scan();
})();
