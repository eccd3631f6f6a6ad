import { sql } from 'kysely';
import type { Service } from '../service/stack.ts';
import { figure } from './figure.ts';

/**
 * The ways in which a secret may be written down, made independently of the redactor: raw, percent, form, JSON-escaped
 * once and twice, hex, base64 at its three alignments, and percent twice; hex in both cases and base64 in both alphabets.
 */
function spellings(secret: string): readonly (readonly string[])[] {
  const bytes = Buffer.from(secret);
  const aligned = [0, 1, 2].map((skip) => bytes.subarray(skip, skip + Math.floor((bytes.length - skip) / 3) * 3));
  const hex = bytes.toString('hex');
  return [
    [secret],
    [encodeURIComponent(secret)],
    [new URLSearchParams({ v: secret }).toString().slice(2)],
    [JSON.stringify(secret).slice(1, -1)],
    [JSON.stringify(JSON.stringify(secret)).slice(3, -3)],
    [hex, hex.toUpperCase()],
    ...aligned.map((part) => [part.toString('base64'), part.toString('base64url')]),
    [encodeURIComponent(secret), new URLSearchParams({ v: secret }).toString().slice(2)].map(encodeURIComponent),
  ];
}

/**
 * A secret as an API may send it back in a JSON document, whose own escaping is the second of two: with its base64 behind
 * other bytes and before others, as in a pair of user and password.
 */
export function echoesOf(secret: string): readonly string[] {
  const [raw = [], percent = [], form = [], json = [], _twice, hex = []] = spellings(secret);
  const encoded = (['base64', 'base64url'] as const).flatMap((encoding) =>
    ['', 'u', 'us'].map((before) => Buffer.from(`${before}${secret}:x`).toString(encoding)),
  );
  return [raw, percent, form, json, hex, encoded].flat();
}

/** Searches every place for every spelling of every secret: name of the place and name of the secret for each find. */
export function searchForSecrets(
  places: Readonly<Record<string, string>>,
  secrets: Readonly<Record<string, string>>,
): readonly string[] {
  const searches = Object.entries(places).flatMap(([place, text]) =>
    Object.entries(secrets).flatMap(([name, secret]) =>
      spellings(secret).map((variants) => ({
        found: variants.some((variant) => text.includes(variant)),
        what: `${name} in ${place}`,
      })),
    ),
  );
  const finds = searches.filter(({ found }) => found);
  figure('plantedSecrets', { count: finds.length, of: searches.length });
  return [...new Set(finds.map(({ what }) => what))];
}

/** Every row of every table of the control database, as text; what is stored as bytes comes decoded once more. */
export async function dumpTables({ db }: Pick<Service, 'db'>): Promise<string> {
  const tables = await db.introspection.getTables();
  const texts = tables.map(async ({ name }) => {
    const { rows } = await sql<{ row: string }>`select to_jsonb(t)::text as row from ${sql.table(name)} t`.execute(db);
    return rows.map(({ row }) => `${row}\n${bytesIn(row)}`).join('\n');
  });
  return (await Promise.all(texts)).join('\n');
}

/** A bytea is written as `\\x` and hex digits. */
const bytesIn = (row: string): string =>
  [...row.matchAll(/\\x([0-9a-f]+)/g)].map(([, hex = '']) => Buffer.from(hex, 'hex').toString()).join('\n');
