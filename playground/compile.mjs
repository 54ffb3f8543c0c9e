// Compiles the Python files of an archive with the Python that will run them: `node compile.mjs PYODIDE ARCHIVE`.
// What a browser would compile at each visit takes a second there.
import { readFileSync, writeFileSync } from "node:fs";

const [folder, archive] = process.argv.slice(2);
const { loadPyodide } = await import(`${folder}/pyodide.mjs`);
const python = await loadPyodide({ indexURL: `${folder}/` });
python.unpackArchive(new Uint8Array(readFileSync(archive)), "zip", { extractDir: "/krmfn" });
python.runPython(`
import compileall, os, py_compile, zipfile
compileall.compile_dir("/krmfn", quiet=1, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
with zipfile.ZipFile("/krmfn.zip", "w", zipfile.ZIP_DEFLATED) as made:
    for folder, folders, names in os.walk("/krmfn"):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            entry = zipfile.ZipInfo(os.path.relpath(path, "/krmfn"), (2020, 1, 1, 0, 0, 0))
            made.writestr(entry, open(path, "rb").read(), zipfile.ZIP_DEFLATED)
`);
writeFileSync(archive, python.FS.readFile("/krmfn.zip"));
