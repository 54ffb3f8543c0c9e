// Prepares krmfn for a browser, with the Python that will run it there: `node compile.mjs PYODIDE SITE`.
// The memory of that Python, with all modules read and the examples answered, is what the page starts from: the start of
// Python, the reading of modules and their data take seconds there, at each visit.
import { readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const [folder, site] = process.argv.slice(2);
const { loadPyodide } = await import(`${folder}/pyodide.mjs`);
const read = (name) => readFileSync(`${site}/${name}`);
const options = { indexURL: `${folder}/`, args: ["-B"], _makeSnapshot: true };
const python = await loadPyodide(options);
const unpack = (name) => python.unpackArchive(new Uint8Array(read(name)), "zip", { extractDir: "/krmfn" });

unpack("code.zip");
python.runPython(`
import compileall, os, py_compile, zipfile
compileall.compile_dir("/krmfn", quiet=1, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
with zipfile.ZipFile("/code.zip", "w", zipfile.ZIP_DEFLATED) as made:
    for folder, folders, names in os.walk("/krmfn"):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            entry = zipfile.ZipInfo(os.path.relpath(path, "/krmfn"), (2020, 1, 1, 0, 0, 0))
            made.writestr(entry, open(path, "rb").read(), zipfile.ZIP_DEFLATED)
`);
writeFileSync(`${site}/code.zip`, python.FS.readFile("/code.zip"));

unpack("data.zip");
python.runPython("import sys; sys.path.insert(0, '/krmfn')");
python.runPython(read("host.py").toString());
python.runPython("import_all()");
const answer = python.globals.get("answer");
const { examples } = JSON.parse(read("examples.json"));
for (const { told, ...example } of Object.values(examples)) {
  for (const tab of ["tree", "generated", "fit", "diff"]) {
    answer(JSON.stringify({ cluster: "", kubernetes: "", gates: "", old: example.files, ...example, tab }));
  }
}
answer.destroy();
python.runPython("import gc; gc.collect()");
writeFileSync(`${site}/python.gz`, gzipSync(python.makeMemorySnapshot(), { level: 9 }));
