/* Live figures: the stored picture becomes a chart that follows its controls.
 *
 * A classic script without fetch or modules, so that it runs from file://. It needs
 * window.vegaEmbed; where that is missing the picture and its sentence stay as they are.
 * Every calculation is in the figure's own data, printed from the book's formulas.
 */
(function () {
  "use strict";
  if (window.llmserveLive) return;

  /* Numbers as llmserve_lab.book.display.si prints them; the tests compare the two. */
  const PREFIXES = [[15, "P"], [12, "T"], [9, "G"], [6, "M"], [3, "k"]];
  const SMALL = [[-3, "m"], [-6, "µ"], [-9, "n"]];
  const TAKES_PREFIX = { byte: "B", FLOP: "FLOP", s: "s" };
  const NO_PREFIX = new Set(["FLOP/byte"]);
  const PLURALS = new Set(("token request parameter layer head pair element device " +
    "iteration dollar").split(" "));

  function unitText(unit, plural) {
    if (unit === "" || unit === "dimensionless") return "";
    const shown = unit.replaceAll(" ", "").replaceAll("**2", "²").replaceAll("*", "·");
    const parts = shown.split("/");
    const [head, below] = [parts[0], parts.slice(1).join("/")];
    if (head === "1") return "per " + below.replace(/^\(+|\)+$/g, "");
    const named = plural && PLURALS.has(head) ? head + "s" : head;
    const first = TAKES_PREFIX[head] ?? named;
    return parts.length > 1 ? first + "/" + below : first;
  }

  /* Significant digits, and the power of ten of the first one. */
  function rounded(value, digits) {
    const [mantissa, power] = Math.abs(value).toExponential(digits - 1).split("e");
    return [mantissa.replace(".", ""), Number(power)];
  }

  /* The digits written out with their first one at 10^power, commas from 10,000. */
  function written(digits, power) {
    let whole = power < 0 ? "0" : digits.slice(0, power + 1).padEnd(power + 1, "0");
    let rest = power < 0 ? "0".repeat(-power - 1) + digits : digits.slice(power + 1);
    rest = rest.replace(/0+$/, "");
    if (power >= 4) whole = whole.replace(/\B(?=(\d{3})+$)/g, ",");
    return rest ? whole + "." + rest : whole;
  }

  function scaleOf(value, unit, digits) {
    const takes = !NO_PREFIX.has(unit) && unit.split("/")[0] in TAKES_PREFIX;
    if (!takes || value === 0) return [0, ""];
    const power = rounded(value, digits)[1];
    const steps = power >= 0 ? PREFIXES : SMALL;
    return steps.find(([size]) => power >= size) ?? [0, ""];
  }

  function numberText(value, unit, scale, digits) {
    if (value === 0) return "0";
    const sign = value < 0 ? "-" : "";
    let [text, power] = rounded(value, digits);
    const counts = unit.split("/").every((name) => PLURALS.has(name));
    if (counts && Math.abs(value) >= 10 ** digits && Math.abs(value) < 1e7) {
      const whole = String(Math.floor(Math.abs(value) + 0.5));
      return sign + written(whole, whole.length - 1);
    }
    power -= scale;
    if (power >= -3 && power < 7) return sign + written(text, power);
    const raised = String(power).replace(/[-\d]/g, (c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]);
    return sign + written(text, 0) + "×10" + raised;
  }

  function si(value, unit = "", digits = 3) {
    if (!Number.isFinite(value)) return "no value here";
    const [scale, prefix] = scaleOf(value, unit, digits);
    const text = numberText(value, unit, scale, digits);
    return (text + " " + prefix + unitText(unit, text !== "1")).trimEnd();
  }

  /* Compiled expressions are quicker; where a page may not compile, Vega walks them. */
  function mayCompile() {
    try { return Boolean(new Function("")); } catch { return false; }
  }

  /* What has not changed is not announced again, nor laid out. */
  function write(element, text) {
    if (element.textContent !== text) element.textContent = text;
  }

  /* One figure: its signals hold what the reader has set; the page shows what they say. */
  class Figure {
    constructor(root) {
      this.root = root;
      root.llmserveFigure = this; // provenance.js asks for the present setting
      this.data = JSON.parse(root.querySelector("script.live-data").textContent);
      this.inputs = [...root.querySelectorAll(".live-controls [name]")];
      this.picture = root.querySelector(".live-picture");
      this.caption = root.querySelector("figcaption");
      this.outputs = [...root.querySelectorAll("output[data-readout]")];
      this.labels = this.inputs.map((input) =>
        input.closest(".live-row").querySelector(".live-value"));
    }

    async start() {
      const width = this.width() || this.data.spec.width;
      const box = document.createElement("div");
      box.setAttribute("aria-hidden", "true"); // the picture around it has the sentence
      const options = {
        mode: "vega-lite", renderer: "svg", ast: !mayCompile(), actions: false,
        tooltip: false, hover: false, defaultStyle: false,
      };
      const spec = { ...this.data.spec, width };
      this.view = (await window.vegaEmbed(box, spec, options)).view;
      this.picture.replaceChildren(box);
      this.connect();
      this.show();
      this.root.dataset.state = "running";
    }

    connect() {
      for (const input of this.inputs) {
        input.addEventListener("input", () => this.turn(input));
      }
      const reset = this.root.querySelector(".live-reset");
      reset.addEventListener("click", () => this.reset());
      this.root.querySelector(".live-controls").hidden = false;
      this.disableHoles();
      this.letDrag(this.inputs.filter(({ name }) => this.data.drag?.includes(name)));
      new ResizeObserver(() => this.fit()).observe(this.picture);
    }

    signal(input) {
      const stops = this.data.stops[input.name];
      return stops ? stops[Number(input.value)] : Number(input.value);
    }

    turn(...inputs) {
      for (const input of inputs) this.view.signal(input.name, this.signal(input));
      this.view.run();
      this.show();
      if (inputs.some((input) => input.tagName === "SELECT")) this.disableHoles();
    }

    reset() {
      for (const input of this.inputs) {
        const chosen = input.querySelector("option[selected]");
        input.value = chosen ? chosen.value : input.getAttribute("value");
      }
      this.turn(...this.inputs);
    }

    /* A value drawn along the horizontal axis ends at an edge: its slider follows it. */
    letDrag(inputs) {
      if (!inputs.length) return;
      let held = null;
      const start = (input) => this.view.signal(`${input.name}_start`);
      const off = (input, at) => Math.abs(start(input) + this.signal(input) - at);
      this.picture.classList.add("live-drag");
      this.picture.addEventListener("pointerdown", (event) => {
        const at = this.place(event);
        held = inputs.reduce((a, b) => (off(b, at) < off(a, at) ? b : a));
        this.picture.setPointerCapture(event.pointerId);
      });
      this.picture.addEventListener("pointermove", (event) => {
        if (held) this.turnTo(held, this.place(event) - start(held));
      });
      for (const end of ["pointerup", "pointercancel"]) {
        this.picture.addEventListener(end, () => { held = null; });
      }
    }

    /* Where a pointer is on the chart's horizontal axis. */
    place(event) {
      const left = this.picture.querySelector("svg").getBoundingClientRect().left;
      return this.view.scale("x").invert(event.clientX - left - this.view.origin()[0]);
    }

    /* Move a slider to the stop that is nearest to a value. */
    turnTo(input, value) {
      const off = this.data.stops[input.name].map((stop) => Math.abs(stop - value));
      const nearest = String(off.indexOf(Math.min(...off)));
      if (nearest === input.value) return;
      input.value = nearest;
      this.turn(input);
    }

    fit() {
      const width = this.width();
      if (width && width !== this.view.width()) this.view.width(width).run();
    }

    width() {
      return Math.floor(this.picture.clientWidth);
    }

    text(name, digits) {
      const value = this.view.signal(name);
      const words = this.data.words[name];
      const shown = digits ?? (this.data.stops[name] ? 6 : 3);
      return words ? words[value] : si(value, this.data.units[name], shown);
    }

    show() {
      this.inputs.forEach((input, i) => this.label(input, this.labels[i]));
      for (const output of this.outputs) {
        const name = output.dataset.readout;
        output.dataset.value = String(this.view.signal(name));
        write(output, this.text(name));
      }
      const sentence = this.data.sentence.replace(/\{(\w+)(?::(\d+))?\}/g,
        (_, name, digits) => this.text(name, digits && Number(digits)));
      write(this.caption, sentence);
      this.picture.setAttribute("aria-label", sentence);
    }

    label(input, element) {
      const text = this.text(input.name);
      write(element, text);
      if (input.type === "range") input.setAttribute("aria-valuetext", text);
    }

    /* An option that does not exist together with the other choices cannot be taken. */
    disableHoles() {
      const at = Object.fromEntries(this.inputs.map((i) => [i.name, Number(i.value)]));
      for (const select of this.inputs.filter((i) => i.tagName === "SELECT")) {
        for (const option of select.options) {
          const wish = { ...at, [select.name]: Number(option.value) };
          const hole = this.data.holes.find(({ by, at: places }) => by.includes(select.name) &&
            places.some((place) => by.every((name, i) => wish[name] === place[i])));
          option.disabled = Boolean(hole);
          write(option, this.optionText(select.name, option, hole, at));
        }
      }
    }

    optionText(name, option, hole, at) {
      const text = this.data.words[name][Number(option.value)];
      if (!hole) return text;
      const others = hole.by.filter((other) => other !== name);
      const named = others.map((other) => this.data.words[other][at[other]]);
      return `${text} (not with ${named.join(", ")})`;
    }
  }

  async function scan() {
    for (const root of document.querySelectorAll("figure.live:not([data-state])")) {
      root.dataset.state = "starting";
      try {
        await new Figure(root).start();
      } catch (error) {
        root.dataset.state = "failed"; // the picture and its sentence are still there
        console.warn("This figure stays a picture:", error);
      }
    }
  }

  window.llmserveLive = { si, scan };

  function start() {
    if (window.vegaEmbed) scan();
  }

  /* JupyterLab has no page to load the rest; it adds outputs at any time, and takes the
     keys that a control needs. */
  function followLab() {
    const base = window.llmserveLab.replace("live.js", "");
    const style = Object.assign(document.createElement("link"), { rel: "stylesheet" });
    style.href = base + "book.css";
    document.head.append(Object.assign(style.cloneNode(), { href: base + "provenance.css" }));
    const files = ["vendor/vega.js", "question.js", "provenance.js"].map((file) =>
      Object.assign(document.createElement("script"), { src: base + file, onload: start }));
    document.head.append(style, ...files);
    new MutationObserver(start).observe(document.body, { childList: true, subtree: true });
    window.addEventListener("keydown", (event) => {
      const ours = event.target.closest?.("figure.live, .question");
      if (ours && event.key !== "Escape") event.stopPropagation();
    }, true);
  }

  /* Paper is white: whoever reads in the dark prints the light page. */
  function printLight(page) {
    let theme;
    window.addEventListener("beforeprint", () => {
      theme = page.dataset.theme;
      if (theme) page.dataset.theme = "light";
    });
    window.addEventListener("afterprint", () => {
      if (theme) page.dataset.theme = theme;
    });
  }
  printLight(document.documentElement);

  /* A deferred script runs when the page is read, and Vega before it; else wait for both. */
  if (window.vegaEmbed && document.readyState !== "loading") scan();
  else window.addEventListener("load", start);
  if (window.llmserveLab) followLab();
})();
