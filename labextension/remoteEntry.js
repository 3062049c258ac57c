/* The book in JupyterLab and Notebook 7: a prebuilt extension, written without a bundler.
 *
 * JupyterLab loads this file, calls init with the libraries that it shares, and asks for
 * "./extension". Whatever the server's root or base URL, the files lie beside this one.
 */
(function () {
  "use strict";
  const here = document.currentScript.src.replace(/[^/]*$/, "");
  const containers = (window._JUPYTERLAB = window._JUPYTERLAB || {});
  let shared = null;

  function script(name) {
    return new Promise((resolve, reject) => {
      const element = document.createElement("script");
      Object.assign(element, { src: here + name, async: false, onload: resolve });
      element.onerror = () => reject(new Error(`llmserve-lab: ${name} was not found`));
      document.head.append(element);
    });
  }

  /* A library of JupyterLab, whichever version it is. */
  async function library(name) {
    const [version] = Object.values(shared[name]);
    return (await version.get())();
  }

  containers["llmserve-lab"] = {
    init(scope) { shared = scope; },
    async get() {
      await Promise.all(["references.js", "markdown.js", "links.js", "lab.js"].map(script));
      const [notebook, rendermime] = await Promise.all(
        ["@jupyterlab/notebook", "@jupyterlab/rendermime"].map(library));
      const plugin = {
        id: "llmserve-lab:book",
        description: "Figures, questions, exercises and notes of the book.",
        autoStart: true,
        requires: [rendermime.IRenderMimeRegistry],
        optional: [notebook.INotebookTracker],
        activate: (app, registry, tracker) => {
          window.llmserveInLab.activate({ app, here, script, registry, tracker });
        },
      };
      return () => ({ __esModule: true, default: plugin });
    },
  };
})();
