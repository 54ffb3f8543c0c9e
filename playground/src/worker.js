// krmfn in a worker: loads Python, then answers requests one after another. Loads nothing from other hosts.
import { loadPyodide } from "./pyodide/pyodide.mjs";

const ready = start();

async function start() {
  const [python, archive, host] = await Promise.all([
    loadPyodide({ indexURL: new URL("./pyodide/", import.meta.url).href }),
    fetch(new URL("./krmfn.zip", import.meta.url)).then((reply) => reply.arrayBuffer()),
    fetch(new URL("./host.py", import.meta.url)).then((reply) => reply.text()),
  ]);
  python.unpackArchive(archive, "zip", { extractDir: "/krmfn" });
  python.runPython("import sys; sys.path.insert(0, '/krmfn')");
  python.runPython(host);
  return python.globals.get("answer");
}

self.onmessage = async ({ data }) => {
  try {
    const answer = await ready;
    const begun = performance.now();
    const told = JSON.parse(answer(JSON.stringify(data.request)));
    self.postMessage({ id: data.id, told, milliseconds: performance.now() - begun });
  } catch (error) {
    self.postMessage({ id: data.id, error: String(error) });
  }
};
