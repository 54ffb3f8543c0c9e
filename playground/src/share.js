// The state of the page as the fragment of its address: compressed JSON in base64url. A fragment is never sent anywhere.

const MOST = 4_000_000; // characters of the state: a link that unpacks to more was not made by this page

export async function pack(state) {
  const stream = new Blob([JSON.stringify(state)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The state of a fragment, or null where it is none. */
export async function unpack(fragment) {
  try {
    const bytes = Uint8Array.from(atob(fragment.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
    const decoder = new TextDecoder();
    let text = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      text += decoder.decode(part.value, { stream: true });
      if (text.length > MOST) return null;
    }
    return check(JSON.parse(text));
  } catch {
    return null;
  }
}

/** Only what a state has, with the types that it has. */
function check(value) {
  const texts = (files) =>
    Object.fromEntries(Object.entries(files ?? {}).filter((entry) => typeof entry[1] === "string"));
  if (typeof value !== "object" || value === null || !Object.keys(texts(value.files)).length) return null;
  const word = (key) => (typeof value[key] === "string" ? value[key] : "");
  return {
    files: texts(value.files),
    old: texts(value.old),
    cluster: word("cluster"),
    kubernetes: word("kubernetes"),
    gates: word("gates"),
    tab: word("tab"),
  };
}
