/** Secrets shorter than this are not searched for: they would mask ordinary text. */
export const secretCharsMin = 6;

/**
 * An API may echo a secret in any of these forms. Raw, in upper and in lower case, percent, form, each of these two
 * percent-encoded again, as HTML, JSON-escaped once and twice, hex, and base64 at its three alignments in both alphabets. Empty for a secret of fewer than {@link secretCharsMin}
 * characters.
 */
export function spellingsOf(secret: string): ReadonlySet<string> {
  const raw = secret.trim();
  if (raw.length < secretCharsMin) return new Set();
  const bytes = Buffer.from(raw, 'utf8');
  const hex = bytes.toString('hex');
  const json = escapeJson(raw);
  const slashed = json.replaceAll('/', '\\/');
  return new Set([
    raw,
    raw.toUpperCase(),
    raw.toLowerCase(),
    ...percentSpellings(raw),
    ...htmlSpellings(raw),
    json,
    slashed,
    ...unicodeSpellings(json),
    escapeJson(json),
    escapeJson(slashed),
    hex,
    hex.toUpperCase(),
    ...[0, 1, 2].flatMap((offset) => base64Spellings(bytes, offset)),
  ]);
}

const escapeJson = (text: string): string => JSON.stringify(text).slice(1, -1);

/**
 * `encodeURIComponent`, its stricter RFC 3986 form, and the form encoding, each with upper and lower case digits. All of them
 * also encoded twice, as for a link in the query of another one.
 */
function percentSpellings(raw: string): string[] {
  const percent = encodeURIComponent(raw.toWellFormed());
  const strict = percent.replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
  const form = new URLSearchParams([['', raw]]).toString().slice(1);
  const lower = (text: string): string => text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
  const once = [percent, strict, form].flatMap((text) => [text, lower(text)]);
  return [...once, ...once.map(encodeURIComponent)];
}

/** As XML and the libraries of templates write a text: they differ in quotes. */
function htmlSpellings(raw: string): string[] {
  if (!/[&<>"']/.test(raw)) return [];
  const plain = raw.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const apostrophes = ["'", '&#39;', '&#x27;', '&#039;', '&apos;'];
  return ['"', '&quot;', '&#34;'].flatMap((quote) =>
    apostrophes.map((apostrophe) => plain.replaceAll('"', quote).replaceAll("'", apostrophe)),
  );
}

/** Python escapes every character outside ASCII in JSON, Go `& < >`, Gson also `= '`, .NET `+ '` and those outside ASCII. */
function unicodeSpellings(json: string): string[] {
  const escape = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  const python = json.replace(/[^ -~]/g, escape);
  const go = json.replace(/[&<>]/g, escape);
  const gson = json.replace(/[&<>=']/g, escape);
  const net = json.replace(/[&<>+'`]|[^ -~]/g, escape);
  const upper = net.replace(/\\u[0-9a-f]{4}/g, (code) => `\\u${code.slice(2).toUpperCase()}`);
  return [python, go, gson, net, upper];
}

/** The characters of a base64 text that depend on the secret alone when `offset` (mod 3) other bytes precede it. */
function base64Spellings(bytes: Buffer, offset: number): string[] {
  const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
  const first = Math.ceil((offset * 8) / 6);
  const end = Math.floor(((offset + bytes.length) * 8) / 6);
  const plain = encoded.slice(first, end);
  return [plain, plain.replaceAll('+', '-').replaceAll('/', '_')];
}
