// krmfn in a worker: starts Python, then answers requests one after another. Loads nothing from other hosts.
import createPyodideModule from "./pyodide/pyodide.asm.mjs";
import { loadPyodide } from "./pyodide/pyodide.mjs";

const indexURL = new URL("./pyodide/", import.meta.url).href;
const ready = start();

async function start() {
  const [data, python] = await Promise.all([get("data.zip"), wake().catch(begin)]);
  python.unpackArchive(await data.arrayBuffer(), "zip", { extractDir: "/krmfn" });
  return python.globals.get("answer");
}

/** Python as it was when the site was built: all modules read, the examples answered. */
async function wake() {
  const memory = get("python.gz").then(({ body }) => new Response(body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
  return loadPyodide({
    indexURL,
    _loadSnapshot: memory,
    createPyodideModule: async (settings) => {
      const module = await createPyodideModule(settings);
      module.growMemory((await memory).byteLength);
      return module;
    },
  });
}

/** Python from its beginning, where the browser cannot take that memory. */
async function begin(reason) {
  console.warn(`Python starts slowly: ${reason}`);
  const [python, code, host] = await Promise.all([loadPyodide({ indexURL }), get("code.zip"), get("host.py")]);
  python.unpackArchive(await code.arrayBuffer(), "zip", { extractDir: "/krmfn" });
  python.runPython("import sys; sys.path.insert(0, '/krmfn')");
  python.runPython(await host.text());
  return python;
}

async function get(name) {
  const reply = await fetch(new URL(name, import.meta.url));
  if (!reply.ok) throw new Error(`${name}: ${reply.status}`);
  return reply;
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
