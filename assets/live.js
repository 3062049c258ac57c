/* Live figures: the stored picture becomes a chart that follows its controls.
 *
 * A classic script without fetch or modules, so that it runs from file://. It needs
 * window.vegaEmbed; where that is missing the picture and its sentence stay as they are.
 * Every calculation is in the figure's own data, printed from the book's formulas.
 */
(function () {
  "use strict";
  if (window.llmserveLive) return;

  /* Numbers as llmserve_lab.formula.text.si prints them; the tests compare the two. Units
     and prefixes are those of the package, written into tables.js. */
  const words = () => window.llmserveTables.text;

  function unitText(unit, plural) {
    if (unit === "" || unit === "dimensionless") return "";
    const shown = unit.replaceAll(" ", "").replaceAll("**2", "²").replaceAll("*", "·");
    const parts = shown.split("/");
    const [head, below] = [parts[0], parts.slice(1).join("/")];
    if (head === "1") return "per " + below.replace(/^\(+|\)+$/g, "");
    const named = plural && words().counted.includes(head) ? head + "s" : head;
    const first = words().takes_prefix[head] ?? named;
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
    const { large, small, takes_prefix, no_prefix } = words();
    const takes = !no_prefix.includes(unit) && unit.split("/")[0] in takes_prefix;
    if (!takes || value === 0) return [0, ""];
    const power = rounded(value, digits)[1];
    const steps = power >= 0 ? large : small;
    return steps.find(([size]) => power >= size) ?? [0, ""];
  }

  function numberText(value, unit, scale, digits) {
    if (value === 0) return "0";
    const sign = value < 0 ? "-" : "";
    let [text, power] = rounded(value, digits);
    const counts = unit.split("/").every((name) => words().counted.includes(name));
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

  /* How all charts of a built page look; in a notebook each says it itself. */
  function config() {
    const shared = document.querySelector("script.chart-config");
    return shared ? JSON.parse(shared.textContent) : {};
  }

  async function embed(box, spec) {
    const options = {
      ...(spec.config ? {} : { config: config() }),
      mode: "vega-lite", renderer: "svg", ast: !mayCompile(), actions: false,
      tooltip: false, hover: false, defaultStyle: false,
    };
    return (await window.vegaEmbed(box, spec, options)).view;
  }

  /* A function that says whether the goal of a figure is reached, if it has one. What was
     reached once stays done. */
  function goalOf(root, data, view) {
    if (!data.goal) return null;
    const { read, write: keep, drop, task, done } = window.llmserveKeep;
    const key = `goal/${data.name}`;
    const goal = root.querySelector(".live-goal");
    const said = goal.querySelector(".goal-said");
    let before = read(key) === data.version;
    function look() {
      const there = Boolean(view.signal("goal_reached"));
      if (there && !before) {
        before = true;
        keep(key, data.version);
        done(key);
      }
      write(said, there ? "You are there." : before ? "You have been there." : "");
      goal.dataset.reached = String(there || before);
    }
    if (read(key) !== null && !before) drop(key); // it was the goal of another version
    task(key, () => { before = false; look(); });
    done(key, before);
    look();
    goal.hidden = false;
    return look;
  }

  /* A figure's state in the address, a button that copies it, a line for what is wrong. */
  function share(figure, row) {
    const { enter, copyButton, inLab } = window.llmserveKeep;
    const { name, version } = figure.data;
    if (inLab) return;
    const notice = Object.assign(document.createElement("p"), { className: "live-notice" });
    notice.setAttribute("role", "status");
    notice.hidden = true;
    figure.picture.before(notice);
    row.prepend(copyButton(name));
    enter(name, {
      version,
      root: figure.root,
      state: () => figure.state(),
      set: (settings) => figure.set(settings),
      tell(text) {
        if (text) figure.set({});
        write(notice, text);
        notice.hidden = !text;
      },
    });
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
      this.view = await embed(box, { ...this.data.spec, width });
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
      this.goal = goalOf(this.root, this.data, this.view);
      share(this, this.root.querySelector(".live-actions"));
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
      this.goal?.();
      window.llmserveKeep.move(this.data.name);
    }

    reset() {
      for (const input of this.inputs) {
        const chosen = input.querySelector("option[selected]");
        input.value = chosen ? chosen.value : input.getAttribute("value");
      }
      this.turn(...this.inputs);
    }

    /* The part of the address: each slider's value, the index of each choice. */
    state() {
      return Object.fromEntries(this.inputs.map((input) => [input.name, this.signal(input)]));
    }

    /* Put the figure into a state, the rest at its default; false where one cannot be. */
    set(settings) {
      const wanted = this.inputs.map((input) => this.placeOf(input, settings[input.name]));
      const known = this.inputs.map((input) => input.name);
      const fits = Object.keys(settings).every((name) => known.includes(name)) &&
        wanted.every((place) => place !== null) && !this.hole(known, wanted);
      this.reset();
      if (!fits) return false;
      this.inputs.forEach((input, i) => { input.value = wanted[i]; });
      this.turn(...this.inputs);
      return true;
    }

    /* Where an input has to stand for a value from the address; null if nowhere. */
    placeOf(input, text) {
      const chosen = input.querySelector("option[selected]");
      if (text === undefined) return chosen ? chosen.value : input.getAttribute("value");
      const stops = this.data.stops[input.name];
      const at = stops ? stops.findIndex((stop) => String(stop) === text)
        : [...input.options].findIndex((option) => option.value === text);
      return at < 0 ? null : String(at);
    }

    /* Whether a combination of choices does not exist. */
    hole(names, places) {
      const at = Object.fromEntries(names.map((name, i) => [name, Number(places[i])]));
      return this.data.holes.some((one) =>
        one.at.some((place) => one.by.every((name, i) => at[name] === place[i])));
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
      window.llmserveProvenance?.followBands(this.root);
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

  window.llmserveLive = { si, scan, start, embed, goalOf, share };

  function start() {
    if (!window.vegaEmbed || !window.llmserveKeep || !window.llmserveTables) return;
    scan();
    window.llmserveStep?.scan();
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
  if (window.vegaEmbed && document.readyState !== "loading") start();
  else window.addEventListener("load", start);
})();
