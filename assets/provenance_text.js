/* How the origin of a number is written: equation, values put in, sources, error band.
 *
 * A classic script. All text enters as text, never as markup. What MathJax has typeset
 * says so with an event, since it takes more room than before.
 */
(function () {
  "use strict";
  if (window.llmserveOrigin) return;

  const { book, Live, resultOf, storedWorking } = window.llmserveRecords;
  const CHECKED = "chapters/how_checked.html#check-";
  const ERRORS = "chapters/how_wrong.html";
  const KINDS = {
    datasheet: "datasheet", paper: "paper", measured: "measured", estimate: "estimate",
    convention: "convention", counted: "counted",
  };

  function element(name, attributes = {}, ...content) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...content.filter((each) => each !== null && each !== ""));
    return made;
  }

  /* As the page prints numbers, or bare digits where the runtime is missing. */
  function shown(value, unit) {
    if (window.llmserveTables) return window.llmserveSi(value, unit, 4);
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

  function typeset(part) {
    const told = () => part.dispatchEvent(new Event("origin-typeset", { bubbles: true }));
    window.MathJax?.typesetPromise?.([part]).then(told, () => {});
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

  /* What stands beside a prediction: its errors, or where the measured value would lie. */
  function bandText(band, value, unit) {
    if (band.outside) return band.part ? "not measured alone" : "outside everything measured";
    if (band.limit) return `${band.limit} bound`;
    if (band.truth && !band.moved && value !== undefined && window.llmserveSi) {
      const [low, high] = [band.high, band.low].map((error) => window.llmserveSi(value / (1 + error), unit, 3));
      const [first, ...named] = low.split(" "), [, ...last] = high.split(" ");
      return `if it errs as others did: ${named.join() === last.join() ? first : low} to ${high}`;
    }
    const errors = `${perCent(band.low)}…${perCent(band.high)} %`;
    return band.moved ? `as it opens: ${errors}` : `${errors} on ${alike(band)}`;
  }

  function alike(band) {
    return band.known ? "runs that it knew" : "runs like this";
  }

  function far(error) {
    const whole = perCent(error);
    return whole === "0" ? "right" : `${whole.slice(1)} % too ${error < 0 ? "low" : "high"}`;
  }

  /* How far off, on which runs, and where the measured value would lie. */
  function bandSaid(band, value, unit) {
    if (band.outside) return `${band.part ? "Not measured alone" : "Outside everything measured"}: ${band.outside}. Nothing is known of its error.`;
    if (band.limit) return `No prediction but ${band.limit === "upper" ? "an" : "a"} ${bandText(band)}: ${band.why}.`;
    const of = band.moved ? "At the setting that the figure opens with, not at this one: on" : "On";
    const inside = value === undefined || band.moved ? "" : ` Measured would be ${shown(value / (1 + band.high), unit)} to ` +
      `${shown(value / (1 + band.low), unit)}.`;
    return `${of} ${alike(band)}, such predictions were ${far(band.low)} to ${far(band.high)} ` +
      `(${band.whole ? `all ${band.n} measured runs` : `9 in 10 of the ${band.n} nearest measured runs`}: ${band.runs}${band.how ? `; ${book.texts.get(band.how)}` : ""}).${inside}`;
  }

  function bandLine(band, value, unit) {
    if (!band) return "";
    return element("p", { class: "origin-band" }, element("b", {}, "Error band. "), bandSaid(band, value, unit));
  }

  /* A number that no measurement stands beside says so. */
  function unmeasured(...said) {
    const root = document.documentElement.dataset.content_root, title = "How wrong is this book?";
    return element("p", { class: "origin-band" }, element("b", {}, "No error band. "), ...said,
      root === undefined ? title : element("a", { href: root + ERRORS }, title));
  }

  function unstated() {
    return unmeasured("If this number is chosen, counted or measured, it needs none. If it is predicted, or follows " +
      "from a prediction, no measurement stands beside it here, and how far off it is nobody has measured. " +
      "How far off whole servers were: ");
  }

  /* The book's code was followed to a predictor (page/predicted/predictors.py). */
  function predicted() {
    return unmeasured("This is a prediction of the book's model, or follows from one, and no measurement is recorded " +
      "beside this very number. How far off its predictions were, by kind: ");
  }

  function storedParts(record) {
    const band = book.bands.get(record.band), stated = Boolean(band || record.source || record.p);
    const error = (...value) => (record.p ? predicted() : bandLine(band, ...value));
    if (record.formula) {
      const working = storedWorking(record);
      return { title: working.formula.title, formula: record.formula, stated,
        parts: [error(working.value, unitOf(working)), ...workingParts(working)] };
    }
    if (record.source) return { title: "A number that is cited", stated,
      parts: [bandLine(band), element("p", {}, sourceLine(record.source))] };
    return { title: "A number from a run", stated, parts: [error(), ...runParts(record.run)] };
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

  window.llmserveOrigin = { element, typeset, bandText, unstated, storedParts, liveParts };
})();
