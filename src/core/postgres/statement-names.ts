import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';

/** When statements get a name, under which PostgreSQL keeps them. */
interface StatementNameOptions {
  /** The use from which on one is worth it: most with lists of values differ each time. */
  readonly usesMin: number;
  /** Names given; each statement takes some 20 kB of memory on every connection. */
  readonly namesMax: number;
}

const digestName = (text: string): string => `css_${hash('sha256', text).slice(0, 24)}`;

/**
 * A statement as a line of a log names it: `update runs css_…`, by what it does first, to which table, and the name under
 * which PostgreSQL keeps it once it is prepared.
 */
export function statementName(text: string): string {
  const { verb = '', table = '' } =
    /\b(?<verb>insert into|update|delete from|from)\s+"?(?<table>\w+)/i.exec(text)?.groups ?? {};
  const does = verb.toLowerCase() === 'from' ? 'select' : verb.split(' ')[0]?.toLowerCase();
  return does && table
    ? `${does} ${table} ${digestName(text)}`
    : `${/^\w+/.exec(text)?.[0] ?? 'statement'} ${digestName(text)}`;
}

/** Texts whose uses are counted: those that were used last. */
const countedMax = 2000;

/**
 * Names statements by their text, so that whoever shares a connection of the server means the same by a name. Undefined: not
 * used often enough, or too many others are.
 */
export function createStatementNames({
  usesMin,
  namesMax,
}: StatementNameOptions): (text: string) => string | undefined {
  const names = new Map<string, string>();
  const uses = new LRUCache<string, number>({ max: countedMax });
  return (text) => {
    const known = names.get(text);
    if (known !== undefined || names.size >= namesMax) return known;
    const count = (uses.get(text) ?? 0) + 1;
    uses.set(text, count);
    if (count < usesMin) return undefined;
    uses.delete(text);
    const name = digestName(text);
    names.set(text, name);
    return name;
  };
}
