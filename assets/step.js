/* Step figures: the stills become a player that goes through an executed log.
 *
 * Frames are signals of one Vega view; counters and sentences were written when the log
 * was made. Nothing moves by itself: the reader presses Play, or steps.
 */
(function () {
  "use strict";
  if (window.llmserveStep) return;
  const PAUSE_MS = { longest: 1100, shortest: 250, all: 30000 };

  /* Rows with their fields once become the objects that Vega reads. */
  function unpacked({ fields, rows }) {
    return rows.map((row) => Object.fromEntries(
      fields.map((name, i) => [name, row[i]]).filter(([, value]) => value !== null)));
  }

  function write(element, text) {
    if (element && element.textContent !== text) element.textContent = text;
  }

  class Player {
    constructor(root) {
      this.root = root;
      this.data = JSON.parse(root.querySelector("script.step-data").textContent);
      const find = (name) => root.querySelector(`.step-player ${name}`);
      this.player = root.querySelector(".step-player");
      this.picture = find(".live-picture");
      this.slider = find("input[name=frame]");
      this.radios = [...root.querySelectorAll(".step-logs input")];
      this.outputs = [...this.player.querySelectorAll("output")];
      this.say = find(".step-say");
      this.at = find(".step-at");
      [this.back, this.play, this.forward] =
        ["back", "play", "forward"].map((name) => find(`.step-${name}`));
      this.frame = this.data.start;
      this.log = 0;
      this.timer = 0;
    }

    async start() {
      const box = document.createElement("div");
      box.setAttribute("aria-hidden", "true"); // the picture around it has the sentence
      this.player.hidden = false; // it has a width only now
      const tables = Object.entries(this.data.tables);
      const spec = {
        ...this.data.spec,
        width: this.width() || this.data.spec.width,
        datasets: Object.fromEntries(tables.map(([name, table]) => [name, unpacked(table)])),
      };
      try {
        this.view = await window.llmserveFigureParts.embed(box, spec);
      } catch (error) {
        this.player.hidden = true;
        throw error;
      }
      this.picture.replaceChildren(box);
      this.root.dataset.state = "running"; // the stills are for paper now
      this.connect();
      this.show();
    }

    connect() {
      this.back.addEventListener("click", () => this.stepBy(-1));
      this.forward.addEventListener("click", () => this.stepBy(1));
      this.play.addEventListener("click", () => this.toggle());
      this.slider.addEventListener("input", () => {
        this.stop();
        this.go(Number(this.slider.value));
      });
      for (const radio of this.radios) {
        radio.checked = Number(radio.value) === this.log;
        radio.addEventListener("change", () => this.change(Number(radio.value)));
      }
      this.player.addEventListener("keydown", (event) => this.key(event));
      this.root.takeKey = (event) => this.key(event); // JupyterLab lets no key through
      new ResizeObserver(() => this.fit()).observe(this.picture);
      this.goal = window.llmserveFigureParts.goalOf(this.root, this.data, this.view);
      window.llmserveFigureParts.share(this, this.root.querySelector(".live-actions"));
    }

    get last() { return this.data.logs[this.log].say.length - 1; }

    /* Arrows on a button, Home, End; the space bar plays from the slider. Elsewhere a key
       does what it does everywhere. */
    key(event) {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const onSlider = event.target === this.slider;
      const onButton = event.target.matches(".step-controls button");
      const places = { ArrowLeft: this.frame - 1, ArrowRight: this.frame + 1, Home: 0, End: this.last };
      if (event.key === " " && onSlider) this.toggle();
      else if (event.key in places && (onButton || onSlider)) {
        this.stop();
        this.go(places[event.key]);
      } else return;
      event.preventDefault();
    }

    stepBy(by) {
      this.stop();
      this.go(this.frame + by);
    }

    go(frame) {
      this.frame = Math.max(0, Math.min(frame, this.last));
      this.turn();
    }

    change(log) {
      this.stop();
      const ended = this.frame === this.last;
      this.log = log;
      this.slider.max = String(this.last);
      this.go(ended ? this.last : this.frame); // what has ended is shown ended
    }

    turn() {
      this.view.signal("log", this.log).signal("frame", this.frame);
      this.view.run();
      this.show();
      this.goal?.();
      window.llmserveAddress.move(this.data.name);
    }

    toggle() {
      if (this.timer) return this.stop();
      if (this.frame === this.last) this.go(0);
      this.say.setAttribute("aria-live", "off"); // a reader aloud would not keep up
      this.timer = setInterval(() => {
        this.go(this.frame + 1);
        if (this.frame === this.last) this.stop();
      }, Math.max(PAUSE_MS.shortest, Math.min(PAUSE_MS.longest, PAUSE_MS.all / this.last)));
      write(this.play, "Pause");
    }

    stop() {
      if (!this.timer) return;
      clearInterval(this.timer);
      this.timer = 0;
      this.say.setAttribute("aria-live", "polite");
      write(this.play, "Play");
    }

    show() {
      const { say, count } = this.data.logs[this.log];
      const text = `${this.frame + 1} of ${this.last + 1}`;
      this.slider.value = String(this.frame);
      this.slider.setAttribute("aria-valuetext", `step ${text}`);
      write(this.at, text);
      write(this.say, say[this.frame]);
      this.picture.setAttribute("aria-label", say[this.frame]);
      this.outputs.forEach((output, i) => write(output, count[this.frame][i]));
      // A button that is disabled would lose the focus: it only says so.
      this.back.setAttribute("aria-disabled", String(this.frame === 0));
      this.forward.setAttribute("aria-disabled", String(this.frame === this.last));
    }

    fit() {
      const width = this.width();
      if (width && width !== this.view.width()) this.view.width(width).run();
    }

    width() { return Math.floor(this.picture.clientWidth); }

    /* The part of the address: which log, which frame. */
    state() {
      return this.radios.length ? { log: this.log, frame: this.frame } : { frame: this.frame };
    }

    set({ log = "0", frame, ...rest }) {
      const whole = (text) => /^\d{1,4}$/.test(text ?? "");
      const fits = whole(log) && whole(frame) && !Object.keys(rest).length &&
        Number(log) < this.data.logs.length && Number(frame) < this.data.logs[Number(log)].say.length;
      this.log = fits ? Number(log) : 0;
      for (const radio of this.radios) radio.checked = Number(radio.value) === this.log;
      this.change(this.log);
      this.go(fits ? Number(frame) : this.data.start);
      return fits;
    }
  }

  async function scan() {
    for (const root of document.querySelectorAll("figure.step:not([data-state])")) {
      root.dataset.state = "starting";
      try {
        await new Player(root).start();
      } catch (error) {
        root.dataset.state = "failed"; // the stills are still there
        console.warn("This figure stays a picture:", error);
      }
    }
  }

  window.llmserveStep = { scan, unpacked };
  // live.js, which starts before this file is read, asks again when the page is loaded.
  if (window.vegaEmbed && window.llmserveLive && document.readyState !== "loading") scan();
})();
