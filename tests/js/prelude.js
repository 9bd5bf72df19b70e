// tests/js/prelude.js: the prelude of the engine's tests: a console, a DOMException, a Map made before the
// snapshot was taken, and the host functions for the tests' eyes.
function (host) {
  "use strict";
  class DOMException extends Error {
    #name;
    constructor(message = "", name = "Error") {
      super(message);
      this.#name = name;
    }
    get name() {
      return this.#name;
    }
  }
  Object.defineProperty(globalThis, "DOMException", { value: DOMException, writable: true, configurable: true });
  globalThis.console = { log: (...args) => host.log(args.map(String).join(" ")) };
  const ages = new Map([["ada", 36], ["alan", 41]]);
  let ticks = 0;
  Promise.resolve().then(() => ticks++);
  class Stub {}
  return { DOMException, host, Stub, ages, ticks: () => ticks, sum: (a, b) => a + b };
}
