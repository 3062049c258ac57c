/* Live figures: the stored picture becomes a chart that follows its controls.
 *
 * A classic script without fetch or modules, so that it runs from file://. It needs
 * window.vegaEmbed; where that is missing the picture and its sentence stay as they are.
 * Every calculation is in the figure's own data, printed from the book's formulas.
 */
(function () {
  "use strict";
  if (window.llmserveLive) return;
  const si = window.llmserveSi;
  const { write, embed, goalOf, share } = window.llmserveFigureParts;


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
      window.llmserveAddress.move(this.data.name);
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

    /* What is said in place of the numbers, where the settings ask for what cannot be. */
    refusal() {
      const { refusal } = this.data;
      return refusal && this.view.signal(refusal.signal) < refusal.least ? refusal : null;
    }

    show() {
      const refused = this.refusal();
      this.inputs.forEach((input, i) => this.label(input, this.labels[i]));
      for (const output of this.outputs) {
        const name = output.dataset.readout;
        output.dataset.value = String(this.view.signal(name));
        write(output, refused ? refused.says : this.text(name));
      }
      const sentence = (refused ?? this.data).sentence.replace(/\{(\w+)(?::(\d+))?\}/g,
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

  window.llmserveLive = { si, scan, start };

  function start() {
    if (!window.vegaEmbed || !window.llmserveKeep || !window.llmserveAddress || !window.llmserveTables) return;
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

  /* The theme's icons are drawn by now. Looking for more in all that a figure draws took
     half of the time of a step. */
  window.addEventListener("load", () => window.FontAwesome?.noAuto());

  /* A deferred script runs when the page is read, and Vega before it; else wait for both. */
  if (window.vegaEmbed && document.readyState !== "loading") start();
  else window.addEventListener("load", start);
})();
