import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';

interface StatementNameOptions {
  /** Most statements with lists of values differ each time. */
  readonly usesMin: number;
  /** Each statement takes some 20 kB of memory on every connection. */
  readonly namesMax: number;
}

const digestName = (text: string): string => `css_${hash('sha256', text).slice(0, 24)}`;

/** For a line of a log: `update runs css_…`. The name is the one in PostgreSQL once the statement is prepared. */
export function statementName(text: string): string {
  const { verb = '', table = '' } =
    /\b(?<verb>insert into|update|delete from|from)\s+"?(?<table>\w+)/i.exec(text)?.groups ?? {};
  const does = verb.toLowerCase() === 'from' ? 'select' : verb.split(' ')[0]?.toLowerCase();
  return does && table
    ? `${does} ${table} ${digestName(text)}`
    : `${/^\w+/.exec(text)?.[0] ?? 'statement'} ${digestName(text)}`;
}

/** Most recently used texts whose uses are counted. */
const countedMax = 2000;

/**
 * A name means the same to all users of a shared server connection. Undefined for a text not used often enough, or when all names
 * are taken.
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
