/* What a page knows of its numbers: the records, and the working behind each number.
 *
 * A classic script without fetch, modules or eval, so that it runs from file://. The
 * records stand in the page's data elements, written when the notebook ran; for a live
 * figure the values are those of its present setting.
 */
(function () {
  "use strict";
  if (window.llmserveRecords) return;

  const PARTS = ["formulas", "quantities", "sources", "texts", "steps", "bands", "tables", "numbers", "figures"];
  const book = Object.fromEntries(PARTS.map((part) => [part, new Map()]));

  /* Each formula, letter and source once; numbers refer to them. */
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

  window.llmserveRecords = { book, add, read, evaluate, resultOf, inverse, storedWorking, Live };
})();
