import * as v from 'valibot';

/** A page for people. */
export const WebUrl = v.pipe(
  v.string(),
  v.maxLength(2000),
  v.url('expected a URL'),
  v.regex(/^https?:/i, 'expected an http or https URL'),
  v.check((text) => !/^https?:[/\\]*[^/?#\\]*@/i.test(text), 'expected a URL without user name and password'),
  v.metadata({ pattern: String.raw`^[hH][tT][tT][pP][sS]?:(?![/\\]*[^/?#\\]*@)` }),
);
