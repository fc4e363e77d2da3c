// Search runs in a worker, which browsers refuse to start for a page that is read from a disk. There, and only there, a
// hidden frame takes its place: it loads the same script and talks to the page by messages.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(script) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      this.ready = new Promise((done) => {
        const inside = this.frame.contentWindow;
        inside.importScripts = (...urls) => Promise.all(urls.map((url) => this.load(url)));
        inside.postMessage = (data) => {
          const event = new MessageEvent("message", { data });
          this.dispatchEvent(event);
          if (this.onmessage) this.onmessage(event);
        };
        this.load(script).then(done);
      });
    }

    load(url) {
      return new Promise((done, failed) => {
        const part = this.frame.contentDocument.createElement("script");
        part.src = new URL(url, document.baseURI).href;
        part.onload = done;
        part.onerror = failed;
        this.frame.contentDocument.body.append(part);
      });
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
